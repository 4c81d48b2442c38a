/* SPDX-License-Identifier: Apache-2.0 */
/* unauthenticated.c - a ring of unauthenticated connections, ordered by age */
#include "unauthenticated.h"

#include <stddef.h>

void unauthenticated_init(struct unauthenticated *s, int most)
{
    s->head.next = s->head.prev = &s->head;
    s->n = 0;
    s->most = most;
}

void unauthenticated_remove(struct unauthenticated *s, struct stranger *x)
{
    if (!x->next)
        return;
    x->next->prev = x->prev;
    x->prev->next = x->next;
    x->next = x->prev = NULL;
    s->n--;
}

/* Return the oldest connection of this address if more than half of the allowed number are of this
 * address.  Otherwise return the oldest of all connections if there are more than the allowed
 * number; NULL: there are not too many.
 */
static struct stranger *too_many(struct unauthenticated *s, uint64_t address)
{
    struct stranger *oldest = NULL;
    int n = 0;

    for (struct stranger *x = s->head.prev; x != &s->head; x = x->prev)
        if (x->address == address) {
            oldest = x;
            n++;
        }
    if (n > s->most / 2)
        return oldest;
    return s->n > s->most ? s->head.next : NULL;
}

struct stranger *unauthenticated_add(struct unauthenticated *s, struct stranger *x,
                                     uint64_t address, int64_t now_ns)
{
    struct stranger *goes;

    x->address = address;
    x->since_ns = now_ns;
    x->prev = s->head.prev;
    x->next = &s->head;
    x->prev->next = x->next->prev = x;
    s->n++;
    goes = too_many(s, address);
    if (goes && now_ns - goes->since_ns < STRANGERS_GRACE_NS)
        goes = x;
    if (goes)
        unauthenticated_remove(s, goes);
    return goes;
}
