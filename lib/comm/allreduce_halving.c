/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_halving.c - reduce-scatter by recursive halving, all-gather by recursive doubling, for
 * buffers too small for the delays of a ring's many steps
 *
 * After R. Rabenseifner, "Optimization of Collective Reduction Operations" (ICCS 2004).  The first
 * 2^k ranks, with the largest possible k, are the core and reduce among themselves.  Each other
 * rank, an extra rank, first sends all its data to the rank 2^k below it, and receives the result
 * from there:
 *
 *     step           partner            example: rank 5 (binary 101) of 8 ranks, 8 blocks
 *     0              the extra rank     -
 *     1 .. k         rank ^ 2^(k-step)  adds blocks 4-7, 4-5 and 5 of ranks 1, 7 and 4, and sends
 *                                       them its blocks 0-3, 6-7 and 4
 *     k+1 .. 2k      the same, back     sends 4, 7 and 1 its sums of blocks 5, 4-5 and 4-7, and
 *                                       receives their sums of 4, 6-7 and 0-3
 *     2k+1           the extra rank     -
 *
 * That takes 2 log2(n) steps instead of 2 (n - 1), and as many bytes as a ring if n is a power of
 * two.  Every element is summed on one rank, in an order that depends on ranks alone.
 *
 * Data to be added may arrive from the start.  A result is received into the memory from which the
 * same forward step sent, so its receive is posted once that send is complete.
 *
 * If elements travel in half precision, a step has two buffers of scratch.  One holds the data that
 * it adds, and later the result that it sends back.  The other holds the data that it sends, and
 * later the result that comes back.  The rank that sums a block rounds it, as the others receive
 * it.
 */
#include "reduction.h"

enum { HALVING_MAX_STEPS = 64 };

/* One rank's part of an all-reduce of this kind. */
struct halving {
    struct reduction r;
    int core;                       /* 2^k */
    int steps;                      /* 2k + 2 */
    int receiving, folded, sending; /* number of steps: receive posted, folded, send posted */
    /* of each step: its receive, its send is complete */
    bool arrived[HALVING_MAX_STEPS], left[HALVING_MAX_STEPS];
    char scratch[] __attribute__((aligned(64))); /* buffers of steps 0 .. k, see halving_scratch */
};

/* Return the largest power of two that is at most n_ranks. */
static int halving_core(int n_ranks)
{
    int core = 1;

    while (core <= n_ranks / 2)
        core *= 2;
    return core;
}

/* Return the bytes of a buffer for a message of this many blocks.  There are `core` blocks. */
static size_t halving_room(const struct allreduce *a, int core, int blocks)
{
    return reduction_room(a, (a->n / (size_t)core + 1) * (size_t)blocks);
}

/* Return the size of a struct halving in bytes, with the buffers of all steps. */
static size_t halving_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    size_t bytes = 0, all = reduction_room(a, a->n);
    int core = halving_core(p->n_ranks);

    for (int blocks = core / 2; blocks; blocks /= 2)
        bytes += halving_room(a, core, blocks);
    if (a->wire)
        bytes = 2 * bytes + (p->n_ranks > core ? all : 0);
    return sizeof(struct halving) + (p->n_ranks > core && all > bytes ? all : bytes);
}

/* Check whether a step is a forward one, which adds received data; false: a step back, which
 * copies.
 */
static bool halving_adds(const struct halving *h, int step)
{
    return step < h->steps / 2;
}

/* Return the number of blocks that a core rank still has to sum after a forward step; in a step
 * back, the number of blocks that it has and sends.
 */
static int halving_blocks(const struct halving *h, int step)
{
    int forward = halving_adds(h, step) ? step : h->steps - 1 - step;

    return h->core >> forward;
}

/* Return the rank with which this rank exchanges in a step; -1: none. */
static int halving_partner(const struct halving *h, int step)
{
    const struct comm_place *p = &h->r.base.place;
    bool outer = step == 0 || step == h->steps - 1, guest = p->rank >= h->core;

    if (outer)
        return guest ? p->rank - h->core : p->rank + h->core < p->n_ranks ? p->rank + h->core : -1;
    return guest ? -1 : p->rank ^ halving_blocks(h, step);
}

/* Return the blocks that `member` keeps in a forward step, or sends in the matching step back. */
static struct comm_part halving_kept(const struct halving *h, int member, int step)
{
    int blocks = halving_blocks(h, step), first;

    if (step == 0 || step == h->steps - 1)
        return reduction_blocks(&h->r, h->core, 0, member < h->core ? h->core : 0);
    first = member & ~(blocks - 1);
    return reduction_blocks(&h->r, h->core, first, first + blocks);
}

/* Return the range of data that this rank receives in a step, or sends if `receive` is false; empty
 * if it has no partner.
 */
static struct comm_part halving_part(const struct halving *h, int step, bool receive)
{
    int rank = h->r.base.place.rank, partner = halving_partner(h, step);

    if (partner < 0)
        return (struct comm_part){ 0 };
    return halving_kept(h, receive == halving_adds(h, step) ? rank : partner, step);
}

/* Borrow the buffer for the message of range p that a step receives or sends.  The buffer of step 0
 * overlaps those of other steps.  In half precision it lies before them, since it is sent back
 * while messages of other steps are still being sent.
 */
