/* SPDX-License-Identifier: Apache-2.0 */
/* reporter.h - sends events, progress, output and logs to the driver in reports
 *
 * Only one report is pending at a time. Events wait in order until the report that contains them
 * was answered. A report without an answer is sent again with the same number and the present ages
 * of its events. Progress is not queued, because an older state of a worker is useless. Output of
 * ranks is added to any report, and causes a report of its own at most ten times a second.
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

/* Type of the function called when the driver has answered, which renews the lease */
typedef void (*reporter_heard_fn)(void *ctx);

/* From now on take the ranks' output from o, which the caller owns and which must exist as long as
 * r. unlimited: if true, as at the agent's end, do not limit the rate of reports for output.
 */
void reporter_take_output(struct reporter *r, struct outputs *o, bool unlimited);

/* From now on take chunks of logs from s, one for each report. The caller owns s, which must exist
 * as long as r.
 */
void reporter_take_logs(struct reporter *r, struct log_send *s);

/* Create a reporter for agent number `agent` in *ret, which the caller frees with reporter_close;
 * http and ctx are borrowed. The time limit of a report and the pause before a repetition are
 * fractions of lease_ns. Return 0 or -ENOMEM.
 */
int reporter_open(struct http_client *http, int agent, int64_t lease_ns, reporter_heard_fn heard,
                  void *ctx, struct reporter **ret, struct eddis_error *err);

/* Queue an event that happened at at_ns; its texts are copied (NULL: ""). Return 0 or -ENOMEM. */
int reporter_add(struct reporter *r, const struct event *e, int64_t at_ns, struct eddis_error *err);

/* Send a report with the queued events, output and logs and with the progress of n workers (copied;
 * n may be 0). Do nothing if a report is pending, a repetition is not due yet, or there is nothing
 * to send. Return 0 or a negative errno, after which the same report is repeated later.
 */
int reporter_send(struct reporter *r, const struct progress *worker, int n, int64_t now_ns,
                  struct eddis_error *err);

/* Make the next reporter_send send a report even if there is nothing to send. */
void reporter_beat(struct reporter *r);

/* Check whether reporter_send would send progress now. */
bool reporter_idle(const struct reporter *r);

/* Return the time at which to call reporter_send again; CLOCK_NEVER: nothing is queued. */
int64_t reporter_next_ns(const struct reporter *r, int64_t now_ns);

/* Check whether the last report could not be sent, was not answered, or was rejected. */
bool reporter_failed(const struct reporter *r);

/* Check whether all queued events and output have arrived at the driver. */
bool reporter_empty(const struct reporter *r);

/* Free a reporter; its HTTP client must have been closed. Accepts NULL. */
void reporter_close(struct reporter *r);

#endif
