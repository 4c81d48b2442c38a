/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_shared.c - ranks of one node: every contribution is read where it lies
 *
 * Two kinds in one file.  "shared": all members are on one node.  "hosts": on several; each node
 * sums its own, the nodes' first ranks sum those over messages, and all read what comes of it.
 *
 * The data is cut into pieces, each of which has a slot of the node's memory (node_impl.h) while it
 * is under way:
 *
 *     in place    contribution in the arena -> sum in the results; no copy.  One piece on one node;
 *                 between nodes several, so that one is on the wire while the next is summed
 *     private     copied into the pool -> summed there -> copied out, a few pieces at a time, small
 *                 enough that what goes through the pool never leaves the cache
 *
 * A piece is summed in chunks that are claimed by whoever runs: so nobody waits for a rank that the
 * system has put aside, and a small one is summed by the last to arrive while the others sleep.
 * The order of additions is that of the ranks, whoever makes them.
 */
#include "node_groups.h"
#include "reduction.h"
#include "shm_impl.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
    CHUNK_MIN_BYTES = 16 << 10,
    CHUNK_MAX_BYTES = 256 << 10,
    /* Summed in one poll, so that messages of others do not wait long. */
    POLL_BYTES = 2 << 20,
};

struct shared {
    struct reduction r;
    const struct node_groups *nodes;
    struct comm_shm *node;
    bool in_place;
    size_t offset;  /* in place: of the data in the arena */
    int first_slot; /* in place: a slot a piece from here on */
    size_t piece_n; /* elements of each piece but the last */
    uint64_t n_pieces;
    uint64_t ticket;            /* private: piece 0's turn in the pool */
    uint64_t arrived, taken;    /* pieces, on this rank */
    uint64_t summed;            /* pieces summed between the nodes, on a first rank */
    struct collective *between; /* one that is on its way there */
    size_t budget;              /* bytes left to be summed in this poll */
    const void *source[];       /* [n_here] scratch */
};

/* One piece and where it lies. */
struct piece {
    struct shm_slot *slot;
    int number; /* of the slot */
    uint64_t use;
    size_t first, n; /* elements of the whole */
    size_t tail_bytes;
    size_t chunk_n;
    uint64_t chunks;
};

static struct shared *shared(struct collective *c)
{
    assert(c->ops == allreduce_shared.ops || c->ops == allreduce_hosts.ops);
    return (struct shared *)c;
}

static size_t width(const struct shared *s)
{
    return comm_type_bytes(s->r.what.type);
}

static size_t shared_instance_bytes(const struct comm_place *p, const struct allreduce *a)
{
    (void)a;
    return sizeof(struct shared) + (size_t)p->n_ranks * sizeof(const void *);
}

/* Elements of whole cache lines in so many bytes, at least one line. */
static size_t line_elements(size_t bytes, size_t element_bytes)
{
    return (bytes < SHM_LINE ? SHM_LINE : bytes / SHM_LINE * SHM_LINE) / element_bytes;
}

/* How the data is cut: in place on one node it is one piece. */
static void shared_cut(struct shared *s)
{
    const struct allreduce *a = &s->r.what;
    size_t limit = s->node->at.piece_bytes;

    if (s->in_place)
        limit = s->nodes->n > 1 ? COMM_SHM_PIECE_BYTES : SIZE_MAX;
    s->piece_n = limit == SIZE_MAX ? a->n : line_elements(limit - a->tail_bytes, width(s));
    s->n_pieces = s->piece_n && a->n ? (a->n + s->piece_n - 1) / s->piece_n : 1;
}

static int shared_prepare(struct reduction *r, struct eddis_error *err)
{
    struct shared *s = (struct shared *)r;
    const struct comm_place *p = &r->base.place;
    int64_t offset;

    if (!p->nodes || !p->nodes->node)
        return eddis_fail(err, -EINVAL, "these ranks share no memory");
    s->nodes = p->nodes;
    s->node = p->nodes->node;
    if (p->n_ranks == 1)
        return 0; /* over as soon as it is started */
    offset = shm_offset(s->node, r->what.data, r->bytes);
    s->in_place = offset >= 0;
    if (!s->in_place && !s->node->size.pool)
        return eddis_fail(err, -EINVAL, "private memory needs a pool to be reduced");
    shared_cut(s);
    if (!s->in_place)
        return 0;
    s->offset = (size_t)offset;
    s->first_slot = shm_slots_take(s->node, (int)s->n_pieces);
    if (s->first_slot >= 0)
        return 0;
    s->in_place = false; /* holds no slot */
    return eddis_fail(err, -ENOSPC, "the node's memory has no room for %zu bytes more", r->bytes);
}

static void shared_fini(struct collective *c)
{
    struct shared *s = shared(c);

    collective_free(s->between);
    if (s->in_place)
        shm_slots_give(s->node, s->first_slot, (int)s->n_pieces);
}

