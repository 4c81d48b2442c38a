/* SPDX-License-Identifier: Apache-2.0 */
/* pausing.h - Ctrl-Z: stop the workers, then this process; continue both later
 *
 * Agents of a stopped driver would end their workers when the lease expires.  So they are ordered
 * to stop the workers and to wait as long as their sessions with this process last.  SIGSTOP comes
 * without a warning: then the lease applies.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PAUSING_H
#define EDDIS_AGENTS_DRIVER_PLAN_PAUSING_H

#include "agents/driver/core/job_run.h"

#include <stdbool.h>
#include <stdint.h>

/* The state of a pause. */
struct pausing {
    bool wanted;      /* a pause is wanted; agents have been ordered to stop their workers */
    int64_t until_ns; /* time limit for waiting for the agents */
};

/* Order all agents to stop their workers, after SIGTSTP. */
void pausing_begin(struct pausing *p, struct job_run *r, int64_t now_ns);

/* If a pause is wanted, order agents that have registered since to stop their workers, too. */
void pausing_look(const struct pausing *p, struct job_run *r);

/* Order all agents to continue their workers, if this process has not stopped yet; otherwise do
 * nothing.
 */
void pausing_cancel(struct pausing *p, struct job_run *r);

/* Check whether this process must stop now: all agents have carried out the order, or their time is
 * over.
 */
bool pausing_due(const struct pausing *p, const struct job_run *r, int64_t now_ns);

/* Return when pausing_due must be called at the latest; CLOCK_NEVER: no pause is wanted. */
int64_t pausing_next_ns(const struct pausing *p);

/* Stop this process as SIGTSTP does by default.  After SIGCONT, extend all deadlines by the length
 * of the pause and order all agents to continue.  Blocks until then.
 */
void pausing_stop(struct pausing *p, struct job_run *r);

#endif
