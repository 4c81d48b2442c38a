/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - eddis-run --check: what was found out about every node
 *
 * A job ends with the first node that fails; a check goes on until each has answered, since whoever
 * mends one wants to know of the others, too.  All but the last do nothing unless it is a check.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_CHECK_H
#define EDDIS_AGENTS_DRIVER_NODES_CHECK_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"

/* Events: a failure is its node's trouble.  self is the struct job_run. */
extern const struct subject_ops check_ops;

/* Keep why the agent's node cannot be used, unless something is known already. */
void check_trouble(struct job_run *r, int agent, const char *text);

/* Whether some nodes have not answered. */
bool check_waits(const struct job_run *r);

/* Hear of one more node; when it is the last, the state machine is told of those with trouble. */
void check_heard(struct job_run *r, int64_t now_ns);

/* Show what was found. */
void check_tell(struct job_run *r);

#endif
