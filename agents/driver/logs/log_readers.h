/* SPDX-License-Identifier: Apache-2.0 */
/* log_readers.h - people who look at a rank's log while the job runs, and wait for a part of it */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_LOG_READERS_H
#define EDDIS_AGENTS_DRIVER_LOGS_LOG_READERS_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/nodes/request_queue.h"

struct lookers;

/* Returns NULL without memory; run is borrowed. */
struct lookers *lookers_new(struct job_run *run);

/* Answer somebody who looks at a rank's log, now or when its node has sent it; while the job is
 * ending nodes are not asked any more.
 */
void lookers_add(struct lookers *s, const struct inbox_item *i, bool ending, int64_t now_ns);

/* Take a piece of a log, or what tells of the end of one, that an agent has sent.  Nothing happens
 * when nobody waits for it.
 */
void lookers_piece(struct lookers *s, int agent, const struct log_piece *p);
void lookers_end(struct lookers *s, int agent, const struct event *e);

/* Send away those for whom no answer came in time. */
void lookers_tick(struct lookers *s, int64_t now_ns);

/* Send all away; accept NULL.  lookers_free when no file is read for them any more. */
void lookers_shut(struct lookers *s);
void lookers_free(struct lookers *s);

#endif
