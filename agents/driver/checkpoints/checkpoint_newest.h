/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_newest.h - find the newest checkpoint without blocking on its file system */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_NEWEST_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_NEWEST_H

#include "agents/driver/core/job_run.h"

#include <limits.h>

/* The result of a search for checkpoints. */
struct checkpoint_found {
    int64_t step; /* step of the newest checkpoint that the job has written; -1: none */
    /* if step is -1: step of the checkpoint that the job started from; -1: none */
    int64_t begun_step;
    /* argument of --resume for this checkpoint: the job's id if it suffices to find the checkpoint,
     * otherwise a path; "": none
     */
    char resume[PATH_MAX];
};

/* Type of the function that gets the result *f, on the driver's thread; *f is valid only during the
 * call.
 */
typedef void checkpoint_newest_fn(void *ctx, const struct checkpoint_found *f);

/* Start a search for the newest checkpoint. The result is passed to tell(ctx, ...) on this thread:
 * in a later file_thread_turn of run->reader, or before the return if there is nothing to search.
 */
void checkpoint_newest(struct job_run *run, checkpoint_newest_fn *tell, void *ctx);

#endif
