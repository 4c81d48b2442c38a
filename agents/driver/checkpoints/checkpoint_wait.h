/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_wait.h - delay a restart's plan until the checkpoint folder has been listed
 *
 * The checkpoint that a later generation resumes from may be visible to this machine only, because
 * the nodes that knew about it are gone.
 */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_WAIT_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_WAIT_H

#include "agents/driver/core/job_run.h"

/* The state of the search for checkpoints before a restart. */
struct checkpoint_wait {
    struct job_run *run; /* borrowed */
    int64_t look_ns;     /* when the search that the plan waits for began; 0: no such search */
    int asked, answered; /* searches begun and ended, including abandoned ones */
    bool told;           /* the user has been told that the plan waits */
    int64_t looked;      /* the last generation whose search has ended */
};

/* Check whether the next generation may be planned.  If not, start the search for checkpoints
 * unless it runs; state_plan_again is called when it ends.
 */
bool checkpoint_wait_ready(struct checkpoint_wait *w);

/* Report once that the checkpoint folder is late, and fail the job if the folder does not answer
 * within timeouts.launch.
 */
void checkpoint_wait_tick(struct checkpoint_wait *w, int64_t now_ns);

#endif
