/* SPDX-License-Identifier: Apache-2.0 */
/* reporter.h - events and progress on their way to the driver
 *
 * One report is under way at a time.  Events wait in order until a report that held them was
 * answered; one that was not is sent again under its number, with the ages as they are then.
 * Progress is not queued: an older state of a worker is of no use.  What ranks have printed goes
 * with whatever report is made, and is reason for one ten times a second.
 */
#ifndef EDDIS_AGENTS_NODE_REPORTER_H
#define EDDIS_AGENTS_NODE_REPORTER_H

#include "agents/node/output/log_send.h"
#include "agents/node/output/outputs.h"

#include "agents/protocol/protocol.h"
#include "lib/http/client.h"

#include <stdbool.h>
#include <stdint.h>

struct reporter;

/* Called when the driver has answered, which renews the lease. */
typedef void (*reporter_heard_fn)(void *ctx);

/* Take output from o from now on, which belongs to the caller and must live as long as r.  hurry:
 * do not wait for the next tenth of a second, for this is the end.
 */
void reporter_take_output(struct reporter *r, struct outputs *o, bool hurry);

/* Take pieces of logs from s in the same way, one for each report. */
void reporter_take_logs(struct reporter *r, struct log_send *s);

/* lease_ns: what the limits of a report, and the pause before it is sent again, are parts of. */
int reporter_open(struct http_client *http, int agent, int64_t lease_ns, reporter_heard_fn heard,
                  void *ctx, struct reporter **ret, struct eddis_error *err);

/* Queue an event that happened at at_ns.  Its text and last_lines are copied (NULL: ""). */
int reporter_add(struct reporter *r, const struct event *e, int64_t at_ns, struct eddis_error *err);

/* Send what is waiting, with the progress of n workers (copied; n may be 0), unless a report is
 * under way, a failed one is not yet due again, or there is nothing to say.
 */
int reporter_send(struct reporter *r, const struct progress *worker, int n, int64_t now_ns,
                  struct eddis_error *err);

/* Have the next reporter_send send a report even when there is nothing to say. */
void reporter_beat(struct reporter *r);

/* Whether progress would be taken now. */
bool reporter_idle(const struct reporter *r);

/* When reporter_send should be called again; CLOCK_NEVER when nothing waits. */
int64_t reporter_next_ns(const struct reporter *r, int64_t now_ns);

/* Whether the last report was not answered, or refused. */
bool reporter_failed(const struct reporter *r);

/* Whether everything has arrived. */
bool reporter_empty(const struct reporter *r);

void reporter_close(struct reporter *r); /* after the client; accepts NULL */

#endif
