/* SPDX-License-Identifier: Apache-2.0 */
/* node_stage.c - cuts, contributes, reduces and takes pieces in a node's shared memory */
#include "node_stage.h"

#include "shm_impl.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <string.h>

enum {
    CHUNK_MIN_BYTES = 16 << 10,
    CHUNK_MAX_BYTES = 256 << 10,
    /* size of a piece in place from which it is worth waiting for other ranks' shares */
    PATIENT_BYTES = 512 << 10,
    /* longer than a busy system deschedules a rank */
    PATIENCE_MIN_NS = 100 * 1000 * 1000,
    REPLACE_BYTES = 4096, /* a sum of this size stays in the cache until all arenas have it */
};

/* One piece and its location. */
struct piece {
    struct shm_slot *slot;
    int number;        /* number of the slot */
    uint64_t use;      /* number of the slot's use by this piece */
    size_t first, n;   /* range of elements in the data */
    size_t tail_bytes; /* trailer, in the last piece; else 0 */
    size_t chunk_n;    /* elements of each chunk except the last */
    uint64_t chunks;
    bool patient; /* chunks are left to the owners of their shares */
};

/* Return the bytes of an element. */
static size_t width(const struct node_stage *s)
{
    return comm_type_bytes(s->o.what->type);
}

/* Return the number of elements in the whole cache lines of `bytes` bytes, at least one line. */
static size_t line_elements(size_t bytes, size_t element_bytes)
{
    return (bytes < SHM_LINE ? SHM_LINE : bytes / SHM_LINE * SHM_LINE) / element_bytes;
}

/* Set s->piece_n and s->n_pieces, the size and number of pieces. */
static void stage_cut(struct node_stage *s)
{
    const struct allreduce *a = s->o.what;
    size_t limit = s->in_place ? s->o.in_place_bytes : s->o.shm->at.piece_bytes;

    s->piece_n = limit == SIZE_MAX ? a->n : line_elements(limit - a->tail_bytes, width(s));
    s->n_pieces = s->piece_n && a->n ? (a->n + s->piece_n - 1) / s->piece_n : 1;
}

void node_stage_fini(struct node_stage *s)
{
    if (s->in_place)
        shm_slots_give(s->o.shm, s->first_slot, (int)s->n_pieces);
}

void node_stage_start(struct node_stage *s)
{
    s->arrived = s->taken = s->own = s->claimed = 0;
    s->since_ns = s->own_ns = 0;
    s->timed = 0;
    if (s->in_place)
        return;
    s->ticket = s->o.shm->tickets;
    s->o.shm->tickets += s->n_pieces;
}

/* ---- pieces ---- */

/* Return piece i with its slot, its use and its chunks. */
static struct piece stage_piece(const struct node_stage *s, uint64_t i)
{
    const struct allreduce *a = s->o.what;
    struct piece p = { .first = (size_t)i * s->piece_n };
    size_t bytes;

    p.n = a->n - p.first < s->piece_n ? a->n - p.first : s->piece_n;
    p.tail_bytes = i + 1 == s->n_pieces ? a->tail_bytes : 0;
    if (s->in_place) {
        p.number = s->first_slot + (int)i;
        p.use = s->o.shm->uses[p.number] + 1;
    } else {
        p.number = (int)((s->ticket + i) % SHM_POOL_SLOTS);
        p.use = (s->ticket + i) / SHM_POOL_SLOTS + 1;
    }
    p.slot = shm_slot(s->o.shm, p.number);
    bytes = p.n * width(s) / (size_t)s->o.n_here;
    p.chunk_n = line_elements(bytes < CHUNK_MIN_BYTES   ? CHUNK_MIN_BYTES
                              : bytes > CHUNK_MAX_BYTES ? CHUNK_MAX_BYTES
                                                        : bytes,
                              width(s));
    p.chunks = p.n ? (p.n + p.chunk_n - 1) / p.chunk_n : 1;
    p.patient = s->in_place && p.n * width(s) >= PATIENT_BYTES;
    return p;
}

/* Return the first chunk of a member's share of a piece; for member n_here the number of chunks. */
static uint64_t piece_share(const struct node_stage *s, const struct piece *p, int member)
{
    return p->chunks * (uint64_t)member / (uint64_t)s->o.n_here;
}

