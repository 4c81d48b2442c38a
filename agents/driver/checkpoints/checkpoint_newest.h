/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_newest.h - find the newest checkpoint without blocking on its file system */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_NEWEST_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_NEWEST_H

#include "agents/driver/core/job_run.h"

#include <limits.h>

/* The result of a search for checkpoints. */
struct checkpoint_found {
    int64_t step;          /* step of the newest one; -1: the job has written none */
    int64_t begun_step;    /* if step is -1: of the one that the job started from; -1: none */
    char resume[PATH_MAX]; /* argument of --resume for that checkpoint: the job's id if that is
                            * enough to find it, otherwise its path; "": none */
};

/* Called on the driver's thread with the result, which is borrowed during the call. */
typedef void checkpoint_newest_fn(void *ctx, const struct checkpoint_found *f);

/* Start a search for the newest checkpoint and pass the result to tell(ctx, ...) on this thread. It
 * is called in a later file_thread_turn of run->looks, or at once if there is nothing to search.
 */
void checkpoint_newest(struct job_run *run, checkpoint_newest_fn *tell, void *ctx);

#endif
