/* SPDX-License-Identifier: Apache-2.0 */
/* orders.h - orders to one agent, which fetches them in order by long poll
 *
 * Orders are numbered from 1 and kept until the agent asks for what comes after them, so that a
 * lost reply is sent again.  A poll without news is answered after a third of the lease.
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_ORDERS_H
#define EDDIS_AGENTS_DRIVER_CORE_ORDERS_H

#include "agents/protocol/protocol.h"
#include "lib/base/error.h"
#include "lib/http/server.h"

#include <stdint.h>

enum { ORDERS_KEPT = 64 };

/* The order queue of one agent. */
struct orders {
    char *text[ORDERS_KEPT]; /* order number first + i, JSON */
    int n;
    int64_t first;                        /* number of the oldest order in the queue */
    struct http_exchange *poll;           /* pending poll; NULL: none */
    int64_t poll_after, poll_deadline_ns; /* number it continues after; its deadline */
};

/* struct orders is initialised by zeroing it and setting first to 1. */

/* Give order the next number and queue it for its agent, or send it if the agent is waiting.
 * Return -EOVERFLOW if the agent has not fetched ORDERS_KEPT orders.
 */
int orders_add(struct orders *o, struct order *order, struct eddis_error *err);

/* Handle an agent's poll x for the order after number `after`: reply now if there is one, otherwise
 * by deadline_ns.  Orders up to `after` are freed.
 */
void orders_poll(struct orders *o, int64_t after, struct http_exchange *x, int64_t deadline_ns);

/* Reply "no order" to an agent's pending poll whose deadline has passed. */
void orders_tick(struct orders *o, int64_t now_ns);

/* Reply to an agent's pending poll and free all its orders. */
void orders_fini(struct orders *o);

#endif
