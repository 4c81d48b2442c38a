/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - results of `eddis-run --check` for every node
 *
 * A job ends when the first node fails. A check continues until every node has answered, so that
 * the user sees all faults together. Except for check_report, these functions do nothing in a
 * normal job.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_CHECK_H
#define EDDIS_AGENTS_DRIVER_NODES_CHECK_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"

/* Entry point for failure events, whose text becomes `trouble` of the node's agent, and for the
 * versions of nodes that were checked; self is the struct job_run
 */
extern const struct subject_ops check_ops;

/* In a check, store text as the reason why the agent's node cannot be used, unless a reason is
 * stored already.
 */
void check_trouble(struct job_run *r, int agent, const char *text);

/* Check whether the job is a check and some node has neither registered nor failed. */
bool check_waits(const struct job_run *r);

/* In a check, act on the answer of a further node: if all nodes have answered, report those that
 * failed to the state machine.
 */
void check_heard(struct job_run *r, int64_t now_ns);

/* Show the result of a check to the user, one row per node, by the view's `checked`. */
void check_report(struct job_run *r);

#endif
