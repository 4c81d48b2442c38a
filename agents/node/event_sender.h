/* SPDX-License-Identifier: Apache-2.0 */
/* event_sender.h - an agent's event sender: to its log and to the driver */
#ifndef EDDIS_AGENTS_NODE_EVENT_SENDER_H
#define EDDIS_AGENTS_NODE_EVENT_SENDER_H

#include "reporter.h"

#include "agents/node/output/node_log.h"
#include "agents/protocol/protocol.h"

#include <stdint.h>

/* An event sender; the agent owns both members. */
struct event_sender {
    struct node_log *log;
    struct reporter *reporter;
};

/* Queue an event that happened at at_ns for the driver; e and its texts are copied.  Without memory
 * the event is lost, and the log says so.
 */
void event_sender_send(const struct event_sender *v, const struct event *e, int64_t at_ns);

/* Log a sentence about a generation, and queue it for the driver, which prints it for the user. */
void event_sender_note(const struct event_sender *v, int64_t generation, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Log, and report to the driver, why an order of this generation could not be carried out; type:
 * EVENT_FAILED or EVENT_UNSETTLED.
 */
void event_sender_failed(const struct event_sender *v, enum event_type type, int64_t generation,
                         const struct eddis_error *why);

#endif
