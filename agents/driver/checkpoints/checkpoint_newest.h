/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_newest.h - which checkpoint is the newest, asked without waiting for its file system
 */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_NEWEST_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_NEWEST_H

#include "agents/driver/core/job_run.h"

#include <limits.h>

struct checkpoint_found {
    int64_t step;          /* -1: the job has written none, or has no folder for them */
    int64_t begun_step;    /* then: of the one that it began with; -1: with none */
    char resume[PATH_MAX]; /* what --resume takes either by: the job's id where that finds it, or
                            * its path; "" */
};

typedef void checkpoint_tell_fn(void *ctx, const struct checkpoint_found *f);

/* Look, and tell on this thread what was found when that is known: not before file_thread_turn of
 * run->looks, but at once where nothing has to be looked at.
 */
void checkpoint_look(struct job_run *run, checkpoint_tell_fn *tell, void *ctx);

#endif
