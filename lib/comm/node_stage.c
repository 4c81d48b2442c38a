/* SPDX-License-Identifier: Apache-2.0 */
/* node_stage.c - cutting, contributing, reducing and taking pieces in a node's memory */
#include "node_stage.h"

#include "shm_impl.h"

#include <errno.h>
#include <string.h>

enum {
    CHUNK_MIN_BYTES = 16 << 10,
    CHUNK_MAX_BYTES = 256 << 10,
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

static size_t width(const struct node_stage *s)
{
    return comm_type_bytes(s->o.what->type);
}

/* Elements of the whole cache lines in these bytes, of at least one line. */
static size_t line_elements(size_t bytes, size_t element_bytes)
{
    return (bytes < SHM_LINE ? SHM_LINE : bytes / SHM_LINE * SHM_LINE) / element_bytes;
}

static void stage_cut(struct node_stage *s)
{
    const struct allreduce *a = s->o.what;
    size_t limit = s->in_place ? s->o.in_place_bytes : s->o.shm->at.piece_bytes;

    s->piece_n = limit == SIZE_MAX ? a->n : line_elements(limit - a->tail_bytes, width(s));
    s->n_pieces = s->piece_n && a->n ? (a->n + s->piece_n - 1) / s->piece_n : 1;
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
    if (s->first_slot >= 0)
        return 0;
    s->in_place = false; /* holds no slot */
    return eddis_fail(err, -ENOSPC, "the node's memory has no room for %zu bytes more", bytes);
}

void node_stage_fini(struct node_stage *s)
{
    if (s->in_place)
        shm_slots_give(s->o.shm, s->first_slot, (int)s->n_pieces);
}

void node_stage_start(struct node_stage *s)
{
    s->arrived = s->taken = s->claimed = 0;
    if (s->in_place)
        return;
    s->ticket = s->o.shm->tickets;
    s->o.shm->tickets += s->n_pieces;
}

/* ---- pieces ---- */

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
    return p;
}

/* A member's contribution to a piece; member n_here: the sum. */
static char *piece_data(const struct node_stage *s, const struct piece *p, int member)
{
    const struct comm_shm *shm = s->o.shm;
    size_t of = (size_t)member;

    if (s->in_place)
        return shm->map + shm->at.arena + of * shm->size.arena_bytes + s->offset +
               p->first * width(s);
    of += (size_t)p->number * ((size_t)shm->n_ranks + 1);
    return shm->map + shm->at.pool + of * shm->at.piece_bytes;
}

/* The same in private memory. */
static char *piece_private(const struct node_stage *s, const struct piece *p)
{
    return (char *)s->o.what->data + p->first * width(s);
}

static size_t piece_bytes(const struct node_stage *s, const struct piece *p)
{
    return p->n * width(s) + p->tail_bytes;
}

static void piece_reduce(struct node_stage *s, const struct piece *p, uint64_t chunk)
{
    const struct allreduce *a = s->o.what;
    size_t first = (size_t)chunk * p->chunk_n, at = first * width(s), end = p->n * width(s);
    size_t n = p->n - first < p->chunk_n ? p->n - first : p->chunk_n;
    int n_here = s->o.n_here;
    char *out = piece_data(s, p, n_here);

    for (int i = 0; i < n_here; i++)
        s->o.scratch[i] = piece_data(s, p, i) + at;
    combine_many(a->type, a->rule, out + at, s->o.scratch, n_here, n);
    if (chunk == 0 && p->tail_bytes) {
        memcpy(out + end, piece_data(s, p, 0) + end, p->tail_bytes);
        for (int i = 1; i < n_here; i++)
            a->tail_rule(out + end, piece_data(s, p, i) + end);
    }
    if (shm_finish(s->o.shm, p->slot, p->chunks))
        atomic_store_explicit(s->o.publishes ? &p->slot->done : &p->slot->reduced, p->use,
                              memory_order_release);
}

/* ---- one turn ---- */

static bool stage_arrive(struct node_stage *s)
{
    bool moved = false;

    while (s->arrived < s->n_pieces) {
        struct piece p = stage_piece(s, s->arrived);

        if (s->o.shm->uses[p.number] + 1 != p.use)
            break; /* an earlier piece is in its place still */
        if (!s->in_place)
            memcpy(piece_data(s, &p, s->o.here), piece_private(s, &p), piece_bytes(s, &p));
        shm_arrive(s->o.shm, p.slot, p.use);
        s->arrived++;
        moved = true;
    }
    return moved;
}

bool node_stage_reduce(struct node_stage *s, size_t *budget)
{
    bool moved = stage_arrive(s);

    if (s->claimed < s->taken)
        s->claimed = s->taken; /* its slot may have another use already */
    for (; s->claimed < s->arrived && *budget; s->claimed++) {
        struct piece p = stage_piece(s, s->claimed);
        int64_t chunk;

        if (!shm_opened(p.slot, p.use))
            break;
        while (*budget && (chunk = shm_claim(s->o.shm, p.slot, p.use, p.chunks)) >= 0) {
            size_t bytes = p.chunk_n * width(s);

            piece_reduce(s, &p, (uint64_t)chunk);
            *budget -= bytes < *budget ? bytes : *budget;
            moved = true;
        }
        if (!*budget)
            break; /* there may be more */
    }
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

/* ---- who is waited for ---- */

int node_stage_waits_for(const struct node_stage *s)
{
    struct piece p = stage_piece(s, s->taken);

    /* Until it has arrived itself it waits for the piece whose place it takes. */
    if (s->taken == s->arrived)
        p.use--;
    if (shm_reduced(p.slot, p.use) && s->o.here > 0)
        return 0; /* who publishes it */
    return shm_waits_for(s->o.shm, p.slot, p.use);
}

int node_stage_idle(const struct node_stage *s, int member)
{
    return shm_idle(s->o.shm, member);
}

const void *node_stage_result(const struct node_stage *s)
{
    return s->in_place ? s->o.shm->results + s->offset : s->o.what->data;
}
