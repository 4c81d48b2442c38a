/* SPDX-License-Identifier: Apache-2.0 */
/* orders.h - orders to one agent, which fetches them one after another by long polls
 *
 * Orders have numbers from 1. Each order is kept until the agent polls for a later order, so that
 * the order can be sent again if the reply was lost. If there is no new order, a poll is answered
 * after a third of the lease.
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
    char *text[ORDERS_KEPT]; /* [n] orders as JSON; element i is order number first + i */
    int n;
    int64_t first;              /* number of the oldest order in the queue */
    struct http_exchange *poll; /* pending poll; NULL: none */
    /* order number after which the pending poll continues; deadline of the poll */
    int64_t poll_after, poll_deadline_ns;
};

/* To initialize a struct orders, set it to zero and `first` to 1. */

/* Give the order the next number, and queue it for the agent, or send it if a poll is pending.
 * Return 0, -EOVERFLOW if ORDERS_KEPT orders wait for the agent, or another negative errno.
 */
int orders_add(struct orders *o, struct order *order, struct eddis_error *err);

/* Handle an agent's poll x for the order after number `after`: reply now if this order exists,
 * otherwise when it is added, at the latest at deadline_ns. Free the orders up to number `after`.
 */
void orders_poll(struct orders *o, int64_t after, struct http_exchange *x, int64_t deadline_ns);

/* Reply "no order" to an agent's pending poll whose deadline has passed. */
void orders_tick(struct orders *o, int64_t now_ns);

/* Reply to an agent's pending poll and free all its orders. */
void orders_fini(struct orders *o);

#endif
