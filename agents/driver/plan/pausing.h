/* SPDX-License-Identifier: Apache-2.0 */
/* pausing.h - Ctrl-Z: the workers stop first, then this process, and go on behind it
 *
 * Agents of a stopped driver would end their workers when the lease is over.  So they are ordered
 * to stop them and to wait for as long as their sessions with this process last.  SIGSTOP comes
 * without a warning: for that the lease stands.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PAUSING_H
#define EDDIS_AGENTS_DRIVER_PLAN_PAUSING_H

#include "agents/driver/core/job_run.h"

#include <stdbool.h>
#include <stdint.h>

struct pausing {
    bool wanted;      /* agents were told to stop their workers ... */
    int64_t until_ns; /* ... and are waited for no longer than that */
};

/* Order all agents to stop their workers, at SIGTSTP. */
void pausing_begin(struct pausing *p, struct job_run *r, int64_t now_ns);

/* Order those to stop their workers, too, who have registered since then. */
void pausing_look(const struct pausing *p, struct job_run *r);

/* Order all agents to go on, where this process has not stopped yet; else nothing happens. */
void pausing_cancel(struct pausing *p, struct job_run *r);

/* Whether this process is to stop now: all agents have taken the order, or have had their time. */
bool pausing_due(const struct pausing *p, const struct job_run *r, int64_t now_ns);

/* Return when that is to be asked at the latest; CLOCK_NEVER: no pause is wanted. */
int64_t pausing_next_ns(const struct pausing *p);

/* Stop this process as SIGTSTP does by default, and behind SIGCONT order all agents to go on; what
 * the job waits for has as much time left as before.  Blocks for as long as others want.
 */
void pausing_stop(struct pausing *p, struct job_run *r);

#endif
