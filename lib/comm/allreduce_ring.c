/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_ring.c - reduce-scatter and all-gather around a ring, for large buffers
 *
 * In every step a rank sends one block to the right and receives another from the left, as given by
 * ring.h.  A large block travels in segments, so that one is added while others are in transit:
 *
 *     move         0      1      2      3      4      5    ...       (two segments a block)
 *     step         0      0      1      1      2      2
 *     receive   |  posted early, into scratch; in the second half into the data
 *     add          |  in order: a block received in one step is sent in the next
 *     send      |  |
 *
 * Move i is segment i % segments of step i / segments.  ring_go does all of the following that have
 * become possible, each strictly in the order of moves, with a window of them under way:
 *     receive i   into a free buffer of scratch, or in the copying half into the block, which must
 *                 have been sent before (that was size - 1 steps ago)
 *     fold i      add the received segment to the block, or copy it
 *     send i      the own block in step 0, else the segment folded one step before
 * Empty segments are not sent.  The trailer is part of the last block's last segment.
 *
 * If elements travel in half precision, all messages are received into scratch and sent from it.
 * The rank that added a block's last contribution keeps the sum as it sends it, rounded.
 *
 * Block b is summed in the order of ranks b, b + 1, ..., whatever the order of arrival and the
 * number of segments.
 */
#include "reduction.h"
#include "ring.h"

enum {
    RING_WINDOW = 2,      /* messages under way in each direction */
    RING_SEGMENTS = 1024, /* at most, so that the number of moves fits an int */
};

/* One rank's part of an all-reduce of this kind. */
struct ring {
    struct reduction r;
    int segments; /* segments of every block */
    int moves;    /* total moves in each direction */
    /* number of moves: receive posted, folded, send posted, send complete */
    int receiving, folded, sending, sent;
    /* of move i, at i % RING_WINDOW: its receive, its send is complete; they complete out of order
     */
    bool arrived[RING_WINDOW], left[RING_WINDOW];
    size_t stride; /* bytes from one buffer of scratch to the next */
    /* RING_WINDOW buffers to receive; in half precision as many to send */
    char scratch[] __attribute__((aligned(64)));
};

/* Return the number of segments of a block, each of about piece_bytes bytes.  COMM_PIECE_BYTES is
 * large enough that Open MPI's handshake before each message does not slow the link.  It is small
 * enough that adding a segment takes less time than the next one's transfer at 1 Gbit/s.
 */
static int ring_segments(const struct comm_place *p, const struct allreduce *a)
{
    size_t longest = a->n / (size_t)p->n_ranks + 1, piece = comm_limits(p).piece_bytes;
    size_t n = piece ? longest * comm_type_bytes(a->wire ? a->wire : a->type) / piece + 1 : 1;

    return n < RING_SEGMENTS ? (int)n : RING_SEGMENTS;
}

/* Return the size in bytes of a buffer of scratch, which holds the longest segment. */
static size_t ring_stride(const struct comm_place *p, const struct allreduce *a)
{
    size_t longest = (a->n / (size_t)p->n_ranks + 1) / (size_t)ring_segments(p, a) + 1;

    return reduction_room(a, longest);
}

/* Return the size of a struct ring in bytes, with its scratch buffers. */
static size_t ring_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    return sizeof(struct ring) + (a->wire ? 2 : 1) * RING_WINDOW * ring_stride(p, a);
}

/* Return the segment that rank `from` sends in a move. */
static struct comm_part ring_piece(const struct ring *g, int from, int move)
{
    int size = g->r.base.place.n_ranks;

    return reduction_segment(&g->r, size, ring_send(from, size, move / g->segments), g->segments,
                             move % g->segments);
}

/* Return the segment that this rank receives in a move, from its left neighbour. */
static struct comm_part ring_incoming(const struct ring *g, int move)
{
    const struct comm_place *p = &g->r.base.place;

