/* SPDX-License-Identifier: Apache-2.0 */
/* engine_round.c - buckets that fill, leave in order, and give their results out */
#include "engine_impl.h"

#include "pack.h"

#include <assert.h>
#include <string.h>

static struct sync_tail *bucket_tail(const struct engine *e, const struct bucket *b)
{
    return (struct sync_tail *)(e->arena.data + b->offset + b->n * comm_type_bytes(b->type));
}

void engine_begin(struct engine *e, const struct engine_step *s, int64_t now_ns)
{
    assert(e->finished == e->n_buckets);
    e->step = *s;
    e->next = e->in_flight = e->finished = 0;
    for (int i = 0; i < e->n_slots; i++) {
        struct slot *own = &e->slot[i];

        own->announced = own->placeless = own->missed = false;
        own->result = own->place;
    }
    for (int i = 0; i < e->n_buckets; i++)
        e->bucket[i].missing = e->bucket[i].last - e->bucket[i].first + 1;
    if (e->n_slots == 0)
        e->bucket[0].missing = 1; /* full when the step is finished */
    if (e->layout)
        arena_layout_begin(e->layout, s->passing, now_ns);
}

void engine_set_weight(struct engine *e, double weight)
{
    e->step.weight = weight;
}

/* The only worker's gradient needs neither a weight nor the slot. */
static bool engine_alone(const struct engine *e)
{
    return e->place.n_ranks == 1;
}

const void *engine_result(const struct engine *e, int parameter)
{
    const struct slot *s = &e->slot[parameter];
    const struct bucket *b = &e->bucket[s->bucket];
    size_t offset = e->arena.slot[parameter].offset - b->offset;

    return s->result == ENGINE_IN_PLACE ? b->result + offset : engine_slot(e, parameter);
}

bool engine_missed(const struct engine *e, int parameter)
{
    return e->slot[parameter].missed;
}

static void engine_pack(struct engine *e, const struct engine_announcement *a)
{
    const struct arena_slot *s = &e->arena.slot[a->parameter];
    double factor = engine_alone(e) ? 1.0 : e->step.weight / e->step.batch;
    void *own = engine_slot(e, a->parameter);
    void *result = a->result ? a->result : e->slot[a->parameter].place;
    bool to_result = engine_alone(e) && result && result != ENGINE_IN_PLACE;
    void *to = to_result ? result : own;

    if (e->step.weight == 0 || a->source == ENGINE_ZERO)
        memset(to, 0, s->n * comm_type_bytes(s->type));
    else if (a->u)
        pack_product(s->type, to, &(struct pack_factors){ a->u, a->v, a->k, a->m, a->n }, factor);
    else
        pack_scaled(s->type, to, a->source ? a->source : own, s->n, factor);
    if (!engine_alone(e)) /* nobody else would look */
        arena_mark(&e->arena, a->parameter, true);
    e->slot[a->parameter].result = engine_alone(e) ? NULL : result;
}

/* It was not announced.  A worker alone has nothing to add up, and touches memory only where a
 * result was promised.
 */
static void engine_pack_none(struct engine *e, int parameter)
{
    const struct arena_slot *s = &e->arena.slot[parameter];
    struct slot *own = &e->slot[parameter];
    bool alone = engine_alone(e), to_place = alone && own->place && own->place != ENGINE_IN_PLACE;

    if (!alone || own->place)
        memset(to_place ? own->place : engine_slot(e, parameter), 0,
               s->n * comm_type_bytes(s->type));
    if (!alone)
        arena_mark(&e->arena, parameter, false);
    else
        own->result = NULL;
    own->placeless = !alone && !own->place;
}

/* A bucket is combined: scale when the weights do not add up to the batch, give results out. */
static void bucket_unpack(struct engine *e, struct bucket *b)
{
    const char *read = sync_result(e->sync, (int)(b - e->bucket));
    const struct sync_tail *tail;
    double factor = 1.0;

    b->result = e->arena.data + b->offset;
    read = read ? read : b->result;
    tail = (const void *)(read + b->n * comm_type_bytes(b->type));
    if (!engine_alone(e) && tail->weight != e->step.batch && tail->weight > 0)
        factor = e->step.batch / tail->weight;
    for (int i = b->last; i >= b->first; i--) {
        const struct arena_slot *s = &e->arena.slot[i];
        const char *from = read + (s->offset - b->offset);
        void *to = e->slot[i].result;

        e->slot[i].missed = e->slot[i].placeless && arena_marked(&e->arena, i, from);
        if (to == ENGINE_IN_PLACE && factor == 1.0)
            continue;
        pack_scaled(s->type, to && to != ENGINE_IN_PLACE ? to : engine_slot(e, i), from, s->n,
                    factor);
    }
    if (factor == 1.0)
        b->result = read;
    b->tail = tail;
    b->done_step = e->step.step;
    /* Buckets may be complete in any order; the agreement is in the last one that left. */
    if (++e->finished == e->n_buckets && e->hooks.agreed)
        e->hooks.agreed(e->hooks.arg, e->step.step, e->bucket[e->n_buckets - 1].tail);
}

