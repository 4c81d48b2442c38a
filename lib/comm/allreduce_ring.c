/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_ring.c - reduce-scatter and all-gather around a ring, for large buffers
 *
 * At every step a rank sends one block to the right and receives another from the left; ring.h
 * says which.  A large block travels in segments, so that one is added while others are on their
 * way:
 *
 *     move         0      1      2      3      4      5    ...       (two segments a block)
 *     step         0      0      1      1      2      2
 *     receive   |  ahead of their arrival, into scratch, later into place
 *     add          |  in order: what was received at one step is sent at the next
 *     send      |  |
 *
 * Move i is segment i % segments of step i / segments; ring_go does whatever of the following has
 * become possible, each strictly in the order of moves, a window of them under way:
 *     receive i   into a free piece of scratch, or while copying into the block, which must have
 *                 left before (it did size - 1 steps ago)
 *     fold i      add what has arrived to the block
 *     send i      the own block at step 0, else what was folded one step before
 * Empty segments are not sent.  The tail is part of the last block's last segment.
 *
 * Where messages are narrower than the data all are received into scratch and sent from it; the
 * rank that has added a block's last contribution takes the sum as it sends it, rounded.
 *
 * Block b is summed in the order of ranks b, b + 1, ..., whatever the order of arrival and the
 * number of segments.
 */
#include "reduction.h"
#include "ring.h"

#include <assert.h>

enum {
    RING_WINDOW = 2,      /* messages under way in each direction */
    RING_SEGMENTS = 1024, /* at most, so that moves are an int */
};

struct ring {
    struct reduction r;
    int segments;                                 /* of every block */
    int moves;                                    /* in all, in each direction */
    int receiving, folded, sending, sent;         /* moves posted, added, posted, gone */
    bool arrived[RING_WINDOW], left[RING_WINDOW]; /* by move % RING_WINDOW, out of order */
    size_t stride;                                /* of scratch, from one piece to the next */
    char scratch[] __attribute__((aligned(64)));  /* RING_WINDOW pieces; as many to be sent */
};

static const struct collective_ops ring_ops;

static struct ring *ring(struct collective *c)
{
    assert(c->ops == &ring_ops);
    return (struct ring *)c;
}

/* COMM_PIECE_BYTES is long enough that Open MPI's asking before each message does not slow the link
 * down, and short enough that adding one takes less than the next one's way, at 1 Gbit/s.
 */
static int ring_segments(const struct comm_place *p, const struct allreduce *a)
{
    size_t longest = a->n / (size_t)p->n_ranks + 1, piece = comm_limits(p).piece_bytes;
    size_t n = piece ? longest * comm_type_bytes(a->wire ? a->wire : a->type) / piece + 1 : 1;

    return n < RING_SEGMENTS ? (int)n : RING_SEGMENTS;
}

static size_t ring_stride(const struct comm_place *p, const struct allreduce *a)
{
    size_t longest = (a->n / (size_t)p->n_ranks + 1) / (size_t)ring_segments(p, a) + 1;

    return reduction_room(a, longest);
}

static size_t ring_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    return sizeof(struct ring) + (a->wire ? 2 : 1) * RING_WINDOW * ring_stride(p, a);
}

/* What this rank sends at a move (from: itself) or receives (from: its left neighbour). */
static struct comm_part ring_piece(const struct ring *g, int from, int move)
{
    int size = g->r.base.place.n_ranks;

    return reduction_segment(&g->r, size, ring_send(from, size, move / g->segments), g->segments,
                             move % g->segments);
}

static struct comm_part ring_incoming(const struct ring *g, int move)
{
    const struct comm_place *p = &g->r.base.place;

    return ring_piece(g, (p->rank + p->n_ranks - 1) % p->n_ranks, move);
}

static bool ring_adds(const struct ring *g, int move)
{
    return move < g->moves / 2;
}

/* Where a piece is received to be added, or its message is written to be sent. */
static char *ring_room(struct ring *g, int move, bool sent, const struct comm_part *p)
{
    return g->scratch + (size_t)(move % RING_WINDOW + (sent ? RING_WINDOW : 0)) * g->stride +
           reduction_pad(&g->r, p);
}

