/* SPDX-License-Identifier: Apache-2.0 */
/* strangers.c - a ring of unauthenticated connections, ordered by age */
#include "strangers.h"

#include <stddef.h>

void strangers_init(struct strangers *s, int most)
{
    s->head.next = s->head.prev = &s->head;
    s->n = 0;
    s->most = most;
}

void strangers_remove(struct strangers *s, struct stranger *x)
{
    if (!x->next)
        return;
    x->next->prev = x->prev;
    x->prev->next = x->next;
    x->next = x->prev = NULL;
    s->n--;
}

/* Return the oldest connection of an address that has more than its half, or the oldest of all if
 * there are too many; NULL: within limits.
 */
static struct stranger *too_many(struct strangers *s, uint64_t address)
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

struct stranger *strangers_add(struct strangers *s, struct stranger *x, uint64_t address,
                               int64_t now_ns)
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
        strangers_remove(s, goes);
    return goes;
}
