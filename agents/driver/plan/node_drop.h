/* SPDX-License-Identifier: Apache-2.0 */
/* node_drop.h - leaves out workers of a job before a generation is planned (nodes.drop) */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_NODE_DROP_H
#define EDDIS_AGENTS_DRIVER_PLAN_NODE_DROP_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/history.h"
#include "scheduler/drop.h"

/* Decide which workers of the n usable nodes the job leaves out: mark them in the profiles node
 * [n], remove nodes without a worker from agent [n] and node, and record the others' network in
 * run->part. The agents of removed nodes stay, for a later generation. Report what was decided,
 * also in the job's status. ret->n_left is 0 if all workers train, as in a check and in a replay.
 * Return the number of nodes that are left.
 */
int node_drop(struct job_run *run, struct history *h, int *agent, struct node_profile *node, int n,
              struct drop_result *ret);

#endif
