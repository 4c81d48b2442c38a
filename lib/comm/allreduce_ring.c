/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_ring.c - reduce-scatter and all-gather around a ring, for large buffers
 *
 * At every step a rank sends one block to the right and receives another from the left; ring.h
 * says which.  The next step begins when both are complete, which also keeps a block from being
 * overwritten while it is still being sent.  Empty blocks are not sent.  The tail is part of the
 * last block.
 *
 * Block b is summed in the order of ranks b, b + 1, ..., whatever the order of arrival.
 */
#include "collective_impl.h"
#include "ring.h"

#include <assert.h>

enum { RING_TAIL_ALIGN = 8 };

struct ring {
    struct reduction r;
    int step;
    int pending;  /* operations of this step under way */
    bool missing; /* the receive is one of them */
    char scratch[] __attribute__((aligned(64)));
};

static const struct collective_ops ring_ops;

static struct ring *ring(struct collective *c)
{
    assert(c->ops == &ring_ops);
    return (struct ring *)c;
}

static size_t ring_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    size_t longest = a->n / (size_t)p->n_ranks + 1;

    return sizeof(struct ring) + longest * comm_type_bytes(a->type) + RING_TAIL_ALIGN +
           a->tail_bytes;
}

/* Where a block lies; *ret_n receives its elements, *ret_bytes its bytes with the tail. */
static char *ring_place(struct ring *g, int block, size_t *ret_n, size_t *ret_bytes)
{
    const struct allreduce *a = &g->r.what;
    size_t first = ring_block(a->n, g->r.base.place.n_ranks, block);

    *ret_n = ring_block(a->n, g->r.base.place.n_ranks, block + 1) - first;
    /* With fewer elements than ranks several blocks end at n: the tail goes with the last only. */
    *ret_bytes = *ret_n * comm_type_bytes(a->type);
    if (block == g->r.base.place.n_ranks - 1)
        *ret_bytes += a->tail_bytes;
    return (char *)a->data + first * comm_type_bytes(a->type);
}

/* Where a block of so many bytes of elements is received: the tail behind it is aligned. */
static char *ring_scratch(struct ring *g, size_t bytes)
{
    return g->scratch + (RING_TAIL_ALIGN - bytes % RING_TAIL_ALIGN) % RING_TAIL_ALIGN;
}

static bool ring_adding(const struct ring *g)
{
    return g->step < g->r.base.place.n_ranks - 1;
}

/* Post this step's two operations, or go on to a step that has some.  Returns 1 at the end. */
static int ring_go(struct ring *g, struct outbox *out)
{
    struct collective *c = &g->r.base;
    int rank = c->place.rank, size = c->place.n_ranks;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;

    for (; g->step < ring_steps(size); g->step++) {
        size_t n, bytes;
        char *block = ring_place(g, ring_send(rank, size, g->step), &n, &bytes);

        if (bytes) {
            collective_post(c, COMM_SEND, right, block, bytes, 0, out);
            g->pending++;
        }
        block = ring_place(g, ring_send(left, size, g->step), &n, &bytes);
        if (bytes) {
            if (ring_adding(g))
                block = ring_scratch(g, n * comm_type_bytes(g->r.what.type));
            collective_post(c, COMM_RECEIVE, left, block, bytes, 0, out);
            g->pending++;
            g->missing = true;
        }
        if (g->pending)
            return 0;
    }
    return 1;
}

static int ring_start(struct collective *c, struct outbox *out)
{
    struct ring *g = ring(c);

    g->step = 0;
    g->pending = 0;
    g->missing = false;
    return ring_go(g, out);
}

static int ring_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct ring *g = ring(c);

    if (op->kind == COMM_RECEIVE)
        g->missing = false;
    if (op->kind == COMM_RECEIVE && ring_adding(g)) {
        int left = (c->place.rank + c->place.n_ranks - 1) % c->place.n_ranks;
        size_t n, bytes;
        char *block = ring_place(g, ring_send(left, c->place.n_ranks, g->step), &n, &bytes);
        size_t width = comm_type_bytes(g->r.what.type);
        const char *in = ring_scratch(g, n * width);

        combine(g->r.what.type, g->r.what.rule, block, in, n);
        if (bytes > n * width)
            g->r.what.tail_rule(block + n * width, in + n * width);
    }
    if (--g->pending)
        return 0;
    g->step++;
    return ring_go(g, out);
}

/* When one rank has not started, its right neighbour stands at step 0, the next at step 1, ...;
 * so the step says who is missing.  Once all have contributed it is the neighbour.
 */
static int ring_waits_for(const struct collective *c)
{
    const struct ring *g = (const struct ring *)c;
    int size = c->place.n_ranks, back = ring_adding(g) ? g->step + 1 : 1;

    if (!g->missing)
        return (c->place.rank + 1) % size; /* it does not take what is sent */
    return (c->place.rank - back + size) % size;
}

static const struct collective_ops ring_ops = {
    .name = "ring",
    .start = ring_start,
    .done = ring_done,
    .waits_for = ring_waits_for,
};

const struct allreduce_kind allreduce_ring = { &ring_ops, ring_instance_bytes };
