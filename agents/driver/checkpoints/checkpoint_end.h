/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_end.h - remove partly written checkpoints at the end of the job */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_END_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_END_H

#include "agents/driver/core/job_run.h"

#include <stdbool.h>

/* Start removing the checkpoint that ranks were writing when they were stopped, if the checkpoint
 * folder is the job's own and visible from this machine.  A later generation would do it, but there
 * is none.  *ret_over becomes true when that has been done or has failed, which is reported: in
 * file_thread_turn of run->looks, or at once if there is nothing to do.
 */
void checkpoint_end(struct job_run *run, bool *ret_over);

/* Report that a partly written checkpoint may remain because the folder does not answer in time. */
void checkpoint_end_give_up(struct job_run *run);

#endif
