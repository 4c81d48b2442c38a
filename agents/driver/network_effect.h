/* SPDX-License-Identifier: Apache-2.0 */
/* network_effect.h - what a network that is not as it was means for the plan under way */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_EFFECT_H
#define EDDIS_AGENTS_DRIVER_NETWORK_EFFECT_H

#include "job_run.h"

#include "lib/model/plan.h"
#include "scheduler/planner.h"

/* Predict p anew with what is known now, its period as net->check says, and tell people where that
 * changes anything.
 */
void network_effect_take(struct job_run *r, const struct run_network *net,
                         const struct planner_known *known, struct plan *p);

/* At the end of a job that has ended well: say so when its exchanges have not taken what the
 * network's figures make them.  It may have changed since, or what the nodes do beside has.
 */
void network_effect_compare(struct job_run *r, const struct planner_known *known,
                            const struct plan *p);

#endif
