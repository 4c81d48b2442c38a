/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_end.h - no checkpoint stays half written when its job is over */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINT_END_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINT_END_H

#include "job_run.h"

/* Remove the checkpoint that ranks were writing when they were stopped, where the folder for them
 * is the job's own and seen from here; the next generation does so too, but there will be none.
 * Blocks for five seconds at most, and says when the folder has not answered.
 */
void checkpoint_end(struct job_run *run);

#endif
