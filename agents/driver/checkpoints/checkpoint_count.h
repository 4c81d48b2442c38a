/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_count.h - how many checkpoints were written and how many were not, for people */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_COUNT_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_COUNT_H

#include "agents/driver/core/job_run.h"

#include <stdint.h>

/* What rank 0's process has told last; a later one counts anew. */
struct checkpoint_count {
    int pid;
    int64_t written, failed;
};

/* Take what rank 0 tells into the job's status.  The first failure of a row is said, and that
 * checkpoints are written again.
 */
void checkpoint_count_take(struct checkpoint_count *c, struct job_run *r, const struct progress *p);

#endif
