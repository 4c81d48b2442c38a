/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_end.h - no checkpoint stays half written when its job is over */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_END_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_END_H

#include "agents/driver/core/job_run.h"

#include <stdbool.h>

/* Have the checkpoint removed that ranks were writing when they were stopped, where the folder for
 * them is the job's own and seen from here; the next generation does so too, but there will be
 * none.  *ret_over becomes true when that is done, or could not be, which is said: not before
 * file_thread_turn of run->looks, but at once where there is nothing to do.
 */
void checkpoint_end(struct job_run *run, bool *ret_over);

/* Say that it may stay, since nobody waits any longer for the folder to answer. */
void checkpoint_end_give_up(struct job_run *run);

#endif
