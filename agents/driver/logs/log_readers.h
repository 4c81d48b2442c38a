/* SPDX-License-Identifier: Apache-2.0 */
/* log_readers.h - people's requests for parts of ranks' logs while the job runs */
#ifndef EDDIS_AGENTS_DRIVER_LOGS_LOG_READERS_H
#define EDDIS_AGENTS_DRIVER_LOGS_LOG_READERS_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/nodes/request_queue.h"

struct lookers;

/* Make an empty list of people's requests for logs.  run is borrowed.  NULL: no memory. */
struct lookers *lookers_new(struct job_run *run);

/* Answer a person's request for a part of a rank's log, at once or when its node has sent it.
 * While the job ends, nodes are no longer asked and the request is rejected.
 */
void lookers_add(struct lookers *s, const struct inbox_item *i, bool ending, int64_t now_ns);

/* Add a log chunk that an agent sent to the person's request that waits for it, if any. */
void lookers_piece(struct lookers *s, int agent, const struct log_piece *p);

/* Answer the request that waits for a log that an agent has sent to its end, if any. */

/* Answer the person's request that waits for the log that an agent has sent to its end, if any. */
void lookers_end(struct lookers *s, int agent, const struct event *e);

/* Reject people's requests for logs whose deadline has passed. */
void lookers_tick(struct lookers *s, int64_t now_ns);

/* Reject all people's requests for logs.  Accepts NULL. */
void lookers_shut(struct lookers *s);

/* Free the list.  No file may be read for it any more.  Accepts NULL. */

/* Free the list of requests for logs.  No file may be read for it any more.  Accepts NULL. */
void lookers_free(struct lookers *s);

#endif
