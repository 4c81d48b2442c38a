/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_wait.h - a restart's plan waits until the folder of checkpoints has been listed
 *
 * The checkpoint that a later generation resumes from may be seen by this machine alone, for the
 * nodes that knew it are gone.
 */
#ifndef EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_WAIT_H
#define EDDIS_AGENTS_DRIVER_CHECKPOINTS_CHECKPOINT_WAIT_H

#include "agents/driver/core/job_run.h"

struct checkpoint_wait {
    struct job_run *run; /* borrowed */
    int64_t look_ns;     /* when the list was asked for that the plan waits for; 0: for none */
    int asked, answered; /* looks; one that was given up is answered yet, before the next one */
    bool told;           /* that it waits */
    int64_t looked;      /* generation for which the list is known */
};

/* Whether the generation may be planned; if not the state machine is told when it may. */
bool checkpoint_wait_ready(struct checkpoint_wait *w);

/* Say when the folder is late, and give up a job whose folder does not answer. */
void checkpoint_wait_tick(struct checkpoint_wait *w, int64_t now_ns);

#endif