/* Check whether the sum of a piece replaces the contributions to it. */
static bool replaces(const struct node_stage *s)
{
    return s->in_place && s->o.replaces;
}

/* Borrow a member's contribution to a piece in shared memory; member n_here: the sum, which may be
 * over all contributions.
 */
static char *piece_data(const struct node_stage *s, const struct piece *p, int member)
{
    const struct comm_shm *shm = s->o.shm;
    size_t of = replaces(s) && member == s->o.n_here ? 0 : (size_t)member;

    if (s->in_place)
        return shm->map + shm->at.arena + of * shm->size.arena_bytes + s->offset +
               p->first * width(s);
    of += (size_t)p->number * ((size_t)shm->n_ranks + 1);
    return shm->map + shm->at.pool + of * shm->at.piece_bytes;
}

/* Borrow the piece in the rank's private data. */
static char *piece_private(const struct node_stage *s, const struct piece *p)
{
    return (char *)s->o.what->data + p->first * width(s);
}

/* Return the size of the piece, with its trailer. */
static size_t piece_bytes(const struct node_stage *s, const struct piece *p)
{
    return p->n * width(s) + p->tail_bytes;
}

/* Map in advance the pages that this rank reads and writes when it reduces its shares of large
 * pieces in place; and all results, if it sums between nodes.
 */
static void stage_populate(const struct node_stage *s)
{
    size_t bytes = s->o.what->n * width(s);

    if (!s->o.publishes && s->o.here == 0 && !s->o.replaces)
        shm_populate_results(s->o.shm, s->offset, bytes);
    for (uint64_t i = 0; i < s->n_pieces; i++) {
        struct piece p = stage_piece(s, i);
        size_t chunk = p.chunk_n * width(s), at, end;

        at = piece_share(s, &p, s->o.here) * chunk;
        end = piece_share(s, &p, s->o.here + 1) * chunk;
        end = end < p.n * width(s) ? end : p.n * width(s);
        if (!p.patient || at >= end)
            continue; /* small pieces: pages are mapped on first use */
        at += s->offset + p.first * width(s);
        end += s->offset + p.first * width(s);
        shm_populate_part(s->o.shm, at, end - at, s->o.replaces);
        if (!s->o.replaces)
            shm_populate_results(s->o.shm, at, end - at);
    }
}

int node_stage_init(struct node_stage *s, const struct node_stage_options *o,
                    struct eddis_error *err)
{
    size_t bytes = o->what->n * comm_type_bytes(o->what->type) + o->what->tail_bytes;
    int64_t offset = shm_offset(o->shm, o->what->data, bytes);

    *s = (struct node_stage){ .o = *o, .in_place = offset >= 0 };
    if (!s->in_place && !o->shm->size.pool)
        return eddis_fail(err, -EINVAL, "private memory needs a pool to be reduced");
    stage_cut(s);
    if (!s->in_place)
        return 0;
    s->offset = (size_t)offset;
    s->first_slot = shm_slots_take(o->shm, (int)s->n_pieces);
    if (s->first_slot >= 0) {
        stage_populate(s);
        return 0;
    }
    s->in_place = false; /* so that node_stage_fini gives no slot back */
    return eddis_fail(err, -ENOSPC, "the node's memory has no room for %zu bytes more", bytes);
}

/* Sum n elements of the piece, `at` bytes behind its start, into its results. */
static void piece_sum(struct node_stage *s, const struct piece *p, size_t at, size_t n)
{
    const struct allreduce *a = s->o.what;

    for (int i = 0; i < s->o.n_here; i++)
        s->o.scratch[i] = piece_data(s, p, i) + at;
    combine_many(a->type, a->rule, piece_data(s, p, s->o.n_here) + at, s->o.scratch, s->o.n_here,
                 n);
}

/* Sum n elements of the piece, `at` bytes behind its start, and store the sum over every
 * contribution.
 */
