/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_shared.c - all-reduce of ranks that share memory with the other ranks of their node
 *
 * Two kinds in one file.  "shared": all members are on one node.  "hosts": on several.  This file
 * only controls the order of the two stages:
 *
 *     every rank of a node     reduce piece i     (node_stage.h)
 *     the first rank           sum piece i between the nodes (between_stage.h), publish it
 *     every rank of a node     take piece i
 *
 * On one node there is no second stage: the node's stage publishes its sums itself, in place as one
 * piece.  With several nodes the data in place is cut into several pieces, so that some travel
 * while the next is reduced.
 */
#include "between_stage.h"
#include "node_groups.h"
#include "node_stage.h"
#include "reduction.h"

#include <errno.h>

/* Bytes summed in one poll at most, so that other messages do not wait long. */
enum { POLL_BYTES = 2 << 20 };

/* One rank's part of an all-reduce of either kind. */
struct shared {
    struct reduction r;
    const struct node_groups *nodes;
    struct node_stage node;
    struct between_stage between; /* on the node's first rank, if there are several nodes */
    uint64_t passed; /* on a first rank: number of pieces whose sum between nodes was started */
    const void *scratch[]; /* [n_here], for the node's stage */
};

/* Return the size of an instance in bytes, with scratch for the node's stage. */
static size_t shared_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    return sizeof(struct shared) + (size_t)p->n_ranks * sizeof(const void *);
}

/* Check whether this rank sums between nodes: there are several, and it is the first rank of its
 * node.
 */
static bool is_between(const struct shared *s)
{
    return s->nodes->n > 1 && s->nodes->here == 0;
}

/* Return the size in memory of a piece of data in place whose messages between nodes have
 * stage_bytes.
 */
static size_t stage_bytes(const struct comm_place *firsts, const struct allreduce *a)
{
    size_t travels = comm_type_bytes(a->wire ? a->wire : a->type);

    return comm_limits(firsts).stage_bytes * (comm_type_bytes(a->type) / travels);
}

/* Prepare the node's stage, and on a first rank of several nodes the stage between nodes.  -EINVAL:
 * the ranks share no memory; other failures as node_stage_init and between_stage_init.
 */
static int shared_prepare(struct reduction *r, struct eddis_error *err)
{
    struct shared *s = (struct shared *)r;
    const struct comm_place *p = &r->base.place;
    struct comm_place firsts;
    int rc;

    if (!p->nodes || !p->nodes->shm)
        return eddis_fail(err, -EINVAL, "these ranks share no memory");
    s->nodes = p->nodes;
    if (p->n_ranks == 1)
        return 0; /* over as soon as it is started */
    firsts = node_groups_firsts(s->nodes, p->channel);
    firsts.limits = p->limits;
    const struct node_stage_options node = {
        .what = &r->what,
        .shm = s->nodes->shm,
        .here = s->nodes->here,
        .n_here = s->nodes->n_here,
        .in_place_bytes = firsts.n_ranks > 1 ? stage_bytes(&firsts, &r->what) : SIZE_MAX,
        .publishes = s->nodes->n == 1,
        .replaces = comm_shm_replaces(s->nodes->shm, s->nodes->n),
        .scratch = s->scratch
    };

    rc = node_stage_init(&s->node, &node, err);
    if (rc < 0 || !is_between(s))
        return rc;
    const struct between_stage_options between = { .place = firsts,
                                                   .what = &r->what,
                                                   .piece_n = s->node.piece_n,
                                                   .n_pieces = s->node.n_pieces,
                                                   .owner = &r->base };

    return between_stage_init(&s->between, &between, err);
}

/* Free the collectives between nodes and give back the node's slots. */
static void shared_fini(struct collective *c)
{
    struct shared *s = (struct shared *)c;

    between_stage_fini(&s->between);
    node_stage_fini(&s->node);
}

/* Publish a piece on the node if rc, the result of its sum between nodes, is 1: it is over.  Return
 * rc.
 */
static int shared_summed(struct shared *s, uint64_t piece, int rc)
{
    if (rc == 1)
        node_stage_publish(&s->node, piece);
    return rc;
}

