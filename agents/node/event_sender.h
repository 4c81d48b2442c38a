/* SPDX-License-Identifier: Apache-2.0 */
/* event_sender.h - what an agent says: into its log, and as events to the driver */
#ifndef EDDIS_AGENTS_NODE_EVENT_SENDER_H
#define EDDIS_AGENTS_NODE_EVENT_SENDER_H

#include "reporter.h"

#include "agents/node/output/node_log.h"
#include "agents/protocol/protocol.h"

#include <stdint.h>

struct voice {
    struct node_log *log;
    struct reporter *reporter;
};

/* Tell the driver of an event that happened at at_ns. */
void voice_tell(const struct voice *v, const struct event *e, int64_t at_ns);

/* Tell people once what they should know of a generation. */
void voice_note(const struct voice *v, int64_t generation, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Tell the driver why an order of that generation could not be carried out: EVENT_FAILED or
 * EVENT_UNSETTLED.
 */
void voice_failed(const struct voice *v, enum event_type type, int64_t generation,
                  const struct eddis_error *why);

#endif
