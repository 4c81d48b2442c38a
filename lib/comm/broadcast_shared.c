/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast_shared.c - copies from the first rank to all through memory shared by a node's ranks
 *
 *     the first rank      piece -> results of its node --- message ---> results of other nodes
 *     all others of a node     '-- copied out                   '-- copied out
 *
 * The node's first rank publishes: it stores in the slot how many pieces are in the results.  The
 * results may be written once all ranks of the node have arrived, since a rank that has arrived
 * reads no earlier results.  A rank arrives at the next reduction only when its broadcast is over.
 *
 * Between nodes a piece goes from first rank to first rank: along a chain, which uses each link
 * once, or with many nodes along a binary tree.
 */
#include "collective_impl.h"
#include "node_groups.h"
#include "shm_impl.h"

#include <errno.h>
#include <string.h>

enum {
    PIECE_BYTES = 256 << 10,
    WINDOW = 4,      /* largest number of messages under way from the parent, and to each child */
    CHAIN_NODES = 8, /* with more nodes a tree is used */
    CHILDREN = 2,
    /* bytes copied in one poll at most, so that other messages do not wait long */
    POLL_BYTES = 2 << 20,
};

/* Another node's first rank, to which this one sends. */
struct child {
    int member;
    uint64_t sending, sent; /* number of pieces: send posted, send complete */
};

/* One rank's part of a broadcast through shared memory. */
struct shared_broadcast {
    struct collective base;
    char *data;
    size_t bytes;
    int slot;
    uint64_t use, n_pieces; /* number of the slot's present use; number of pieces */
    /* number of pieces: receive posted, in the results, copied by this rank */
    uint64_t receiving, published, taken;
    bool arrived[WINDOW];   /* of piece i, at i % WINDOW: it has arrived; maybe out of order */
    int parent, n_children; /* parent: member that this rank receives from */
    struct child child[CHILDREN];
};

/* Borrow the members grouped by nodes. */
static const struct node_groups *nodes_of(const struct shared_broadcast *b)
{
    return b->base.place.nodes;
}

/* Borrow the broadcast's slot in shared memory. */
static struct shm_slot *slot_of(const struct shared_broadcast *b)
{
    return shm_slot(nodes_of(b)->shm, b->slot);
}

/* Check whether this rank is its node's first, which publishes pieces. */
static bool is_publisher(const struct shared_broadcast *b)
{
    return nodes_of(b)->here == 0;
}

/* Check whether this rank has the original data. */
static bool is_root(const struct shared_broadcast *b)
{
    return b->base.place.rank == 0;
}

/* Borrow the region of results in the node's shared memory, writable. */
static char *results(const struct shared_broadcast *b)
{
    const struct comm_shm *m = nodes_of(b)->shm;

    return m->map + m->at.results;
}

/* Return the size of piece i. */
static size_t piece_bytes(const struct shared_broadcast *b, uint64_t i)
{
    size_t at = (size_t)i * PIECE_BYTES;

    return b->bytes - at < PIECE_BYTES ? b->bytes - at : PIECE_BYTES;
}

/* ---- between nodes ---- */

/* If this rank is its node's first, set its parent and children among the nodes' first ranks, by
 * the chain or tree of nodes.
 */
static void family_find(struct shared_broadcast *b)
{
    const struct node_groups *n = nodes_of(b);
    int branches = n->n <= CHAIN_NODES ? 1 : CHILDREN;

    if (!is_publisher(b))
        return;
    if (!is_root(b))
        b->parent = n->first[(n->index - 1) / branches];
    for (int i = branches * n->index + 1; i <= branches * (n->index + 1) && i < n->n; i++)
        b->child[b->n_children++].member = n->first[i];
}

/* Append to out a send or a receive (kind) of piece i, to or from a member.  Its data are those in
 * the shared results.
 */
static void piece_post(struct shared_broadcast *b, enum comm_kind kind, int member, uint64_t i,
                       struct outbox *out)
{
    collective_post(&b->base, kind, member, results(b) + (size_t)i * PIECE_BYTES, piece_bytes(b, i),
                    (int)(i % WINDOW), out);
}

/* On a node's first rank except the root, count pieces received from the parent as published, in
 * order, and post further receives.  Return whether a piece was published.
 */
static bool shared_hear(struct shared_broadcast *b, struct outbox *out)
{
    uint64_t before = b->published;

    for (; b->published < b->receiving && b->arrived[b->published % WINDOW]; b->published++)
        b->arrived[b->published % WINDOW] = false;
    for (; b->receiving < b->n_pieces && b->receiving < b->published + WINDOW; b->receiving++)
        piece_post(b, COMM_RECEIVE, b->parent, b->receiving, out);
    return b->published > before;
}

/* Append to out the sends of published pieces (their data) to all children, at most WINDOW at a
 * time to each.
 */
static void shared_tell(struct shared_broadcast *b, struct outbox *out)
{
    for (struct child *c = b->child; c < b->child + b->n_children; c++)
        for (; c->sending < b->published && c->sending < c->sent + WINDOW; c->sending++)
            piece_post(b, COMM_SEND, c->member, c->sending, out);
}

/* Check whether all pieces were sent to all children. */
static bool shared_all_sent(const struct shared_broadcast *b)
{
    for (int i = 0; i < b->n_children; i++)
        if (b->child[i].sent < b->n_pieces)
            return false;
    return true;
}

/* ---- in the node ---- */

/* Copy pieces *at .. end - 1, but at most POLL_BYTES, and set *at to the next piece to copy.
 * Return whether any was copied.
 */
