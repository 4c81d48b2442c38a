/* SPDX-License-Identifier: Apache-2.0 */
/* job_cleanup.h - eddis-run --cleanup: end what is left of a job on all its nodes */
#ifndef EDDIS_AGENTS_DRIVER_START_JOB_CLEANUP_H
#define EDDIS_AGENTS_DRIVER_START_JOB_CLEANUP_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* Say what was found and done on a host, or why it could not be looked at; called once for each. */
typedef void (*job_cleanup_say_fn)(void *ctx, const char *host, bool good, const char *text);

/* Log in to all nodes that the job has been on and end what is there.  Blocks, a minute a node at
 * most.  Returns the number of hosts where something may be left.  -EBUSY: the job is running;
 * -ENOENT: it never started anything.  The caller ignores SIGPIPE and has no children.
 */
int job_cleanup(const struct job_folder *f, job_cleanup_say_fn say, void *ctx,
                struct eddis_error *err);

#endif
