/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - buckets that fill, leave in order, and give their results out */
#include "engine.h"

#include "arena.h"
#include "arena_layout.h"
#include "pack.h"

#include "lib/comm/node_groups.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What becomes of a parameter's slot in the arena. */
struct slot {
    int bucket;
    bool announced; /* in this step, or taken as zero */
    bool placeless; /* in this step it was not announced and has no place ... */
    bool missed;    /* ... but others announced it */
    void *place;    /* of every step's result; NULL: none */
    void *result;   /* where this step's goes; NULL: stays in the slot */
};

struct bucket {
    int last, first; /* parameters last, last - 1, ..., first; none: -1, 0 */
    size_t offset;   /* bytes */
    size_t n;        /* elements, with the gaps that align the slots */
    enum comm_type type;
    int missing; /* parameters not announced in this step */
    int64_t done_step;
    const char *result; /* of the last step combined, and the tail that came with it */
    const struct sync_tail *tail;
};

struct engine {
    struct comm_place place;
    struct engine_hooks hooks;
    struct arena arena;
    struct slot *slot; /* [n_slots], those of the arena */
    int n_slots;
    struct bucket *bucket; /* [n_slots + 1] */
    int n_buckets;
    struct bucket_cost cost;
    struct arena_layout *layout; /* NULL: it stays as it is */
    int layouts;                 /* taken so far */
    struct sync *sync;
    struct engine_step step;
    int next;      /* bucket to leave next */
    int in_flight; /* buckets that left and are not combined */
    int finished;  /* buckets combined in this step */
    unsigned sequence;
    int64_t exchanges; /* that are over */
    bool exchanging;
};

static struct sync_tail *bucket_tail(const struct engine *e, const struct bucket *b)
{
    return (struct sync_tail *)(e->arena.data + b->offset + b->n * comm_type_bytes(b->type));
}

/* No bucket of a step after done_step may have left. */
static void engine_cut(struct engine *e, const struct bucket_run *run, int n_runs,
                       int64_t done_step)
{
    e->n_buckets = n_runs;
    for (int b = 0; b < n_runs; b++) {
        int last = e->n_slots - 1 - run[b].first, first = e->n_slots - run[b].end;
        const struct arena_slot *begin = &e->arena.slot[last];
        size_t bytes = arena_span(&e->arena, last, first);

        e->bucket[b] = (struct bucket){ .last = last,
                                        .first = first,
                                        .offset = begin->offset,
                                        .n = bytes / comm_type_bytes(begin->type),
                                        .type = begin->type,
                                        .done_step = done_step };
        for (int i = first; i <= last; i++) {
            e->slot[i].bucket = b;
            e->bucket[b].missing += !e->slot[i].announced;
        }
    }
    if (n_runs == 0)
        e->bucket[e->n_buckets++] =
            (struct bucket){ .last = -1, .type = COMM_FLOAT32, .done_step = done_step };
    e->layouts++;
}

/* Whether the layout is to be measured: nobody has decided it, and it could change something. */
static bool engine_measures(const struct engine *e, const struct engine_options *o)
{
    return !o->layout && !o->bucket_bytes && e->place.n_ranks > 1 && e->n_slots > 1 &&
           e->n_slots <= ARENA_LAYOUT_MAX_ITEMS;
}

/* Until it is measured a bucket's bytes travel as long as its latency, which BUCKET_IN_FLIGHT of
 * them wait for together: small enough that the first steps overlap with the computing.
 */
static size_t engine_early_bytes(const struct engine *e)
{
    double bytes = e->cost.latency_s * e->cost.bytes_per_s;

    return bytes < ENGINE_EARLY_BYTES    ? ENGINE_EARLY_BYTES
           : bytes < ENGINE_BUCKET_BYTES ? (size_t)bytes
                                         : ENGINE_BUCKET_BYTES;
}

/* The first layout: the given one, or by size. */
static int engine_lay_out(struct engine *e, const struct engine_options *o, struct eddis_error *err)
{
    size_t bytes = o->bucket_bytes         ? o->bucket_bytes
                   : engine_measures(e, o) ? engine_early_bytes(e)
                                           : ENGINE_BUCKET_BYTES,
           first = bytes < ENGINE_FIRST_BYTES ? bytes : ENGINE_FIRST_BYTES;
    struct bucket_run *run;

    if (o->layout) {
        if (!bucket_fits(o->layout, e->arena.item, e->n_slots))
            return eddis_fail(err, -EINVAL,
                              "the plan's %d buckets are not of these %d parameters; was the plan "
                              "made for another model?",
                              (int)o->layout->n, e->n_slots);
        engine_cut(e, o->layout->run, o->layout->n, -1);
        return 0;
    }
    run = calloc((size_t)e->n_slots + 1, sizeof *run);
    if (!run)
        return eddis_fail(err, -ENOMEM, "no memory for %d parameters", e->n_slots);
    engine_cut(e, run, bucket_fill(e->arena.item, e->n_slots, first, bytes, run), -1);
    free(run);
    return 0;
}

/* What a bucket costs where nobody has measured it: a ring's 2 (n - 1) steps over links of
 * 1 Gbit/s, or by messages or shared memory within a host.
 */
static struct bucket_cost engine_typical_cost(const struct comm_place *p)
{
    double steps = p->n_ranks > 1 ? 2.0 * (p->n_ranks - 1) : 1, shares = p->n_ranks / steps;

    if (p->nodes && p->nodes->shm && p->nodes->n == 1)
        return (struct bucket_cost){ 2e-5, 4e9 };
    return p->hosts ? (struct bucket_cost){ 2e-4 * steps, 1.2e8 * shares }
                    : (struct bucket_cost){ 2e-5 * steps, 1e9 * shares };
}

