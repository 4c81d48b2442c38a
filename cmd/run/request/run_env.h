/* SPDX-License-Identifier: Apache-2.0 */
/* run_env.h - variables that go from eddis-run's caller to the workers on all nodes
 *
 * Their values travel in the agents' configurations, on standard input: never on a command line.
 */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_ENV_H
#define EDDIS_CMD_RUN_REQUEST_RUN_ENV_H

#include "lib/base/error.h"
#include "lib/model/job.h"

/* Variables of env_pass sorted by name, then those of -x in the given order; the last one counts.
 * Zero-initialize it.
 */
struct run_env {
    char **at; /* NULL-ended "NAME=VALUE"; NULL while empty */
    int n;
};

/* Append "NAME=VALUE", or "NAME" with its value in our environment, as -x takes it. -EINVAL: it is
 * not set or not allowed.
 */
int run_env_set(struct run_env *e, const char *text, struct eddis_error *err);

/* Put the variables that the patterns of env_pass select from `environment` before those of e. Left
 * out are names that eddis or the job's `env` sets; and, for patterns with '*' or '?', those that
 * describe this machine or login (HOME, PWD, TMPDIR, SSH_*, XDG_*, ...).
 */
int run_env_pass(struct run_env *e, const struct job *job, char *const *environment,
                 struct eddis_error *err);

/* Free the variables. */
void run_env_fini(struct run_env *e);

#endif
