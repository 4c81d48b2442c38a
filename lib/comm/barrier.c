/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - a collective that is over once every rank has started it; log2(n) rounds
 *
 * Dissemination barrier: in round k a rank sends to the rank 2^k to its right and receives from the
 * rank 2^k to its left.
 *
 * Source: Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, Int. J.
 * Parallel Prog. 17(1), 1988.
 */
#include "collective_impl.h"

/* The collective's instance. */
struct barrier {
    struct collective base;
    int distance;        /* 2^round */
    int pending;         /* operations under way in this round */
    char sent, received; /* messages of one byte, since MPI handles empty messages worse */
};

/* Return the member from which this rank receives in this round. */
static int barrier_left(const struct barrier *b)
{
    const struct comm_place *p = &b->base.place;

    return (p->rank - b->distance + p->n_ranks) % p->n_ranks;
}

/* Post the messages of this round.  Return 1 if no round is left, else 0. */
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

/* Begin the first round.  Return as barrier_go. */
static int barrier_start(struct collective *c, struct outbox *out)
{
    struct barrier *b = (struct barrier *)c;

    b->distance = 1;
    return barrier_go(b, out);
}

/* Begin the next round once both messages of this round are complete.  Return 1 after the last
 * round, else 0.
 */
static int barrier_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct barrier *b = (struct barrier *)c;

    if (--b->pending)
        return 0;
    b->distance *= 2;
    return barrier_go(b, out);
}

/* Return the member whose message is awaited in this round. */
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
