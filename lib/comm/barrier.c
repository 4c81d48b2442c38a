/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - over when every rank has started it; dissemination in log2(n) rounds
 *
 * In round k a rank tells the one 2^k to its right and hears the one 2^k to its left.
 *
 * Source: Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, Int. J.
 * Parallel Prog. 17(1), 1988.
 */
#include "collective_impl.h"

#include <assert.h>

struct barrier {
    struct collective base;
    int distance; /* 2^round */
    int pending;
    char sent, received; /* MPI likes a byte better than none */
};

static const struct collective_ops barrier_ops;

static struct barrier *barrier(struct collective *c)
{
    assert(c->ops == &barrier_ops);
    return (struct barrier *)c;
}

static int barrier_left(const struct barrier *b)
{
    const struct comm_place *p = &b->base.place;

    return (p->rank - b->distance + p->n_ranks) % p->n_ranks;
}

static int barrier_go(struct barrier *b, struct outbox *out)
{
    const struct comm_place *p = &b->base.place;

    if (b->distance >= p->n_ranks)
        return 1;
    collective_post(&b->base, COMM_RECEIVE, barrier_left(b), &b->received, 1, 0, out);
    collective_post(&b->base, COMM_SEND, (p->rank + b->distance) % p->n_ranks, &b->sent, 1, 0, out);
    b->pending = 2;
    return 0;
}

static int barrier_start(struct collective *c, struct outbox *out)
{
    barrier(c)->distance = 1;
    return barrier_go(barrier(c), out);
}

static int barrier_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct barrier *b = barrier(c);

    (void)op;
    if (--b->pending)
        return 0;
    b->distance *= 2;
    return barrier_go(b, out);
}

static int barrier_waits_for(const struct collective *c)
{
    return barrier_left((const struct barrier *)c);
}

static const struct collective_ops barrier_ops = {
    .name = "barrier",
    .start = barrier_start,
    .done = barrier_done,
    .waits_for = barrier_waits_for,
};

int barrier_new(const struct comm_place *p, struct collective **ret, struct eddis_error *err)
{
    return collective_make(&barrier_ops, sizeof(struct barrier), p, ret, err);
}