/* Where the piece of a move arrives. */
static void *ring_arrival(struct ring *g, int move, const struct comm_part *p)
{
    void *room = ring_room(g, move, false, p);

    return ring_adds(g, move) ? room : reduction_receive(&g->r, p, room);
}

static void ring_receive(struct ring *g, struct outbox *out)
{
    struct collective *c = &g->r.base;
    int move = g->receiving++, size = c->place.n_ranks;
    struct comm_part p = ring_incoming(g, move);

    g->arrived[move % RING_WINDOW] = !p.bytes;
    if (p.bytes)
        collective_post(c, COMM_RECEIVE, (c->place.rank + size - 1) % size,
                        ring_arrival(g, move, &p), reduction_message(&g->r, &p), move, out);
}

static void ring_fold(struct ring *g)
{
    int move = g->folded++;
    struct comm_part p = ring_incoming(g, move);

    if (!p.bytes)
        return;
    if (ring_adds(g, move))
        reduction_add(&g->r, &p, ring_arrival(g, move, &p));
    else
        reduction_take(&g->r, &p, ring_arrival(g, move, &p));
}

/* Whether this rank has made the sum that it sends at this move. */
static bool ring_owns(const struct ring *g, int move)
{
    return !ring_adds(g, move) && ring_adds(g, move - g->segments);
}

static void ring_pass_on(struct ring *g, struct outbox *out)
{
    struct collective *c = &g->r.base;
    int move = g->sending++;
    struct comm_part p = ring_piece(g, c->place.rank, move);
    void *data;

    g->left[move % RING_WINDOW] = !p.bytes;
    if (!p.bytes)
        return;
    data = reduction_send(&g->r, &p, ring_room(g, move, true, &p));
    if (ring_owns(g, move))
        reduction_take(&g->r, &p, data);
    collective_post(c, COMM_SEND, (c->place.rank + 1) % c->place.n_ranks, data,
                    reduction_message(&g->r, &p), move, out);
}

static bool ring_can_receive(const struct ring *g)
{
    return g->receiving < g->moves && g->receiving < g->folded + RING_WINDOW &&
           (ring_adds(g, g->receiving) || g->sent > g->receiving - g->moves / 2);
}

static bool ring_can_send(const struct ring *g)
{
    return g->sending < g->moves && g->sending < g->sent + RING_WINDOW &&
           g->folded + g->segments > g->sending;
}

/* Do all that is possible.  Returns 1 at the end. */
static int ring_go(struct ring *g, struct outbox *out)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (; g->folded < g->receiving && g->arrived[g->folded % RING_WINDOW]; moved = true)
            ring_fold(g);
        for (; g->sent < g->sending && g->left[g->sent % RING_WINDOW]; moved = true)
            g->sent++;
        for (; ring_can_receive(g); moved = true)
            ring_receive(g, out);
        for (; ring_can_send(g); moved = true)
            ring_pass_on(g, out);
    }
    return g->folded == g->moves && g->sent == g->moves;
}

static int ring_start(struct collective *c, struct outbox *out)
{
    struct ring *g = ring(c);

    g->segments = ring_segments(&c->place, &g->r.what);
    g->stride = ring_stride(&c->place, &g->r.what);
    g->moves = ring_steps(c->place.n_ranks) * g->segments;
    g->receiving = g->folded = g->sending = g->sent = 0;
    return ring_go(g, out);
}

static int ring_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct ring *g = ring(c);

    *(op->kind == COMM_RECEIVE ? &g->arrived[op->part % RING_WINDOW]
                               : &g->left[op->part % RING_WINDOW]) = true;
    return ring_go(g, out);
}

/* When one rank has not started, its right neighbour stands at step 0, the next at step 1, ...;
 * so the step says who is missing.  Once all have contributed it is the neighbour.
 */
static int ring_waits_for(const struct collective *c)
{
    const struct ring *g = (const struct ring *)c;
    int size = c->place.n_ranks;
    int back = ring_adds(g, g->folded) ? g->folded / g->segments + 1 : 1;

    if (g->folded == g->receiving)
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