static bool pieces_copy(const struct shared_broadcast *b, char *to, const char *from, uint64_t *at,
                        uint64_t end)
{
    uint64_t before = *at;

    for (; *at < end && *at < before + POLL_BYTES / PIECE_BYTES; ++*at)
        memcpy(to + (size_t)*at * PIECE_BYTES, from + (size_t)*at * PIECE_BYTES,
               piece_bytes(b, *at));
    return *at > before;
}

/* On a node's first rank, publish further pieces: on the root copied from the data, elsewhere
 * received; and send them to the children.  Return whether any was published.
 */
static bool shared_publish(struct shared_broadcast *b, struct outbox *out)
{
    bool moved = is_root(b) ? pieces_copy(b, results(b), b->data, &b->published, b->n_pieces)
                            : shared_hear(b, out);

    if (moved)
        atomic_store_explicit(&slot_of(b)->finished, b->published, memory_order_release);
    shared_tell(b, out);
    return moved;
}

/* Continue as far as the other ranks allow.  Return 1 if the broadcast is over, else 0. *ret_moved:
 * whether a piece was published or copied.
 */
static int shared_go(struct shared_broadcast *b, struct outbox *out, bool *ret_moved)
{
    struct shm_slot *slot = slot_of(b);

    *ret_moved = false;
    if (!shm_opened(slot, b->use))
        return 0;
    if (is_publisher(b))
        *ret_moved = shared_publish(b, out);
    else
        b->published = atomic_load_explicit(&slot->finished, memory_order_acquire);
    if (is_root(b))
        b->taken = b->published;
    else
        *ret_moved |= pieces_copy(b, b->data, results(b), &b->taken, b->published);
    if (b->taken < b->n_pieces || !shared_all_sent(b))
        return 0;
    nodes_of(b)->shm->uses[b->slot] = b->use;
    return 1;
}

/* ---- operations of collective_impl.h ---- */

/* Arrive at the next use of the slot and begin to copy.  Return 1 if the broadcast is over already,
 * else 0.
 */
static int shared_start(struct collective *c, struct outbox *out)
{
    struct shared_broadcast *b = (struct shared_broadcast *)c;
    struct comm_shm *m = nodes_of(b)->shm;
    bool moved;

    if (!b->bytes || c->place.n_ranks == 1)
        return 1;
    b->receiving = b->published = b->taken = 0;
    for (int i = 0; i < b->n_children; i++)
        b->child[i].sending = b->child[i].sent = 0;
    b->use = m->uses[b->slot] + 1;
    shm_arrive(m, slot_of(b), b->use);
    return shared_go(b, out, &moved);
}

/* Count a received or sent piece and continue.  Return as shared_go. */
static int shared_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct shared_broadcast *b = (struct shared_broadcast *)c;
    bool moved;

    if (op->kind == COMM_RECEIVE)
        b->arrived[op->part] = true;
    for (int i = 0; op->kind == COMM_SEND && i < b->n_children; i++)
        b->child[i].sent += b->child[i].member == op->member;
    return shared_go(b, out, &moved);
}

/* Return the rank of this node that the broadcast waits for, by its index on the node; -1: it waits
 * for another node.
 */
static int shared_waits_here(const struct shared_broadcast *b)
{
    const struct node_groups *n = nodes_of(b);

    if (!shm_opened(slot_of(b), b->use))
        return shm_waits_for(n->shm, slot_of(b), b->use);
    return is_publisher(b) ? -1 : 0;
}

/* Return the member that the broadcast waits for, on this node or on another. */
static int shared_waits_for(const struct collective *c)
{
    const struct shared_broadcast *b = (const struct shared_broadcast *)c;
    int here = shared_waits_here(b);

    if (here >= 0)
        return nodes_of(b)->member[here];
    for (int i = 0; i < b->n_children; i++)
        if (b->published == b->n_pieces && b->child[i].sent < b->n_pieces)
            return b->child[i].member;
    return b->parent;
}

/* Continue after a look at shared memory.  Return as shared_go; -EPIPE: nothing moved and the rank
 * of this node that is waited for has left.
 */
static int shared_poll(struct collective *c, struct outbox *out, struct eddis_error *err)
{
    struct shared_broadcast *b = (struct shared_broadcast *)c;
    const struct node_groups *n = nodes_of(b);
    bool moved;
    int rc = shared_go(b, out, &moved), here;

    if (rc || moved)
        return rc;
    here = shared_waits_here(b);
    if (here < 0 || shm_idle(n->shm, here) == 0)
        return 0;
    return eddis_fail(err, -EPIPE, "rank %d has left in the middle of a broadcast", n->rank[here]);
}

/* Give back the broadcast's slot. */
static void shared_fini(struct collective *c)
{
    const struct shared_broadcast *b = (const struct shared_broadcast *)c;

    shm_slots_give(nodes_of(b)->shm, b->slot, 1);
}

static const struct collective_ops shared_ops = {
    .name = "shared broadcast",
    .start = shared_start,
    .done = shared_done,
    .poll = shared_poll,
    .waits_for = shared_waits_for,
    .fini = shared_fini,
};

int broadcast_shared_new(const struct comm_place *p, void *data, size_t bytes,
                         struct collective **ret, struct eddis_error *err)
{
    struct comm_shm *m = p->nodes ? p->nodes->shm : NULL;
    int slot = m && m->size.arena_bytes >= bytes ? shm_slots_take(m, 1) : -1, rc;
    struct shared_broadcast *b;

    if (slot < 0)
        return broadcast_new(p, data, bytes, 0, ret, err);
    rc = collective_make(&shared_ops, sizeof *b, p, ret, err);
    if (rc < 0) {
        shm_slots_give(m, slot, 1);
        return rc;
    }
    b = (struct shared_broadcast *)*ret;
    b->data = data;
    b->bytes = bytes;
    b->slot = slot;
    b->n_pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    family_find(b);
    return 0;
}