/* ---- pieces ---- */

static struct piece shared_piece(const struct shared *s, uint64_t i)
{
    const struct allreduce *a = &s->r.what;
    struct piece p = { .first = (size_t)i * s->piece_n };
    size_t bytes;

    p.n = a->n - p.first < s->piece_n ? a->n - p.first : s->piece_n;
    p.tail_bytes = i + 1 == s->n_pieces ? a->tail_bytes : 0;
    if (s->in_place) {
        p.number = s->first_slot + (int)i;
        p.use = s->node->uses[p.number] + 1;
    } else {
        p.number = (int)((s->ticket + i) % SHM_POOL_SLOTS);
        p.use = (s->ticket + i) / SHM_POOL_SLOTS + 1;
    }
    p.slot = shm_slot(s->node, p.number);
    bytes = p.n * width(s) / (size_t)s->nodes->n_here;
    p.chunk_n = line_elements(bytes < CHUNK_MIN_BYTES   ? CHUNK_MIN_BYTES
                              : bytes > CHUNK_MAX_BYTES ? CHUNK_MAX_BYTES
                                                        : bytes,
                              width(s));
    p.chunks = p.n ? (p.n + p.chunk_n - 1) / p.chunk_n : 1;
    return p;
}

/* A member's contribution to a piece; member n_here: the sum. */
static char *piece_data(const struct shared *s, const struct piece *p, int member)
{
    const struct comm_shm *n = s->node;
    size_t of = (size_t)member;

    if (s->in_place)
        return n->map + n->at.arena + of * n->size.arena_bytes + s->offset + p->first * width(s);
    of += (size_t)p->number * ((size_t)n->n_ranks + 1);
    return n->map + n->at.pool + of * n->at.piece_bytes;
}

/* The same in private memory. */
static char *piece_private(const struct shared *s, const struct piece *p)
{
    return (char *)s->r.what.data + p->first * width(s);
}

static size_t piece_bytes(const struct shared *s, const struct piece *p)
{
    return p->n * width(s) + p->tail_bytes;
}

static void piece_publish(const struct shared *s, const struct piece *p)
{
    if (s->nodes->n == 1)
        atomic_store_explicit(&p->slot->done, p->use, memory_order_release);
    else
        atomic_store_explicit(&p->slot->reduced, p->use, memory_order_release);
}

static void piece_reduce(struct shared *s, const struct piece *p, uint64_t chunk)
{
    const struct allreduce *a = &s->r.what;
    size_t first = (size_t)chunk * p->chunk_n, at = first * width(s), end = p->n * width(s);
    size_t n = p->n - first < p->chunk_n ? p->n - first : p->chunk_n;
    char *out = piece_data(s, p, s->nodes->n_here);

    for (int i = 0; i < s->nodes->n_here; i++)
        s->source[i] = piece_data(s, p, i) + at;
    combine_many(a->type, a->rule, out + at, s->source, s->nodes->n_here, n);
    if (chunk == 0 && p->tail_bytes) {
        memcpy(out + end, piece_data(s, p, 0) + end, p->tail_bytes);
        for (int i = 1; i < s->nodes->n_here; i++)
            a->tail_rule(out + end, piece_data(s, p, i) + end);
    }
    if (shm_finish(s->node, p->slot, p->chunks))
        piece_publish(s, p);
}

/* ---- one turn: each of these returns whether anything moved ---- */

static bool shared_arrive(struct shared *s)
{
    bool moved = false;

    while (s->arrived < s->n_pieces) {
        struct piece p = shared_piece(s, s->arrived);

        if (s->node->uses[p.number] + 1 != p.use)
            break; /* an earlier piece is in its place still */
        if (!s->in_place)
            memcpy(piece_data(s, &p, s->nodes->here), piece_private(s, &p), piece_bytes(s, &p));
        shm_arrive(s->node, p.slot, p.use);
        s->arrived++;
        moved = true;
    }
    return moved;
}

static bool shared_reduce(struct shared *s)
{
    bool moved = false;

    for (uint64_t i = s->taken; i < s->arrived && s->budget; i++) {
        struct piece p = shared_piece(s, i);
        int64_t chunk;

        if (!shm_opened(p.slot, p.use))
            break;
        while (s->budget && (chunk = shm_claim(s->node, p.slot, p.use, p.chunks)) >= 0) {
            size_t bytes = p.chunk_n * width(s);

            piece_reduce(s, &p, (uint64_t)chunk);
            s->budget -= bytes < s->budget ? bytes : s->budget;
            moved = true;
        }
    }
    return moved;
}

/* A sum between the nodes is complete. */
static void between_over(struct shared *s)
{
    struct piece p = shared_piece(s, s->summed++);

    collective_free(s->between);
    s->between = NULL;
    atomic_store_explicit(&p.slot->done, p.use, memory_order_release);
}