    return ring_piece(g, (p->rank + p->n_ranks - 1) % p->n_ranks, move);
}

/* Return true if a move adds what is received (reduce-scatter), false if it copies (all-gather). */
static bool ring_adds(const struct ring *g, int move)
{
    return move < g->moves / 2;
}

/* Borrow the scratch buffer for segment p of a move: that in which it is received, or if `sent`
 * that from which it is sent.
 */
static char *ring_room(struct ring *g, int move, bool sent, const struct comm_part *p)
{
    return g->scratch + (size_t)(move % RING_WINDOW + (sent ? RING_WINDOW : 0)) * g->stride +
           reduction_pad(&g->r, p);
}

/* Borrow the memory in which segment p of a move arrives: scratch, or the data itself. */
static void *ring_arrival(struct ring *g, int move, const struct comm_part *p)
{
    void *room = ring_room(g, move, false, p);

    return ring_adds(g, move) ? room : reduction_receive(&g->r, p, room);
}

/* Post the receive of the next move; an empty segment counts as arrived. */
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

/* Add the segment received in move g->folded to the data, or in the second half copy it. */
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

/* Check whether the segment that this rank sends in this move is a sum that this rank completed. */
static bool ring_owns(const struct ring *g, int move)
{
    return !ring_adds(g, move) && ring_adds(g, move - g->segments);
}

/* Post the send of the next move; an empty segment counts as sent.  If this rank completed the sum,
 * keep it in the data as it is sent.
 */
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

/* Check whether the next receive may be posted: it has a free buffer, and in the copying half the
 * block that it replaces was sent.
 */
static bool ring_can_receive(const struct ring *g)
{
    return g->receiving < g->moves && g->receiving < g->folded + RING_WINDOW &&
           (ring_adds(g, g->receiving) || g->sent > g->receiving - g->moves / 2);
}

/* Check whether the next send may be posted: it is within the window, and its segment was added or
 * copied before.
 */
static bool ring_can_send(const struct ring *g)
{
    return g->sending < g->moves && g->sending < g->sent + RING_WINDOW &&
           g->folded + g->segments > g->sending;
}

/* Add or copy (fold) received segments, and post receives and sends, as far as possible.  Return 1
 * if the all-reduce is over, else 0.
 */
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

/* Compute the segments and the number of moves, and begin.  Return as ring_go. */
static int ring_start(struct collective *c, struct outbox *out)
{
    struct ring *g = (struct ring *)c;

    g->segments = ring_segments(&c->place, &g->r.what);
    g->stride = ring_stride(&c->place, &g->r.what);
    g->moves = ring_steps(c->place.n_ranks) * g->segments;
    g->receiving = g->folded = g->sending = g->sent = 0;
    return ring_go(g, out);
}

/* Mark a move's receive or send as complete and continue.  Return as ring_go. */
static int ring_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct ring *g = (struct ring *)c;

    *(op->kind == COMM_RECEIVE ? &g->arrived[op->part % RING_WINDOW]
                               : &g->left[op->part % RING_WINDOW]) = true;
    return ring_go(g, out);
}

/* Return the member that is missing.  If one rank has not started, its right neighbour stops in
 * step 0, the next one in step 1, ..., so the step shows who is missing.  Once all have contributed
 * it is the left neighbour; or the right one, if that does not receive.
 */
static int ring_waits_for(const struct collective *c)
{
    const struct ring *g = (const struct ring *)c;
    int size = c->place.n_ranks;
    int back = ring_adds(g, g->folded) ? g->folded / g->segments + 1 : 1;

    if (g->folded == g->receiving)
        return (c->place.rank + 1) % size; /* this member does not receive */
    return (c->place.rank - back + size) % size;
}

static const struct collective_ops ring_ops = {
    .name = "ring",
    .start = ring_start,
    .done = ring_done,
    .waits_for = ring_waits_for,
};

const struct allreduce_kind allreduce_ring = { &ring_ops, ring_instance_bytes };
