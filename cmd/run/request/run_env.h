/* SPDX-License-Identifier: Apache-2.0 */
/* run_env.h - variables that go from eddis-run's caller to the workers on all nodes
 *
 * Their values travel in the agents' briefs, on standard input: never on a command line.
 */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_ENV_H
#define EDDIS_CMD_RUN_REQUEST_RUN_ENV_H

#include "lib/base/error.h"
#include "lib/model/job.h"

/* Those of env_pass sorted by name, then those of -x in the order given: the last one counts.
 * Zero-initialised is empty.
 */
struct run_env {
    char **at; /* NULL-ended "NAME=VALUE"; NULL while empty */
    int n;
};

/* Append "NAME=VALUE", or "NAME" for the value that it has here: what -x takes. */
int run_env_set(struct run_env *e, const char *text, struct eddis_error *err);

/* Put before them what the patterns of env_pass select of the caller's environment: no name that
 * eddis sets itself or that the job's `env` sets, and by a pattern with '*' or '?' none that
 * describes this machine or this login (HOME, PWD, TMPDIR, SSH_*, XDG_*, ...).
 */
int run_env_pass(struct run_env *e, const struct job *job, char *const *environment,
                 struct eddis_error *err);

void run_env_fini(struct run_env *e);

#endif