/* If the node has reduced its next piece, start the sum of this piece between nodes, in order.
 * Return 1 if it was started, else 0, or a failure.
 */
static int shared_pass_on(struct shared *s, struct outbox *out, struct eddis_error *err)
{
    struct comm_part piece;
    int rc;

    if (!is_between(s) || !between_stage_free(&s->between, s->passed) ||
        !node_stage_reduced(&s->node, s->passed, &piece))
        return 0;
    rc = between_stage_start(&s->between, s->passed, piece.data, out, err);
    return shared_summed(s, s->passed++, rc) < 0 ? rc : 1;
}

/* Continue as far as the other ranks allow.  Return 1 if the all-reduce is over, else 0, or a
 * failure.  *ret_moved: whether a piece was contributed, reduced, passed on or taken.
 */
static int shared_go(struct shared *s, struct outbox *out, bool *ret_moved, struct eddis_error *err)
{
    size_t budget = POLL_BYTES;
    bool moved = true;

    *ret_moved = false;
    while (moved && budget && !node_stage_over(&s->node)) {
        int passed;

        moved = node_stage_reduce(&s->node, &budget);
        passed = shared_pass_on(s, out, err);
        if (passed < 0)
            return passed;
        moved |= node_stage_take(&s->node) || passed;
        *ret_moved |= moved;
    }
    return node_stage_over(&s->node);
}

/* ---- operations of collective_impl.h ---- */

/* Start both stages.  Return as shared_go. */
static int shared_start(struct collective *c, struct outbox *out)
{
    struct shared *s = (struct shared *)c;
    bool moved;

    if (!s->r.bytes || c->place.n_ranks == 1)
        return 1;
    s->passed = 0;
    node_stage_start(&s->node);
    return shared_go(s, out, &moved, NULL);
}

/* Continue the sum between nodes after its completed operation.  Return as shared_go. */
static int shared_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct shared *s = (struct shared *)c;
    uint64_t piece;
    bool moved;
    int rc = between_stage_done(&s->between, op, &piece, out, NULL);

    rc = shared_summed(s, piece, rc);
    return rc <= 0 ? rc : shared_go(s, out, &moved, NULL);
}

/* Return the member that is waited for: by the stage between nodes if it is busy, else by the
 * node's stage.
 */
static int shared_waits_for(const struct collective *c)
{
    const struct shared *s = (const struct shared *)c;

    if (between_stage_busy(&s->between))
        return s->nodes->first[between_stage_waits_for(&s->between)];
    return s->nodes->member[node_stage_waits_for(&s->node)];
}

/* Continue after a look at shared memory.  Return as shared_go; -EPIPE: nothing moved and the rank
 * that is waited for has left.
 */
static int shared_poll(struct collective *c, struct outbox *out, struct eddis_error *err)
{
    struct shared *s = (struct shared *)c;
    bool moved;
    int rc = shared_go(s, out, &moved, err), here;

    if (rc || moved || between_stage_busy(&s->between))
        return rc;
    here = node_stage_waits_for(&s->node);
    if (node_stage_idle(&s->node, here) == 0)
        return 0;
    return eddis_fail(err, -EPIPE, "rank %d has left in the middle of an all-reduce",
                      s->nodes->rank[here]);
}

/* Borrow the result: of the node's stage, or with one rank the data itself. */
static const void *shared_result(const struct reduction *r)
{
    const struct shared *s = (const struct shared *)r;

    return r->base.place.n_ranks > 1 ? node_stage_result(&s->node) : r->what.data;
}

static const struct collective_ops shared_ops = {
    .name = "shared",
    .start = shared_start,
    .done = shared_done,
    .poll = shared_poll,
    .waits_for = shared_waits_for,
    .fini = shared_fini,
};

static const struct collective_ops hosts_ops = {
    .name = "hosts",
    .start = shared_start,
    .done = shared_done,
    .poll = shared_poll,
    .waits_for = shared_waits_for,
    .fini = shared_fini,
};

const struct allreduce_kind allreduce_shared = { &shared_ops, shared_instance_bytes, shared_prepare,
                                                 shared_result };
const struct allreduce_kind allreduce_hosts = { &hosts_ops, shared_instance_bytes, shared_prepare,
                                                shared_result };
