/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast.c - copies from one rank to all by a binomial tree
 *
 * Ranks are counted from the root.  Rank r receives from r without its lowest set bit.  Then it
 * sends to r + 1, r + 2, r + 4, ... below that bit, the farthest first.
 */
#include "collective_impl.h"

#include <errno.h>

/* One rank's part of a broadcast. */
struct broadcast {
    struct collective base;
    void *data;
    size_t bytes;
    int root;
    int pending; /* operations under way */
    bool have;   /* this rank has the data */
};

/* Return this rank's number counted from the root. */
static int broadcast_virtual(const struct broadcast *b)
{
    const struct comm_place *p = &b->base.place;

    return (p->rank - b->root + p->n_ranks) % p->n_ranks;
}

/* Return the first power of two above the distances of all children: the lowest set bit of the rank
 * counted from the root; for the root n_ranks, rounded up to a power of two.
 */
static int broadcast_span(const struct broadcast *b)
{
    int span = 1, v = broadcast_virtual(b);

    while (span < b->base.place.n_ranks && !(v & span))
        span <<= 1;
    return span;
}

/* Send the data, which this rank now has, to all children, the farthest first.  Return 1 if there
 * are no children, else 0.
 */
static int broadcast_send(struct broadcast *b, struct outbox *out)
{
    int n = b->base.place.n_ranks, v = broadcast_virtual(b);

    b->have = true;
    for (int mask = broadcast_span(b) >> 1; mask; mask >>= 1) {
        if (v + mask >= n)
            continue;
        collective_post(&b->base, COMM_SEND, (v + mask + b->root) % n, b->data, b->bytes, 0, out);
        b->pending++;
    }
    return b->pending == 0;
}

/* Return the member from which this rank receives. */
static int broadcast_parent(const struct broadcast *b)
{
    return (broadcast_virtual(b) - broadcast_span(b) + b->root) % b->base.place.n_ranks;
}

/* Send the data if this is the root, otherwise post the receive from the parent.  Return 1 if the
 * broadcast is over already, else 0.
 */
static int broadcast_start(struct collective *c, struct outbox *out)
{
    struct broadcast *b = (struct broadcast *)c;

    b->pending = 0;
    b->have = false;
    if (!b->bytes)
        return 1;
    if (c->place.rank == b->root)
        return broadcast_send(b, out);
    collective_post(c, COMM_RECEIVE, broadcast_parent(b), b->data, b->bytes, 0, out);
    b->pending++;
    return 0;
}

/* Continue after a completed operation; after the receive send to the children.  Return 1 once all
 * sends are complete, else 0.
 */
static int broadcast_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct broadcast *b = (struct broadcast *)c;

    b->pending--;
    if (op->kind == COMM_RECEIVE)
        return broadcast_send(b, out);
    return b->pending == 0;
}

/* Return the member that is waited for: the parent until the data has arrived, then the next rank.
 */
static int broadcast_waits_for(const struct collective *c)
{
    const struct broadcast *b = (const struct broadcast *)c;

    return b->have ? (c->place.rank + 1) % c->place.n_ranks : broadcast_parent(b);
}

static const struct collective_ops broadcast_ops = {
    .name = "broadcast",
    .start = broadcast_start,
    .done = broadcast_done,
    .waits_for = broadcast_waits_for,
};

int broadcast_new(const struct comm_place *p, void *data, size_t bytes, int root,
                  struct collective **ret, struct eddis_error *err)
{
    struct broadcast *b;
    int rc;

    if (root < 0 || root >= p->n_ranks)
        return eddis_fail(err, -EINVAL, "root %d is not a rank, there are %d", root, p->n_ranks);
    rc = collective_make(&broadcast_ops, sizeof(struct broadcast), p, ret, err);
    if (rc < 0)
        return rc;
    b = (struct broadcast *)*ret;
    b->data = data;
    b->bytes = bytes;
    b->root = root;
    return 0;
}
