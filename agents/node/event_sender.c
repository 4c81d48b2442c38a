/* SPDX-License-Identifier: Apache-2.0 */
/* event_sender.c - queues the agent's events for the driver and logs them */
#include "event_sender.h"

#include "lib/base/clock.h"

#include <stdarg.h>
#include <stdio.h>

void event_sender_send(const struct event_sender *v, const struct event *e, int64_t at_ns)
{
    struct eddis_error err = { 0 };

    if (reporter_add(v->reporter, e, at_ns, &err) < 0)
        node_log_say(v->log, "lost an event: %s", err.text);
}

void event_sender_note(const struct event_sender *v, int64_t generation, const char *fmt, ...)
{
    char text[512];
    struct event e = { .type = EVENT_NOTE, .generation = generation, .rank = -1, .text = text };
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    node_log_say(v->log, "note: %s", text);
    event_sender_send(v, &e, clock_now_ns());
}

void event_sender_failed(const struct event_sender *v, enum event_type type, int64_t generation,
                         const struct eddis_error *why)
{
    struct event e = {
        .type = type, .generation = generation, .rank = -1, .text = (char *)(uintptr_t)why->text
    };

    node_log_say(v->log, "failed: %s", why->text);
    event_sender_send(v, &e, clock_now_ns());
}
