/* SPDX-License-Identifier: Apache-2.0 */
/* run_env.h - variables that go from eddis-run's caller to the workers on all nodes
 *
 * They are a list of "NAME=VALUE", empty at first: those of env_pass sorted by name, then those of
 * -x in the given order; the last one counts. Their values travel in the agents' configurations, on
 * standard input: never on a command line.
 */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_ENV_H
#define EDDIS_CMD_RUN_REQUEST_RUN_ENV_H

#include "lib/base/error.h"
#include "lib/base/strlist.h"
#include "lib/model/job.h"

/* Append "NAME=VALUE", or "NAME" with its value in our environment, as -x takes it, to e. Return 0;
 * -EINVAL: the variable is not set or not allowed; -ENOMEM.
 */
int run_env_set(struct strlist *e, const char *text, struct eddis_error *err);

/* Insert before the variables of e those that the patterns of env_pass select from `environment`.
 * Leave out names that eddis or the job's `env` sets, and, for patterns with '*' or '?', variables
 * that describe this machine or login (HOME, PWD, TMPDIR, SSH_*, XDG_*, ...). Return 0 or a
 * negative errno.
 */
int run_env_pass(struct strlist *e, const struct job *job, char *const *environment,
                 struct eddis_error *err);

#endif
