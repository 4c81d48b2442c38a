/* SPDX-License-Identifier: Apache-2.0 */
/* unauthenticated.h - unauthenticated connections, and which of them to close
 *
 * Anyone who reaches a server can open connections without sending anything.  Unauthenticated
 * connections are limited: `most` in total (at most STRANGERS), and half of that per address.  A
 * further connection replaces the oldest one (if its address has reached its limit, the oldest of
 * this address), if that is older than STRANGERS_GRACE_NS.  By then an honest peer has sent its
 * token, so idle connections keep nobody out.  If the oldest is younger, the new connection is
 * closed.  So if a thousand agents reconnect at the same time, those that have begun succeed, and
 * the others retry.
 */
#ifndef EDDIS_HTTP_STRANGERS_H
#define EDDIS_HTTP_STRANGERS_H

#include "lib/base/clock.h"

#include <stdint.h>

enum { STRANGERS = 512 };

#define STRANGERS_GRACE_NS (CLOCK_S / 4)

/* One unauthenticated connection */
struct stranger {
    struct stranger *next, *prev; /* neighbours in the ring; NULL: not in it */
    uint64_t address;
    int64_t since_ns;
};

/* All unauthenticated connections: their number n, at most `most` */
struct unauthenticated {
    struct stranger head; /* head of the ring, oldest first */
    int n, most;
};

/* Make the ring empty, for at most `most` connections. */
void unauthenticated_init(struct unauthenticated *s, int most);

/* Add x, which has just connected from this address.  address: a number that stands for the peer's
 * address; for IPv6, for its /64 network, because one machine may use all of it.  Return the
 * connection to close, x or another, which is not in the ring any more; NULL: none.
 */
struct stranger *unauthenticated_add(struct unauthenticated *s, struct stranger *x,
                                     uint64_t address, int64_t now_ns);

/* Remove x from the ring, if it is in it. */
void unauthenticated_remove(struct unauthenticated *s, struct stranger *x);

#endif
