/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_tree.c - reduce along a binomial tree to rank 0 and back, for small buffers of many
 *
 * Rank r's children are r + 1, r + 2, r + 4, ... below its lowest set bit.  A parent takes them
 * one after the other, so that the order of additions is fixed.  2 log2(n) steps, 2 (n - 1)
 * messages in all.
 */
#include "reduction.h"

#include <assert.h>

enum tree_state { TREE_UP, TREE_SENT_UP, TREE_DOWN };

struct tree {
    struct reduction r;
    enum tree_state state;
    int mask;    /* TREE_UP: the child waited for is rank + mask */
    int pending; /* operations under way */
    char scratch[] __attribute__((aligned(64)));
};

static const struct collective_ops tree_ops;

static struct tree *tree(struct collective *c)
{
    assert(c->ops == &tree_ops);
    return (struct tree *)c;
}

static size_t tree_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    (void)p;
    return sizeof(struct tree) + a->n * comm_type_bytes(a->type) + a->tail_bytes;
}

/* First power of two above all children of rank: its lowest set bit, or n rounded up for 0. */
static int tree_span(int rank, int n)
{
    int span = 1;

    while (span < n && !(rank & span))
        span <<= 1;
    return span;
}

/* Pass the result to the children, the largest subtree first.  Returns 1 without children. */
static int tree_go_down(struct tree *t, struct outbox *out)
{
    struct collective *c = &t->r.base;
    int rank = c->place.rank, n = c->place.n_ranks;

    t->state = TREE_DOWN;
    for (int mask = tree_span(rank, n) >> 1; mask; mask >>= 1) {
        if (rank + mask >= n)
            continue;
        collective_post(c, COMM_SEND, rank + mask, t->r.what.data, t->r.bytes, 0, out);
        t->pending++;
    }
    return t->pending == 0;
}

/* Take the next child's sum, or when there is none send up. */
static int tree_go_up(struct tree *t, struct outbox *out)
{
    struct collective *c = &t->r.base;
    int rank = c->place.rank, n = c->place.n_ranks, span = tree_span(rank, n);

    if (t->mask < span && rank + t->mask < n) {
        collective_post(c, COMM_RECEIVE, rank + t->mask, t->scratch, t->r.bytes, 0, out);
        t->pending++;
        return 0;
    }
    if (rank == 0)
        return tree_go_down(t, out);
    t->state = TREE_SENT_UP;
    collective_post(c, COMM_SEND, rank - span, t->r.what.data, t->r.bytes, 0, out);
    t->pending++;
    return 0;
}

static int tree_start(struct collective *c, struct outbox *out)
{
    struct tree *t = tree(c);

    if (!t->r.bytes)
        return 1;
    t->state = TREE_UP;
    t->mask = 1;
    t->pending = 0;
    return tree_go_up(t, out);
}

static int tree_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct tree *t = tree(c);

    t->pending--;
    switch (t->state) {
    case TREE_UP:
        reduction_add(&t->r, t->r.what.data, t->scratch);
        t->mask <<= 1;
        return tree_go_up(t, out);
    case TREE_SENT_UP:
        if (op->kind == COMM_RECEIVE)
            return tree_go_down(t, out);
        /* Only now, when the send has let go of the buffer, may the result be put there. */
        collective_post(c, COMM_RECEIVE, op->member, t->r.what.data, t->r.bytes, 0, out);
        t->pending++;
        return 0;
    case TREE_DOWN:
        break;
    }
    return t->pending == 0;
}

static int tree_waits_for(const struct collective *c)
{
    const struct tree *t = (const struct tree *)c;
    int rank = c->place.rank, span = tree_span(rank, c->place.n_ranks);

    switch (t->state) {
    case TREE_UP:
        return rank + t->mask;
    case TREE_SENT_UP:
        return rank - span;
    case TREE_DOWN:
        break;
    }
    return rank + 1;
}

static const struct collective_ops tree_ops = {
    .name = "tree",
    .start = tree_start,
    .done = tree_done,
    .waits_for = tree_waits_for,
};

const struct allreduce_kind allreduce_tree = { &tree_ops, tree_instance_bytes };
