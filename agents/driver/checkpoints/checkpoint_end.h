/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_end.h - remove partly written checkpoints at the end of the job */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_END_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_END_H

#include "agents/driver/core/job_run.h"

#include <stdbool.h>

/* Start removing the checkpoint that ranks were writing when they were stopped, if the checkpoint
 * folder is the job's own and visible from this machine. (During the job the next generation
 * removes such a checkpoint.) *ret_over is set to true when the removal is done or has failed:
 * later, in file_thread_turn of run->reader, or before the return if there is nothing to remove. A
 * failure is reported to the user.
 */
void checkpoint_end(struct job_run *run, bool *ret_over);

/* Tell the user that a partly written checkpoint may remain, because the folder does not respond in
 * time.
 */
void checkpoint_end_give_up(struct job_run *run);

#endif