static void piece_replace(struct node_stage *s, const struct piece *p, size_t at, size_t n)
{
    const struct allreduce *a = s->o.what;
    _Alignas(SHM_LINE) char sum[REPLACE_BYTES];
    size_t most = sizeof sum / width(s);

    for (size_t m; n > 0; n -= m, at += m * width(s)) {
        m = n < most ? n : most;
        for (int i = 0; i < s->o.n_here; i++)
            s->o.scratch[i] = piece_data(s, p, i) + at;
        combine_many(a->type, a->rule, sum, s->o.scratch, s->o.n_here, m);
        for (int i = 0; i < s->o.n_here; i++)
            memcpy(piece_data(s, p, i) + at, sum, m * width(s));
    }
}

/* Combine the trailers of the piece, into its results or over all contributions. */
static void piece_sum_tails(struct node_stage *s, const struct piece *p)
{
    size_t end = p->n * width(s);
    char *out = piece_data(s, p, s->o.n_here) + end;

    if (!replaces(s))
        memcpy(out, piece_data(s, p, 0) + end, p->tail_bytes);
    for (int i = 1; i < s->o.n_here; i++)
        s->o.what->trailer_rule(out, piece_data(s, p, i) + end);
    for (int i = 1; i < s->o.n_here && replaces(s); i++)
        memcpy(piece_data(s, p, i) + end, out, p->tail_bytes);
}

/* Sum one claimed chunk of the piece, and the trailers with chunk 0.  The rank that finishes the
 * last chunk marks the piece as done, or as reduced if the node's first rank publishes it.
 */
static void piece_reduce(struct node_stage *s, const struct piece *p, uint64_t chunk)
{
    size_t first = (size_t)chunk * p->chunk_n;
    size_t n = p->n - first < p->chunk_n ? p->n - first : p->chunk_n;

    if (!replaces(s))
        piece_sum(s, p, first * width(s), n);
    else if (s->o.n_here > 1)
        piece_replace(s, p, first * width(s), n);
    if (chunk == 0 && p->tail_bytes)
        piece_sum_tails(s, p);
    if (shm_finish(s->o.shm, p->slot, p->chunks))
        atomic_store_explicit(s->o.publishes ? &p->slot->done : &p->slot->reduced, p->use,
                              memory_order_release);
}

/* ---- progress ---- */

/* Contribute this rank's data to the next pieces, up to the first one whose slot an earlier piece
 * still uses: copy the data into the shared pool, unless they are there already, and count this
 * rank as arrived.  Return true if it contributed to a piece.
 */
static bool stage_arrive(struct node_stage *s)
{
    bool moved = false;

    while (s->arrived < s->n_pieces) {
        struct piece p = stage_piece(s, s->arrived);

        if (s->o.shm->uses[p.number] + 1 != p.use)
            break; /* an earlier piece still uses its slot */
        if (!s->in_place)
            memcpy(piece_data(s, &p, s->o.here), piece_private(s, &p), piece_bytes(s, &p));
        shm_arrive(s->o.shm, p.slot, p.use);
        s->arrived++;
        moved = true;
    }
    return moved;
}

/* Claim and reduce the remaining chunks of a member's share of the piece, within *budget, which is
 * decreased.  Return whether there were any.
 */
static bool piece_help(struct node_stage *s, const struct piece *p, int member, size_t *budget)
{
    uint64_t first = piece_share(s, p, member), chunks = piece_share(s, p, member + 1) - first;
    size_t bytes = p->chunk_n * width(s);
    bool moved = false;
    int64_t i;

    while (*budget && (i = shm_claim(s->o.shm, p->slot, member, p->use, chunks)) >= 0) {
        piece_reduce(s, p, first + (uint64_t)i);
        *budget -= bytes < *budget ? bytes : *budget;
        moved = true;
    }
    return moved;
}

/* Add ns to s->own_ns, the time that this rank's share of piece s->own has taken. */
static void stage_time(struct node_stage *s, int64_t ns)
{
    s->own_ns = s->timed == s->own ? s->own_ns + ns : ns;
    s->timed = s->own;
}

/* Reduce this rank's shares of the pieces to which all ranks have contributed, within *budget,
 * which is decreased.  Advance s->own.  Return whether a chunk was reduced.
 */
