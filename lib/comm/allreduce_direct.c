/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_direct.c - every rank sends all its data to every other: one step, for small buffers
 *
 * Each rank adds all contributions in the order of ranks once the last one has arrived.  It uses
 * its own contribution as the others receive it, so the result has the same bits everywhere.
 */
#include "reduction.h"

/* The collective's instance. */
struct direct {
    struct reduction r;
    int pending;   /* operations under way */
    bool *missing; /* [n_ranks] true: the contribution of this rank has not arrived */
    size_t stride; /* bytes from one contribution to the next */
    char scratch[] __attribute__((aligned(64)));
    /* one contribution for each rank, including this one; then `missing` */
};

/* Return the size of an instance in bytes, with a buffer for each rank's contribution. */
static size_t direct_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    size_t ranks = (size_t)p->n_ranks;

    return sizeof(struct direct) + ranks * reduction_room(a, a->n) + ranks * sizeof(bool);
}

/* Borrow the buffer of a rank's contribution, whose elements have the type that messages use. */
static char *direct_contribution(struct direct *d, int rank)
{
    struct comm_part all = reduction_whole(&d->r);

    return d->scratch + (size_t)rank * d->stride + reduction_pad(&d->r, &all);
}

/* Post the receives from all other ranks and the sends to them.  Return 1 if the all-reduce is over
 * already (no data, or one rank), else 0.
 */
static int direct_start(struct collective *c, struct outbox *out)
{
    struct direct *d = (struct direct *)c;
    int size = c->place.n_ranks, rank = c->place.rank;
    struct comm_part all = reduction_whole(&d->r);
    void *own;

    d->stride = reduction_room(&d->r.what, d->r.what.n);
    d->missing = (bool *)(d->scratch + (size_t)size * d->stride);
    d->pending = 2 * (size - 1);
    if (!d->r.bytes || size == 1)
        return 1;
    own = reduction_send(&d->r, &all, direct_contribution(d, rank));
    for (int i = 1; i < size; i++) {
        int from = (rank + size - i) % size;

        d->missing[from] = true;
        collective_post(c, COMM_RECEIVE, from, direct_contribution(d, from),
                        reduction_message(&d->r, &all), from, out);
    }
    for (int i = 1; i < size; i++)
        collective_post(c, COMM_SEND, (rank + i) % size, own, reduction_message(&d->r, &all), 0,
                        out);
    return 0;
}

/* Replace the data by the sum of all contributions, added in the order of ranks. */
static void direct_add_up(struct direct *d)
{
    struct comm_part all = reduction_whole(&d->r);

    if (!reduction_uses_half(&d->r))
        reduction_write(&d->r, &all, direct_contribution(d, d->r.base.place.rank));
    reduction_take(&d->r, &all, direct_contribution(d, 0));
    for (int i = 1; i < d->r.base.place.n_ranks; i++)
        reduction_add(&d->r, &all, direct_contribution(d, i));
}

/* Count a completed operation; after the last one add up.  Return 1 then, else 0. */
static int direct_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct direct *d = (struct direct *)c;

    if (op->kind == COMM_RECEIVE)
        d->missing[op->part] = false;
    if (--d->pending)
        return 0;
    direct_add_up(d);
    return 1;
}

/* Return a member whose contribution is missing; if there is none, the right neighbour. */
static int direct_waits_for(const struct collective *c)
{
    const struct direct *d = (const struct direct *)c;

    for (int i = 0; i < c->place.n_ranks; i++)
        if (d->missing[i])
            return i;
    return (c->place.rank + 1) % c->place.n_ranks; /* a send of this rank has not been received */
}

static const struct collective_ops direct_ops = {
    .name = "direct",
    .start = direct_start,
    .done = direct_done,
    .waits_for = direct_waits_for,
};

const struct allreduce_kind allreduce_direct = { &direct_ops, direct_instance_bytes };
