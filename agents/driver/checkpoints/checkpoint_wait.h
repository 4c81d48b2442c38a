/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_wait.h - delay a restart's plan until the checkpoint folder has been listed
 *
 * The checkpoint from which a later generation resumes may be visible only on this machine, because
 * the nodes that knew about the checkpoint are lost.
 */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_WAIT_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_WAIT_H

#include "agents/driver/core/job_run.h"

/* The state of the search for checkpoints before a restart. */
struct checkpoint_wait {
    struct job_run *run; /* borrowed */
    /* time at which the search began for which the plan waits; 0: the plan waits for no search */
    int64_t look_ns;
    /* number of searches begun, and of searches ended, including abandoned searches */
    int asked, answered;
    bool reported;    /* the user has been told that the plan waits */
    int64_t searched; /* the last generation whose search has ended */
};

/* Check whether the next generation may be planned. If not, start the search for checkpoints unless
 * it is in progress; when the search ends, state_plan_again is called.
 */
bool checkpoint_wait_ready(struct checkpoint_wait *w);

/* If the checkpoint folder does not respond for some time, tell the user, once per search; if it
 * does not respond within timeouts.launch, fail the job.
 */
void checkpoint_wait_tick(struct checkpoint_wait *w, int64_t now_ns);

#endif
