/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_halving.c - reduce-scatter by recursive halving, all-gather by recursive doubling, for
 * buffers of which each of a ring's many steps would have its delay
 *
 * After R. Rabenseifner, "Optimization of Collective Reduction Operations" (ICCS 2004).  The first
 * 2^k ranks, as many as there are, reduce among themselves; each of the others, a guest, first
 * gives all it has to the rank 2^k below it, and has the result from there:
 *
 *     step           with               of 8 ranks and 8 blocks, rank 5 (binary 101)
 *     0              the guest          -
 *     1 .. k         rank ^ 2^(k-step)  adds what 1, 7 and 4 have of blocks 4-7, 4-5 and 5, and
 *                                       gives them its 0-3, 6-7 and 4
 *     k+1 .. 2k      the same, back     gives 4, 7 and 1 its sums of blocks 5, 4-5 and 4-7, for
 *                                       theirs of 4, 6-7 and 0-3
 *     2k+1           the guest          -
 *
 * That is 2 log2(n) steps instead of 2 (n - 1), and as many bytes as a ring where n is a power of
 * two.  Every element is added up on one rank, in an order that depends on ranks alone.
 *
 * All that will be added may arrive from the start; what comes back goes where the same step
 * forward sent from, so it may arrive once that has left.
 *
 * Where messages are narrower than the data a step has two rooms of scratch: one for what it adds,
 * which is sent back from there, and one for what it sends, which comes back to there.  The rank
 * that has a block's sum takes it rounded, as the others will have it.
 */
#include "reduction.h"

#include <assert.h>

enum { HALVING_MAX_STEPS = 64 };

struct halving {
    struct reduction r;
    int core;                       /* 2^k */
    int steps;                      /* 2k + 2 */
    int receiving, folded, sending; /* steps posted, added, posted */
    bool arrived[HALVING_MAX_STEPS], left[HALVING_MAX_STEPS];
    char scratch[] __attribute__((aligned(64))); /* of step 0 and of steps 1 .. k, see below */
};

static const struct collective_ops halving_ops;

static struct halving *halving(struct collective *c)
{
    assert(c->ops == &halving_ops);
    return (struct halving *)c;
}

static int halving_core(int n_ranks)
{
    int core = 1;

    while (core <= n_ranks / 2)
        core *= 2;
    return core;
}

/* Bytes that these blocks are received in. */
static size_t halving_room(const struct allreduce *a, int core, int blocks)
{
    return reduction_room(a, (a->n / (size_t)core + 1) * (size_t)blocks);
}

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

static bool halving_adds(const struct halving *h, int step)
{
    return step < h->steps / 2;
}

/* Of the core, the blocks that are halved to at a step forward, or doubled from at one back. */
static int halving_blocks(const struct halving *h, int step)
{
    int forward = halving_adds(h, step) ? step : h->steps - 1 - step;

    return h->core >> forward;
}

/* With whom, or -1. */
static int halving_partner(const struct halving *h, int step)
{
    const struct comm_place *p = &h->r.base.place;
    bool outer = step == 0 || step == h->steps - 1, guest = p->rank >= h->core;

    if (outer)
        return guest ? p->rank - h->core : p->rank + h->core < p->n_ranks ? p->rank + h->core : -1;
    return guest ? -1 : p->rank ^ halving_blocks(h, step);
}

/* What a step forward leaves this member to add up; what a step back has from it. */
static struct comm_part halving_kept(const struct halving *h, int member, int step)
{
    int blocks = halving_blocks(h, step), first;

    if (step == 0 || step == h->steps - 1)
        return reduction_blocks(&h->r, h->core, 0, member < h->core ? h->core : 0);
    first = member & ~(blocks - 1);
    return reduction_blocks(&h->r, h->core, first, first + blocks);
}

/* What this rank receives or sends; nothing where there is no partner. */
static struct comm_part halving_part(const struct halving *h, int step, bool receive)
{
    int rank = h->r.base.place.rank, partner = halving_partner(h, step);

    if (partner < 0)
        return (struct comm_part){ 0 };
    return halving_kept(h, receive == halving_adds(h, step) ? rank : partner, step);
}

/* A message's room.  What step 0 adds may lie where the other steps will add; when it narrows it
 * lies before them, since it is sent back from there while they still send.
 */
static char *halving_scratch(struct halving *h, int step, bool receive, const struct comm_part *p)
{
    const struct allreduce *a = &h->r.what;
    bool narrows = reduction_narrows(&h->r), added = receive == halving_adds(h, step);
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

/* Where what this rank receives arrives. */
static void *halving_arrival(struct halving *h, int step, const struct comm_part *p)
{
    void *room = halving_scratch(h, step, true, p);

    return halving_adds(h, step) ? room : reduction_receive(&h->r, p, room);
}

static void halving_receive(struct halving *h, struct outbox *out)
{
    int step = h->receiving++;
    struct comm_part p = halving_part(h, step, true);

    h->arrived[step] = !p.bytes;
    if (p.bytes)
        collective_post(&h->r.base, COMM_RECEIVE, halving_partner(h, step),
                        halving_arrival(h, step, &p), reduction_message(&h->r, &p), step, out);
}

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
    if (!halving_adds(h, step + 1)) /* the last: it is a sum of all */
        reduction_round(&h->r, &p, arrival);
}

/* What is added at step 0 has the others' scratch; what comes back needs its place. */
static bool halving_can_receive(const struct halving *h)
{
    int step = h->receiving;

    return step < h->steps && (step == 0 || h->folded > 0) &&
           (halving_adds(h, step) || h->left[h->steps - 1 - step]);
}

static bool halving_all_left(const struct halving *h)
{
    for (int step = 0; step < h->steps; step++)
        if (!h->left[step])
            return false;
    return true;
}

/* Do all that is possible.  Returns 1 at the end. */
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

static int halving_start(struct collective *c, struct outbox *out)
{
    struct halving *h = halving(c);

    h->core = halving_core(c->place.n_ranks);
    h->steps = 2;
    for (int core = h->core; core > 1; core /= 2)
        h->steps += 2;
    h->receiving = h->folded = h->sending = 0;
    for (int step = 0; step < h->steps; step++)
        h->arrived[step] = h->left[step] = false;
    return halving_go(h, out);
}

static int halving_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct halving *h = halving(c);

    *(op->kind == COMM_RECEIVE ? &h->arrived[op->part] : &h->left[op->part]) = true;
    return halving_go(h, out);
}

static int halving_waits_for(const struct collective *c)
{
    const struct halving *h = (const struct halving *)c;

    if (h->folded < h->receiving)
        return halving_partner(h, h->folded);
    for (int step = 0; step < h->sending; step++)
        if (!h->left[step])
            return halving_partner(h, step); /* it does not take what is sent */
    return (c->place.rank + 1) % c->place.n_ranks;
}

static const struct collective_ops halving_ops = {
    .name = "halving",
    .start = halving_start,
    .done = halving_done,
    .waits_for = halving_waits_for,
};

const struct allreduce_kind allreduce_halving = { &halving_ops, halving_instance_bytes };
