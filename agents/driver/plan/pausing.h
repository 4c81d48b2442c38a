/* SPDX-License-Identifier: Apache-2.0 */
/* pausing.h - Ctrl-Z: stop the workers, then this process; continue both later
 *
 * If the driver is stopped, its agents would end their workers when the lease expires. So the
 * agents are first ordered to stop (pause) the workers, and to wait as long as their sessions with
 * this process exist. If the driver is stopped by SIGSTOP, no order can be sent before, and the
 * lease applies.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PAUSING_H
#define EDDIS_AGENTS_DRIVER_PLAN_PAUSING_H

#include "agents/driver/core/job_run.h"

#include <stdbool.h>
#include <stdint.h>

/* The state of a pause. */
struct pausing {
    bool wanted;      /* a pause is wanted; agents have been ordered to stop their workers */
    int64_t until_ns; /* time at which waiting for the agents ends */
};

/* Order all agents to stop their workers, after SIGTSTP. */
void pausing_begin(struct pausing *p, struct job_run *r, int64_t now_ns);

/* If a pause is wanted, order agents that have registered since pausing_begin to stop their
 * workers, too.
 */
void pausing_look(const struct pausing *p, struct job_run *r);

/* If a pause is wanted and this process has not stopped yet, order all agents to continue their
 * workers; otherwise do nothing.
 */
void pausing_cancel(struct pausing *p, struct job_run *r);

/* Check whether this process must stop now: a pause is wanted, and all agents have carried out the
 * order or the time limit has passed.
 */
bool pausing_due(const struct pausing *p, const struct job_run *r, int64_t now_ns);

/* Return the latest time at which pausing_due must be called; CLOCK_NEVER: no pause is wanted. */
int64_t pausing_next_ns(const struct pausing *p);

/* Stop this process as SIGTSTP does by default. The call blocks until SIGCONT; then it extends all
 * deadlines by the length of the pause, and orders all agents to continue.
 */
void pausing_stop(struct pausing *p, struct job_run *r);

#endif