/* Returns 1 when buckets may leave; 0: the ranks are still agreeing on the layout. */
static int engine_settle(struct engine *e, struct outbox *out, struct eddis_error *err)
{
    int tag[ARENA_LAYOUT_TAGS], rc;

    if (!e->layout || !arena_layout_due(e->layout))
        return 1;
    if (arena_layout_started(e->layout))
        return 0;
    for (int i = 0; i < ARENA_LAYOUT_TAGS; i++)
        tag[i] = (int)(e->sequence++ % COMM_TAGS);
    rc = arena_layout_start(e->layout, e->arena.item, &e->cost, tag, out, err);
    if (rc == 1)
        rc = engine_take_layout(e, err);
    return rc < 0 ? rc : !e->layout;
}

/* Send off the full buckets whose turn it is. */
static int engine_launch(struct engine *e, int64_t now_ns, struct outbox *out,
                         struct eddis_error *err)
{
    int settled = engine_settle(e, out, err);

    if (settled <= 0)
        return settled;
    while (e->next < e->n_buckets && !e->bucket[e->next].missing &&
           e->in_flight < BUCKET_IN_FLIGHT) {
        struct bucket *b = &e->bucket[e->next];
        struct sync_tail *tail = bucket_tail(e, b);
        int tag = (int)(e->sequence++ % COMM_TAGS), rc;

        *tail = (struct sync_tail){ .weight = e->step.weight };
        if (e->next == e->n_buckets - 1 && e->hooks.report)
            e->hooks.report(e->hooks.arg, tail);
        rc = sync_begin(e->sync, e->next, tag, now_ns, out, err);
        if (rc < 0)
            return rc;
        e->next++;
        if (rc == 1)
            bucket_unpack(e, b);
        else
            e->in_flight++;
        if (rc == 0 && e->layout)
            arena_layout_left(e->layout, b->n * comm_type_bytes(b->type), now_ns);
    }
    return 0;
}

/* A gradient is packed. */
static void engine_mark(struct engine *e, int parameter, int64_t now_ns)
{
    struct slot *s = &e->slot[parameter];

    s->announced = true;
    e->bucket[s->bucket].missing--;
    if (e->layout)
        arena_layout_ready(e->layout, e->n_slots - 1 - parameter, now_ns);
}

int engine_announce(struct engine *e, const struct engine_announcement *a, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err)
{
    assert(!e->slot[a->parameter].announced && e->finished < e->n_buckets);
    engine_pack(e, a);
    engine_mark(e, a->parameter, now_ns);
    return engine_launch(e, now_ns, out, err);
}

int engine_finish(struct engine *e, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    for (int i = 0; i < e->n_slots; i++) {
        if (e->slot[i].announced)
            continue;
        engine_pack_none(e, i);
        engine_mark(e, i, now_ns);
    }
    if (e->n_slots == 0)
        e->bucket[0].missing = 0;
    return engine_launch(e, now_ns, out, err);
}

/* A bucket is combined. */
static int engine_done(struct engine *e, int bucket, int64_t now_ns, struct outbox *out,
                       struct eddis_error *err)
{
    e->in_flight--;
    if (e->layout)
        arena_layout_back(e->layout, now_ns);
    bucket_unpack(e, &e->bucket[bucket]);
    return engine_launch(e, now_ns, out, err);
}

/* ---- exchanges between steps ---- */

/* After anything that may have ended one.  Returns whether it has. */
static bool engine_look(struct engine *e)
{
    if (!e->exchanging || sync_exchanging(e->sync))
        return false;
    e->exchanging = false;
    e->exchanges++;
    return true;
}

int engine_exchange(struct engine *e, const struct sync_turn *turn, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err)
{
    struct sync_turn t = *turn;
    int rc;

    t.tag = (int)(e->sequence++ % COMM_TAGS);
    assert(e->finished == e->n_buckets && !e->exchanging);
    rc = sync_exchange(e->sync, &t, now_ns, out, err);
    if (rc < 0)
        return rc;
    e->exchanging = true;
    engine_look(e);
    return 0;
}

int64_t engine_exchanges(const struct engine *e)
{
    return e->exchanges;
}

int engine_exchange_waits_for(const struct engine *e)
{
    return sync_exchange_waits_for(e->sync);
}

int64_t engine_staleness(const struct engine *e)
{
    return sync_staleness(e->sync);
}

int engine_box(struct engine *e, struct smb_request *r, int64_t now_ns, struct outbox *out,
               struct eddis_error *err)
{
    int rc;

    if (!sync_owns(e->sync, r))
        return 0;
    rc = sync_box(e->sync, r, now_ns, out, err);
    engine_look(e);
    return rc < 0 ? rc : 1;
}

/* ---- what has come ---- */

int engine_receive(struct engine *e, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                   struct eddis_error *err)
{
    int rc;

    if (e->layout && arena_layout_owns(e->layout, op)) {
        rc = arena_layout_receive(e->layout, op, out, err);
        if (rc == 1)
            rc = engine_take_layout(e, err);
        return rc < 0 ? rc : engine_launch(e, now_ns, out, err);
    }
    rc = sync_receive(e->sync, op, now_ns, out, err);
    engine_look(e);
    return rc <= 0 ? rc : engine_done(e, rc - 1, now_ns, out, err);
}

bool engine_polls(const struct engine *e)
{
    return (e->in_flight || e->exchanging) && sync_polls(e->sync);
}

int engine_poll(struct engine *e, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    bool any = false;
    int rc;

    while ((rc = sync_poll(e->sync, now_ns, out, err)) > 0) {
        any = true;
        rc = engine_done(e, rc - 1, now_ns, out, err);
        if (rc < 0)
            break;
    }
    any |= engine_look(e);
    return rc < 0 ? rc : any;
}
