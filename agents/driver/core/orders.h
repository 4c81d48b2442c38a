/* SPDX-License-Identifier: Apache-2.0 */
/* orders.h - what one agent is told, in order, by long poll
 *
 * Orders are numbered from 1 and kept until the agent asks for what comes after them, so an
 * answer that got lost is given again.  A poll without news is held for a third of the lease.
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_ORDERS_H
#define EDDIS_AGENTS_DRIVER_CORE_ORDERS_H

#include "agents/protocol/protocol.h"
#include "lib/base/error.h"
#include "lib/http/server.h"

#include <stdint.h>

enum { ORDERS_KEPT = 64 };

struct orders {
    char *text[ORDERS_KEPT]; /* of number first + i */
    int n;
    int64_t first;
    struct http_exchange *poll; /* held; NULL: none */
    int64_t poll_after, poll_deadline_ns;
};

/* Zeroed but for first = 1 before. */

/* Give order the next number, and hand it out when the agent is waiting.  -EOVERFLOW: the agent has
 * not taken ORDERS_KEPT orders.
 */
int orders_add(struct orders *o, struct order *order, struct eddis_error *err);

/* Answer x, by which the agent asks for the order behind number `after`: now, when there is one, or
 * by deadline_ns.
 */
void orders_poll(struct orders *o, int64_t after, struct http_exchange *x, int64_t deadline_ns);

/* Answer a poll whose deadline has come. */
void orders_tick(struct orders *o, int64_t now_ns);

/* Answer what is held and free everything. */
void orders_fini(struct orders *o);

#endif
