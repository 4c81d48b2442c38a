/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_direct.c - everybody sends everything to everybody: one step, for small buffers
 *
 * Each rank adds all contributions in the order of ranks once the last one is there, so the
 * result has the same bits everywhere.
 */
#include "reduction.h"

#include <assert.h>
#include <string.h>

struct direct {
    struct reduction r;
    int pending;
    bool *missing; /* [n_ranks] whose contribution has not come */
    size_t stride; /* bytes from one contribution to the next */
    char scratch[] __attribute__((aligned(64)));
    /* one contribution a rank, own included, then missing */
};

static const struct collective_ops direct_ops;

static struct direct *direct(struct collective *c)
{
    assert(c->ops == &direct_ops);
    return (struct direct *)c;
}

static size_t direct_stride(const struct allreduce *a)
{
    return (a->n * comm_type_bytes(a->type) + a->tail_bytes + 63) / 64 * 64;
}

static size_t direct_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    size_t ranks = (size_t)p->n_ranks;

    return sizeof(struct direct) + ranks * direct_stride(a) + ranks * sizeof(bool);
}

static int direct_start(struct collective *c, struct outbox *out)
{
    struct direct *d = direct(c);
    int size = c->place.n_ranks, rank = c->place.rank;

    d->stride = direct_stride(&d->r.what);
    d->missing = (bool *)(d->scratch + (size_t)size * d->stride);
    d->pending = 2 * (size - 1);
    if (!d->r.bytes || size == 1)
        return 1;
    for (int i = 1; i < size; i++) {
        int from = (rank + size - i) % size;

        d->missing[from] = true;
        collective_post(c, COMM_RECEIVE, from, d->scratch + (size_t)from * d->stride, d->r.bytes,
                        from, out);
    }
    for (int i = 1; i < size; i++)
        collective_post(c, COMM_SEND, (rank + i) % size, d->r.what.data, d->r.bytes, 0, out);
    return 0;
}

static void direct_add_up(struct direct *d)
{
    const struct allreduce *a = &d->r.what;
    int size = d->r.base.place.n_ranks;

    memcpy(d->scratch + (size_t)d->r.base.place.rank * d->stride, a->data, d->r.bytes);
    memcpy(a->data, d->scratch, d->r.bytes);
    for (int i = 1; i < size; i++)
        reduction_add(&d->r, a->data, d->scratch + (size_t)i * d->stride);
}

static int direct_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct direct *d = direct(c);

    (void)out;
    if (op->kind == COMM_RECEIVE)
        d->missing[op->part] = false;
    if (--d->pending)
        return 0;
    direct_add_up(d);
    return 1;
}

static int direct_waits_for(const struct collective *c)
{
    const struct direct *d = (const struct direct *)c;

    for (int i = 0; i < c->place.n_ranks; i++)
        if (d->missing[i])
            return i;
    return (c->place.rank + 1) % c->place.n_ranks; /* a send that is not taken */
}

static const struct collective_ops direct_ops = {
    .name = "direct",
    .start = direct_start,
    .done = direct_done,
    .waits_for = direct_waits_for,
};

const struct allreduce_kind allreduce_direct = { &direct_ops, direct_instance_bytes };