static bool stage_reduce_own(struct node_stage *s, size_t *budget)
{
    bool moved = false;

    if (s->own < s->taken)
        s->own = s->taken; /* the slot of a piece that was taken may already have another use */
    for (; s->own < s->arrived && *budget; s->own++) {
        struct piece p = stage_piece(s, s->own);
        int64_t began;

        if (!shm_opened(p.slot, p.use))
            break;
        began = p.patient ? clock_now_ns() : 0;
        if (piece_help(s, &p, s->o.here, budget)) {
            if (p.patient)
                stage_time(s, clock_now_ns() - began);
            moved = true;
        }
        if (!*budget)
            break; /* some chunks may be left */
    }
    return moved;
}

/* Check whether other ranks may take the remaining chunks of piece p, number s->claimed: always in
 * a small piece, otherwise once their owners have had enough time, which is counted from the first
 * call.
 */
static bool stage_is_due(struct node_stage *s, const struct piece *p)
{
    int64_t now;

    if (!p->patient)
        return true;
    now = clock_now_ns();
    if (!s->since_ns)
        s->since_ns = now;
    return now - s->since_ns > PATIENCE_MIN_NS + (s->o.n_here + 1) * s->own_ns;
}

/* Reduce other members' shares of the pieces in which this rank's own share is done, within
 * *budget, which is decreased.  Advance s->claimed.  Return whether a chunk was reduced.
 */
static bool stage_reduce_others(struct node_stage *s, size_t *budget)
{
    bool moved = false;

    if (s->claimed < s->taken) {
        s->claimed = s->taken;
        s->since_ns = 0;
    }
    for (; s->claimed < s->own && *budget; s->claimed++, s->since_ns = 0) {
        struct piece p = stage_piece(s, s->claimed);

        if (shm_reduced(p.slot, p.use) || shm_done(p.slot, p.use))
            continue;
        if (!stage_is_due(s, &p))
            break;
        for (int i = 1; i < s->o.n_here && *budget; i++)
            moved |= piece_help(s, &p, (s->o.here + i) % s->o.n_here, budget);
        if (!*budget)
            break;
    }
    return moved;
}

bool node_stage_reduce(struct node_stage *s, size_t *budget)
{
    bool moved = stage_arrive(s);

    moved |= stage_reduce_own(s, budget);
    moved |= stage_reduce_others(s, budget);
    return moved;
}

bool node_stage_reduced(const struct node_stage *s, uint64_t i, struct comm_part *ret)
{
    struct piece p;

    if (i >= s->arrived)
        return false;
    p = stage_piece(s, i);
    if (!shm_reduced(p.slot, p.use))
        return false;
    *ret = (struct comm_part){ piece_data(s, &p, s->o.n_here), p.n, piece_bytes(s, &p) };
    return true;
}

void node_stage_publish(const struct node_stage *s, uint64_t i)
{
    struct piece p = stage_piece(s, i);

    atomic_store_explicit(&p.slot->done, p.use, memory_order_release);
}

bool node_stage_take(struct node_stage *s)
{
    bool moved = false;

    while (s->taken < s->arrived) {
        struct piece p = stage_piece(s, s->taken);

        if (!shm_done(p.slot, p.use))
            break;
        if (!s->in_place)
            memcpy(piece_private(s, &p), piece_data(s, &p, s->o.n_here), piece_bytes(s, &p));
        s->o.shm->uses[p.number] = p.use;
        s->taken++;
        moved = true;
    }
    return moved;
}

bool node_stage_over(const struct node_stage *s)
{
    return s->taken == s->n_pieces;
}

/* ---- the member that is waited for ---- */

int node_stage_waits_for(const struct node_stage *s)
{
    struct piece p = stage_piece(s, s->taken);

    /* Before this rank has arrived, it waits for the slot's previous use. */
    if (s->taken == s->arrived)
        p.use--;
    if (shm_reduced(p.slot, p.use) && s->o.here > 0)
        return 0; /* the first rank publishes it */
    return shm_waits_for(s->o.shm, p.slot, p.use);
}

int node_stage_idle(const struct node_stage *s, int member)
{
    return shm_idle(s->o.shm, member);
}

const void *node_stage_result(const struct node_stage *s)
{
    return s->in_place && !replaces(s) ? s->o.shm->results + s->offset : s->o.what->data;
}