/* The buckets as the algorithm sees them: opens it, or gives it the new ones. */
static int engine_give_buffers(struct engine *e, const struct engine_options *o,
                               struct eddis_error *err)
{
    struct sync_buffer *buffer = calloc((size_t)e->n_buckets, sizeof *buffer);
    int rc;

    if (!buffer)
        return eddis_fail(err, -ENOMEM, "no memory for %d buckets", e->n_buckets);
    for (int i = 0; i < e->n_buckets; i++)
        buffer[i] = (struct sync_buffer){ .data = e->arena.data + e->bucket[i].offset,
                                          .n = e->bucket[i].n,
                                          .type = e->bucket[i].type };
    if (e->sync)
        rc = sync_lay_out(e->sync, buffer, e->n_buckets, err);
    else
        rc = sync_open(o->algorithm,
                       &(struct sync_setup){ .place = e->place,
                                             .buffer = buffer,
                                             .n_buffers = e->n_buckets,
                                             .models = o->models,
                                             .options = o->options },
                       &e->sync, err);
    free(buffer);
    return rc;
}

static int engine_open_layout(struct engine *e, const struct engine_options *o,
                              struct eddis_error *err)
{
    if (!engine_measures(e, o) || !sync_can_lay_out(e->sync))
        return 0;
    return arena_layout_new(&e->place, e->n_slots, &e->layout, err);
}

static int engine_open(struct engine *e, const struct engine_options *o, struct eddis_error *err)
{
    int rc = engine_lay_out(e, o, err);

    if (rc == 0)
        rc = engine_give_buffers(e, o, err);
    return rc < 0 ? rc : engine_open_layout(e, o, err);
}

int engine_new(const struct engine_options *o, struct engine **ret, struct eddis_error *err)
{
    struct engine *e = calloc(1, sizeof *e);
    size_t n = (size_t)o->n_parameters;
    int rc;

    if (!e)
        return eddis_fail(err, -ENOMEM, "no memory for an engine");
    e->place = o->place;
    e->place.channel = COMM_GRADIENTS;
    e->hooks = o->hooks;
    e->n_slots = o->n_parameters;
    e->slot = calloc(n + 1, sizeof *e->slot);
    e->bucket = calloc(n + 1, sizeof *e->bucket);
    rc = arena_init(&e->arena, o->n_parameters, err);
    if (rc == 0 && (!e->slot || !e->bucket))
        rc = eddis_fail(err, -ENOMEM, "no memory for %d parameters", o->n_parameters);
    if (rc < 0)
        goto fail;
    for (size_t i = 0; i < n; i++) {
        e->arena.slot[i] =
            (struct arena_slot){ .n = o->parameter[i].n, .type = o->parameter[i].type };
        e->slot[i].place = o->parameter[i].result;
    }
    e->cost = o->cost.bytes_per_s > 0 ? o->cost : engine_typical_cost(&o->place);
    if (o->place.hosts && sync_wire_is_half(o->options.wire))
        e->cost.bytes_per_s *= 2; /* what is known is of float32 */
    rc = arena_place(&e->arena, &e->place, err);
    if (rc == 0)
        rc = engine_open(e, o, err);
    if (rc < 0)
        goto fail;
    e->next = e->finished = e->n_buckets;
    e->step.step = -1;
    *ret = e;
    return 0;
fail:
    engine_free(e);
    return rc;
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    sync_close(e->sync);
    arena_layout_free(e->layout);
    arena_fini(&e->arena);
    free(e->slot);
    free(e->bucket);
    free(e);
}

void *engine_slot(const struct engine *e, int parameter)
{
    return arena_data(&e->arena, parameter);
}

int engine_n_buckets(const struct engine *e)
{
    return e->n_buckets;
}

int engine_n_parameters(const struct engine *e)
{
    return e->n_slots;
}

int engine_layouts(const struct engine *e)
{
    return e->layouts;
}

int engine_bucket_of(const struct engine *e, int parameter)
{
    return e->slot[parameter].bucket;
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
    arena_mark(&e->arena, a->parameter, true);
    e->slot[a->parameter].result = engine_alone(e) ? NULL : result;
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

/* All ranks have the new layout, and none has let a bucket of this step leave. */
static int engine_take_layout(struct engine *e, struct eddis_error *err)
{
    const struct bucket_layout *l = arena_layout_agreed(e->layout);
    int rc = 0;

    if (l->n && !bucket_fits(l, e->arena.item, e->n_slots))
        return eddis_fail(err, -EPROTO, "rank 0 has other parameters than this worker");
    if (l->n) {
        engine_cut(e, l->run, l->n, e->bucket[0].done_step);
        arena_clear_gaps(&e->arena);
        rc = engine_give_buffers(e, NULL, err);
    }
    if (rc == 0 && e->hooks.laid_out)
        e->hooks.laid_out(e->hooks.arg, l);
    arena_layout_free(e->layout);
    e->layout = NULL;
    return rc;
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
        const struct arena_slot *s = &e->arena.slot[i];

        if (e->slot[i].announced)
            continue;
        memset(engine_slot(e, i), 0, s->n * comm_type_bytes(s->type));
        arena_mark(&e->arena, i, false);
        e->slot[i].placeless = !e->slot[i].place;
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

int64_t engine_step_begun(const struct engine *e)
{
    return e->step.step;
}

int engine_n_left(const struct engine *e)
{
    return e->next;
}

int64_t engine_done_step(const struct engine *e, int bucket)
{
    return e->bucket[bucket].done_step;
}

int engine_waits_for(const struct engine *e, int bucket)
{
    if (e->layout && arena_layout_due(e->layout))
        return arena_layout_waits_for(e->layout);
    return bucket < e->next ? sync_waits_for(e->sync, bucket) : -1;
}
