/* SPDX-License-Identifier: Apache-2.0 */
/* strangers.h - connections that have shown no token yet, and which of them have to go
 *
 * Anybody who reaches a server can open connections and say nothing.  Those who have shown a token
 * are not counted; of the others all addresses together may have so many, STRANGERS where there is
 * room, and one address half of them.  One more takes the place of the oldest, of its own address
 * first, when that has had STRANGERS_GRACE_NS: who has something to say has said it by then, so
 * that idle connections keep nobody out.  Else the new one has to go: when a thousand agents come
 * back at one moment, those who have begun get through, and the others come again.
 */
#ifndef EDDIS_HTTP_STRANGERS_H
#define EDDIS_HTTP_STRANGERS_H

#include "lib/base/clock.h"

#include <stdint.h>

enum { STRANGERS = 512 };

#define STRANGERS_GRACE_NS (CLOCK_S / 4)

struct stranger {
    struct stranger *next, *prev; /* NULL: in no list */
    uint64_t address;
    int64_t since_ns;
};

struct strangers {
    struct stranger head; /* of a ring, the oldest first */
    int n, most;
};

void strangers_init(struct strangers *s, int most);

/* Add x, which has come now from this address: a number that stands for it, of IPv6 for its network
 * of 64 bits, since a machine may have all of one.  Returns the one that has to go, x or another,
 * which is in the list no longer; or NULL.
 */
struct stranger *strangers_add(struct strangers *s, struct stranger *x, uint64_t address,
                               int64_t now_ns);

/* Take x out, when it is in the list. */
void strangers_remove(struct strangers *s, struct stranger *x);

#endif
