/* SPDX-License-Identifier: Apache-2.0 */
/* reporter.h - sends events, progress, output and logs to the driver in reports
 *
 * One report is under way at a time.  Events wait in order until a report with them was answered.
 * A report without an answer is sent again with the same number and the events' new ages.  Progress
 * is not queued: an older state of a worker is of no use.  Output of ranks is added to any report,
 * and causes a report of its own at most ten times a second.
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

/* Take output from o from now on; o is the caller's and must live as long as r. hurry: do not wait
 * for the next tenth of a second, because this is the end.
 */
void reporter_take_output(struct reporter *r, struct outputs *o, bool report_limit);

/* Take chunks of logs from s in the same way, one per report. */
void reporter_take_logs(struct reporter *r, struct log_send *s);

/* Make a reporter for agent number `agent`; http, ctx are borrowed.  The time limits of a report
 * and the pause before a repetition are parts of lease_ns.  Return 0 or -ENOMEM.
 */
int reporter_open(struct http_client *http, int agent, int64_t lease_ns, reporter_heard_fn heard,
                  void *ctx, struct reporter **ret, struct eddis_error *err);

/* Queue an event that happened at at_ns; its texts are copied (NULL: ""). */
int reporter_add(struct reporter *r, const struct event *e, int64_t at_ns, struct eddis_error *err);

/* Send what is queued, with the progress of n workers (copied; n may be 0).  Do nothing if a report
 * is under way, a repetition is not yet due, or there is nothing to send.
 */
int reporter_send(struct reporter *r, const struct progress *worker, int n, int64_t now_ns,
                  struct eddis_error *err);

/* Make the next reporter_send send a report even if there is nothing to send. */
void reporter_beat(struct reporter *r);

/* Check whether reporter_send would take progress now. */
bool reporter_idle(const struct reporter *r);

/* Return when to call reporter_send again; CLOCK_NEVER: nothing is queued. */
int64_t reporter_next_ns(const struct reporter *r, int64_t now_ns);

/* Check whether the last report was not answered, or was rejected. */
bool reporter_failed(const struct reporter *r);

/* Check whether all events and output have arrived. */
bool reporter_empty(const struct reporter *r);

/* Free a reporter, after its client; accept NULL. */
void reporter_close(struct reporter *r);

#endif