/* The messages of a sum between the nodes come back to this instance. */
static int between_result(struct shared *s, int rc, size_t before, struct outbox *out)
{
    for (size_t i = before; i < out->n; i++)
        out->op[i].owner = &s->r.base;
    if (rc == 1)
        between_over(s);
    return rc;
}

/* On a node's first rank: pass the next sum of the node on, one at a time and in their order. */
static int shared_pass_on(struct shared *s, struct outbox *out, struct eddis_error *err)
{
    const struct allreduce *a = &s->r.what;
    size_t before = out->n;
    struct piece p;
    int rc;

    if (s->nodes->n == 1 || s->nodes->here || s->between || s->summed == s->arrived)
        return 0;
    p = shared_piece(s, s->summed);
    if (!shm_reduced(p.slot, p.use))
        return 0;
    const struct comm_place firsts = node_groups_firsts(s->nodes, s->r.base.place.channel);
    const struct allreduce sum = { .data = piece_data(s, &p, s->nodes->n_here),
                                   .n = p.n,
                                   .type = a->type,
                                   .rule = a->rule,
                                   .tail_bytes = p.tail_bytes,
                                   .tail_rule = a->tail_rule };

    rc = allreduce_new(&firsts, &sum, &s->between, err);
    if (rc == 0)
        rc = collective_start(s->between, s->r.base.tag, out, err);
    if (rc >= 0)
        rc = between_result(s, rc, before, out) >= 0 ? 1 : rc;
    return rc;
}

static bool shared_take(struct shared *s)
{
    bool moved = false;

    while (s->taken < s->arrived) {
        struct piece p = shared_piece(s, s->taken);

        if (!shm_done(p.slot, p.use))
            break;
        if (!s->in_place)
            memcpy(piece_private(s, &p), piece_data(s, &p, s->nodes->n_here), piece_bytes(s, &p));
        s->node->uses[p.number] = p.use;
        s->taken++;
        moved = true;
    }
    return moved;
}

/* Go on as far as the others let.  Returns 1 at the end, 0, or a failure; *ret_moved: whether this
 * was of any use.
 */
static int shared_go(struct shared *s, struct outbox *out, bool *ret_moved, struct eddis_error *err)
{
    bool moved = true;

    s->budget = POLL_BYTES;
    *ret_moved = false;
    while (moved && s->taken < s->n_pieces) {
        int passed;

        moved = shared_arrive(s);
        moved |= shared_reduce(s);
        passed = shared_pass_on(s, out, err);
        if (passed < 0)
            return passed;
        moved |= shared_take(s) || passed;
        *ret_moved |= moved;
        if (!s->budget)
            break;
    }
    return s->taken == s->n_pieces;
}

/* ---- what collective_impl.h asks for ---- */

static int shared_start(struct collective *c, struct outbox *out)
{
    struct shared *s = shared(c);
    bool moved;

    s->arrived = s->taken = s->summed = 0;
    if (!s->r.bytes || c->place.n_ranks == 1)
        return 1;
    if (!s->in_place) {
        s->ticket = s->node->tickets;
        s->node->tickets += s->n_pieces;
    }
    return shared_go(s, out, &moved, NULL);
}

static int shared_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct shared *s = shared(c);
    struct comm_op inner = *op;
    size_t before = out->n;
    bool moved;
    int rc;

    inner.owner = s->between;
    rc = between_result(s, collective_done(s->between, &inner, out, NULL), before, out);
    return rc <= 0 ? rc : shared_go(s, out, &moved, NULL);
}

/* Member of this node that the piece to be taken next waits for; -1: another node's. */
static int shared_waits_here(const struct shared *s)
{
    struct piece p = shared_piece(s, s->taken);

    /* Until it has arrived itself it waits for the piece whose place it takes. */
    if (s->taken == s->arrived)
        p.use--;
    if (!shm_reduced(p.slot, p.use) || s->nodes->here == 0)
        return s->between ? -1 : shm_waits_for(s->node, p.slot, p.use);
    return 0;
}

static int shared_waits_for(const struct collective *c)
{
    const struct shared *s = (const struct shared *)c;
    int here = shared_waits_here(s);

    if (here >= 0)
        return s->nodes->member[here];
    here = s->between->ops->waits_for(s->between);
    return s->nodes->first[here];
}

static int shared_poll(struct collective *c, struct outbox *out, struct eddis_error *err)
{
    struct shared *s = shared(c);
    bool moved;
    int rc = shared_go(s, out, &moved, err), here;

    if (rc || moved)
        return rc;
    here = shared_waits_here(s);
    if (here < 0 || shm_idle(s->node, here) == 0)
        return 0;
    return eddis_fail(err, -EPIPE, "rank %d has left in the middle of an all-reduce",
                      s->nodes->rank[here]);
}

static const void *shared_result(const struct reduction *r)
{
    const struct shared *s = (const struct shared *)r;

    return s->in_place ? s->node->results + s->offset : r->what.data;
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
