/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_tree.c - reduce along a binomial tree to rank 0 and back, for small buffers, many ranks
 *
 * Rank r's children are r + 1, r + 2, r + 4, ... below its lowest set bit.  A parent receives from
 * them one after the other, so that the order of additions is fixed.  It takes 2 log2(n) steps and
 * 2 (n - 1) messages.
 */
#include "reduction.h"

/* Receiving from children; sent to the parent; sending the result to children. */
enum tree_state { TREE_UP, TREE_SENT_UP, TREE_DOWN };

/* One rank's part of an all-reduce of this kind. */
struct tree {
    struct reduction r;
    enum tree_state state;
    int mask;                                    /* TREE_UP: rank + mask is the child waited for */
    int pending;                                 /* operations under way */
    char scratch[] __attribute__((aligned(64))); /* a buffer to receive, then one to send */
};

/* Return the size of an instance in bytes, with its buffers. */
static size_t tree_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    return sizeof(struct tree) + (a->wire ? 2 : 1) * reduction_room(a, a->n);
}

/* Borrow the buffer for a message that is received; or if `sent`, that is sent in half precision.
 */
static char *tree_room(struct tree *t, bool sent)
{
    struct comm_part all = reduction_whole(&t->r);

    return t->scratch + (sent ? reduction_room(&t->r.what, t->r.what.n) : 0) +
           reduction_pad(&t->r, &all);
}

/* Post a receive from a member, or a send to it, of all data and count it as pending. */
static void tree_post(struct tree *t, enum comm_kind kind, int member, void *data,
                      struct outbox *out)
{
    struct comm_part all = reduction_whole(&t->r);

    collective_post(&t->r.base, kind, member, data, reduction_message(&t->r, &all), 0, out);
    t->pending++;
}

/* Return the first power of two above all children of rank: its lowest set bit, or n rounded up for
 * rank 0.
 */
static int tree_span(int rank, int n)
{
    int span = 1;

    while (span < n && !(rank & span))
        span <<= 1;
    return span;
}

/* Send the result to the children, the largest subtree first.  Rank 0 also keeps it in the data as
 * it is sent.  Return 1 if there are no children, else 0.
 */
static int tree_go_down(struct tree *t, struct outbox *out)
{
    struct collective *c = &t->r.base;
    int rank = c->place.rank, n = c->place.n_ranks;
    struct comm_part all = reduction_whole(&t->r);
    void *data = NULL;

    t->state = TREE_DOWN;
    for (int mask = tree_span(rank, n) >> 1; mask; mask >>= 1) {
        if (rank + mask >= n)
            continue;
        if (!data)
            data = reduction_send(&t->r, &all, tree_room(t, true));
        tree_post(t, COMM_SEND, rank + mask, data, out);
    }
    if (rank == 0 && data)
        reduction_take(&t->r, &all, data); /* as the other ranks receive it */
    return t->pending == 0;
}

/* Receive the next child's sum; if there is none, send the sum to the parent, or on rank 0 the
 * result to the children.  Return 1 if the all-reduce is over, else 0.
 */
static int tree_go_up(struct tree *t, struct outbox *out)
{
    struct collective *c = &t->r.base;
    int rank = c->place.rank, n = c->place.n_ranks, span = tree_span(rank, n);
    struct comm_part all = reduction_whole(&t->r);

    if (t->mask < span && rank + t->mask < n) {
        tree_post(t, COMM_RECEIVE, rank + t->mask, tree_room(t, false), out);
        return 0;
    }
    if (rank == 0)
        return tree_go_down(t, out);
    t->state = TREE_SENT_UP;
    tree_post(t, COMM_SEND, rank - span, reduction_send(&t->r, &all, tree_room(t, true)), out);
    return 0;
}

/* Begin to receive from the children.  Return 1 if the all-reduce is over already, else 0. */
static int tree_start(struct collective *c, struct outbox *out)
{
    struct tree *t = (struct tree *)c;

    if (!t->r.bytes)
        return 1;
    t->state = TREE_UP;
    t->mask = 1;
    t->pending = 0;
    return tree_go_up(t, out);
}

/* Continue after a completed operation: add a child's sum, or pass the result on to the children.
 * Return 1 if the all-reduce is over, else 0.
 */
static int tree_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct tree *t = (struct tree *)c;
    struct comm_part all = reduction_whole(&t->r);

    t->pending--;
    switch (t->state) {
    case TREE_UP:
        reduction_add(&t->r, &all, tree_room(t, false));
        t->mask <<= 1;
        return tree_go_up(t, out);
    case TREE_SENT_UP:
        if (op->kind == COMM_RECEIVE) {
            reduction_take(&t->r, &all, op->data);
            return tree_go_down(t, out);
        }
        /* Only now may the result be received into the buffer, as the send has released it. */
        tree_post(t, COMM_RECEIVE, op->member, reduction_receive(&t->r, &all, tree_room(t, false)),
                  out);
        return 0;
    case TREE_DOWN:
        break;
    }
    return t->pending == 0;
}

/* Return the member that is waited for: a child, or the parent. */
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
