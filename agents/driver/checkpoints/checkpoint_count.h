/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_count.h - count the checkpoints that were written or failed, for the job's status */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_COUNT_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_COUNT_H

#include "agents/driver/core/job_run.h"

#include <stdint.h>

/* The counters in the latest report of rank 0's process.  A new process starts from 0. */
struct checkpoint_count {
    int pid;
    int64_t written, failed;
};

/* Add rank 0's new checkpoints, written and failed, to the job's status; ignore other ranks. Report
 * to the user a failure that follows a success, and a success that follows a failure.
 */
void checkpoint_count_take(struct checkpoint_count *c, struct job_run *r, const struct progress *p);

#endif