static char *halving_scratch(struct halving *h, int step, bool receive, const struct comm_part *p)
{
    const struct allreduce *a = &h->r.what;
    bool narrows = reduction_uses_half(&h->r), added = receive == halving_adds(h, step);
    int forward = halving_adds(h, step) ? step : h->steps - 1 - step;
    char *at = h->scratch + reduction_pad(&h->r, p);

    if (forward == 0)
        return at;
    if (narrows && h->r.base.place.n_ranks > h->core)
        at += reduction_room(a, a->n);
    for (int before = 1; before < forward; before++)
        at += (narrows ? 2 : 1) * halving_room(a, h->core, h->core >> before);
    return at + (narrows && !added ? halving_room(a, h->core, h->core >> forward) : 0);
}

/* Borrow the memory in which the message of range p arrives in a step: scratch, or the data itself.
 */
static void *halving_arrival(struct halving *h, int step, const struct comm_part *p)
{
    void *room = halving_scratch(h, step, true, p);

    return halving_adds(h, step) ? room : reduction_receive(&h->r, p, room);
}

/* Post the receive of the next step; an empty message counts as arrived. */
static void halving_receive(struct halving *h, struct outbox *out)
{
    int step = h->receiving++;
    struct comm_part p = halving_part(h, step, true);

    h->arrived[step] = !p.bytes;
    if (p.bytes)
        collective_post(&h->r.base, COMM_RECEIVE, halving_partner(h, step),
                        halving_arrival(h, step, &p), reduction_message(&h->r, &p), step, out);
}

/* Post the send of the next step; an empty message counts as sent. */
static void halving_send(struct halving *h, struct outbox *out)
{
    int step = h->sending++;
    struct comm_part p = halving_part(h, step, false);

    h->left[step] = !p.bytes;
    if (p.bytes)
        collective_post(&h->r.base, COMM_SEND, halving_partner(h, step),
                        reduction_send(&h->r, &p, halving_scratch(h, step, false, &p)),
                        reduction_message(&h->r, &p), step, out);
}

/* Add the message received in step h->folded to the data, or in a step back copy it.  The last
 * addition also rounds the sum as it will be sent.
 */
static void halving_fold(struct halving *h)
{
    int step = h->folded++;
    struct comm_part p = halving_part(h, step, true);
    void *arrival = halving_arrival(h, step, &p);

    if (!p.bytes)
        return;
    if (!halving_adds(h, step)) {
        reduction_take(&h->r, &p, arrival);
        return;
    }
    reduction_add(&h->r, &p, arrival);
    if (!halving_adds(h, step + 1)) /* the last addition: the sum is complete */
        reduction_round(&h->r, &p, arrival);
}

/* Check whether the next receive may be posted.  Step 0 shares its buffer with other steps, which
 * must wait until its message is added.  A step back needs the memory from which the forward step
 * has sent.
 */
static bool halving_can_receive(const struct halving *h)
{
    int step = h->receiving;

    return step < h->steps && (step == 0 || h->folded > 0) &&
           (halving_adds(h, step) || h->left[h->steps - 1 - step]);
}

/* Check whether the sends of all steps are complete. */
static bool halving_all_left(const struct halving *h)
{
    for (int step = 0; step < h->steps; step++)
        if (!h->left[step])
            return false;
    return true;
}

/* Add or copy (fold) received messages, and post receives and sends, as far as possible.  Return 1
 * if the all-reduce is over, else 0.
 */
static int halving_go(struct halving *h, struct outbox *out)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (; h->folded < h->receiving && h->arrived[h->folded]; moved = true)
            halving_fold(h);
        for (; halving_can_receive(h); moved = true)
            halving_receive(h, out);
        for (; h->sending < h->steps && h->sending <= h->folded; moved = true)
            halving_send(h, out);
    }
    return h->folded == h->steps && halving_all_left(h);
}

/* Compute the core and the number of steps, and begin.  Return as halving_go. */
static int halving_start(struct collective *c, struct outbox *out)
{
    struct halving *h = (struct halving *)c;

    h->core = halving_core(c->place.n_ranks);
    h->steps = 2;
    for (int core = h->core; core > 1; core /= 2)
        h->steps += 2;
    h->receiving = h->folded = h->sending = 0;
    for (int step = 0; step < h->steps; step++)
        h->arrived[step] = h->left[step] = false;
    return halving_go(h, out);
}

/* Mark a step's receive or send as complete and continue.  Return as halving_go. */
static int halving_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct halving *h = (struct halving *)c;

    *(op->kind == COMM_RECEIVE ? &h->arrived[op->part] : &h->left[op->part]) = true;
    return halving_go(h, out);
}

/* Return the member whose message is the next to be added or copied; if no receive is under way, a
 * member that does not receive.
 */
static int halving_waits_for(const struct collective *c)
{
    const struct halving *h = (const struct halving *)c;

    if (h->folded < h->receiving)
        return halving_partner(h, h->folded);
    for (int step = 0; step < h->sending; step++)
        if (!h->left[step])
            return halving_partner(h, step); /* this member does not receive */
    return (c->place.rank + 1) % c->place.n_ranks;
}

static const struct collective_ops halving_ops = {
    .name = "halving",
    .start = halving_start,
    .done = halving_done,
    .waits_for = halving_waits_for,
};

const struct allreduce_kind allreduce_halving = { &halving_ops, halving_instance_bytes };
