/* SPDX-License-Identifier: Apache-2.0 */
/* log_readers.h - users' requests for parts of ranks' logs while the job runs */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_LOG_READERS_H
#define EDDIS_AGENTS_DRIVER_LOGS_LOG_READERS_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/nodes/request_queue.h"

struct log_readers;

/* Make an empty list of people's requests for logs, for the caller to free once no file may be read
 * for it any more.  run is borrowed.  NULL: no memory.
 */
struct log_readers *log_readers_new(struct job_run *run);

/* Answer a user's request for a part of a rank's log, now or when the rank's node has sent the
 * part. ending: the job ends; nodes are no longer asked then, and the request is rejected.
 */
void log_readers_add(struct log_readers *s, const struct request_item *i, bool ending,
                     int64_t now_ns);

/* Append the log chunk p, which an agent has sent, to the answer of the request that waits for it.
 * Return false if no request waits for it.
 */
bool log_readers_chunk(struct log_readers *s, int agent, const struct log_chunk *p);

/* Answer the person's request that waits for the log that an agent has sent to its end.  Return
 * false if no request waits for it.
 */
bool log_readers_end(struct log_readers *s, int agent, const struct event *e);

/* Reject the requests for logs whose deadline has passed. */
void log_readers_tick(struct log_readers *s, int64_t now_ns);

/* Reject all pending requests for logs. Accepts NULL. */
void log_readers_shut(struct log_readers *s);

#endif
