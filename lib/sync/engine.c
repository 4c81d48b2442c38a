/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"
#include "arena_layout.h"
#include "pack.h"

#include "lib/comm/node_groups.h"
#include "lib/comm/shm.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    size_t n, offset; /* elements; bytes from the arena's start */
    enum comm_type type;
    int bucket;
    bool announced; /* in this step */
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
    struct slot *slot;
    int n_slots;
    struct bucket *bucket; /* [n_slots + 1] */
    int n_buckets;
    struct bucket_item *item; /* [n_slots + 1], the slots in the arena's order */
    struct bucket_cost cost;
    struct layout *layout; /* NULL: it stays as it is */
    int layouts;           /* taken so far */
    char *arena;
    char *own_arena; /* the same, unless it lies in memory that ranks share */
    struct sync *sync;
    struct engine_step step;
    int next;      /* bucket to leave next */
    int in_flight; /* buckets that left and are not combined */
    int finished;  /* buckets combined in this step */
    unsigned sequence;
    int64_t exchanges; /* that are over */
    bool exchanging;
};

/* Bytes kept free behind every slot. */
enum { ENGINE_TAIL = (sizeof(struct sync_tail) + ENGINE_ALIGN - 1) / ENGINE_ALIGN * ENGINE_ALIGN };

static size_t engine_align(size_t bytes)
{
    return (bytes + ENGINE_ALIGN - 1) / ENGINE_ALIGN * ENGINE_ALIGN;
}

static struct sync_tail *bucket_tail(const struct engine *e, const struct bucket *b)
{
    return (struct sync_tail *)(e->arena + b->offset + b->n * comm_type_bytes(b->type));
}

/* What a parameter takes in the arena.  Behind each there is room for a tail, so that a bucket may
 * end anywhere.
 */
size_t engine_takes(size_t n, enum comm_type type)
{
    return engine_align(n * comm_type_bytes(type)) + ENGINE_TAIL;
}

size_t engine_arena_bytes(size_t taken)
{
    return taken + ENGINE_TAIL;
}

/* Give every parameter its place.  Returns the bytes of the arena. */
static size_t engine_place(struct engine *e)
{
    size_t at = 0;

    for (int i = e->n_slots - 1; i >= 0; i--) {
        struct slot *s = &e->slot[i];

        s->offset = at;
        at += engine_takes(s->n, s->type);
    }
    return engine_arena_bytes(at);
}

/* In memory that ranks share when there is some, so that they read it where it lies. */
static int engine_make_arena(struct engine *e, size_t bytes, struct eddis_error *err)
{
    const struct node_groups *nodes = e->place.nodes;

    e->arena = nodes && nodes->shm ? comm_shm_arena(nodes->shm) : NULL;
    if (!e->arena)
        e->arena = e->own_arena = aligned_alloc(ENGINE_ALIGN, bytes);
    if (!e->arena)
        return eddis_fail(err, -ENOMEM, "no memory for gradients of %zu bytes", bytes);
    memset(e->arena, 0, bytes); /* the gaps too: they are added up with the rest */
    return 0;
}

/* Bytes of a bucket of parameters last .. first. */
static size_t engine_span(const struct engine *e, int last, int first)
{
    const struct slot *s = &e->slot[first];

    return s->offset + engine_align(s->n * comm_type_bytes(s->type)) - e->slot[last].offset;
}

static void engine_items(struct engine *e)
{
    for (int i = 0; i < e->n_slots; i++) {
        const struct slot *s = &e->slot[e->n_slots - 1 - i];

        e->item[i] = (struct bucket_item){ .bytes = engine_align(s->n * comm_type_bytes(s->type)) +
                                                    ENGINE_TAIL,
                                           .type = (int)s->type };
    }
}

/* No bucket of a step after done_step may have left. */
static void engine_cut(struct engine *e, const struct bucket_run *run, int n_runs,
                       int64_t done_step)
{
    e->n_buckets = n_runs;
    for (int b = 0; b < n_runs; b++) {
        int last = e->n_slots - 1 - run[b].first, first = e->n_slots - run[b].end;
        enum comm_type type = e->slot[last].type;

        e->bucket[b] = (struct bucket){ .last = last,
                                        .first = first,
                                        .offset = e->slot[last].offset,
                                        .n = engine_span(e, last, first) / comm_type_bytes(type),
                                        .type = type,
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
        if (!bucket_fits(o->layout, e->item, e->n_slots))
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
    engine_cut(e, run, bucket_fill(e->item, e->n_slots, first, bytes, run), -1);
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
        buffer[i] = (struct sync_buffer){ .data = e->arena + e->bucket[i].offset,
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
    size_t n = (size_t)o->n_parameters, bytes;
    int rc = -ENOMEM;

    if (!e)
        return eddis_fail(err, -ENOMEM, "no memory for an engine");
    e->place = o->place;
    e->place.channel = COMM_GRADIENTS;
    e->hooks = o->hooks;
    e->n_slots = o->n_parameters;
    e->slot = calloc(n + 1, sizeof *e->slot);
    e->bucket = calloc(n + 1, sizeof *e->bucket);
    e->item = calloc(n + 1, sizeof *e->item);
    if (!e->slot || !e->bucket || !e->item) {
        eddis_fail(err, rc, "no memory for %d parameters", o->n_parameters);
        goto fail;
    }
    for (size_t i = 0; i < n; i++)
        e->slot[i] = (struct slot){ .n = o->parameter[i].n, .type = o->parameter[i].type };
    e->cost = o->cost.bytes_per_s > 0 ? o->cost : engine_typical_cost(&o->place);
    bytes = engine_place(e);
    engine_items(e);
    rc = engine_make_arena(e, bytes, err);
    if (rc == 0)
        rc = engine_open(e, o, err);
    if (rc < 0)
        goto fail;
    e->next = e->finished = e->n_buckets;
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
    free(e->own_arena);
    free(e->slot);
    free(e->bucket);
    free(e->item);
    free(e);
}

void *engine_slot(const struct engine *e, int parameter)
{
    return e->arena + e->slot[parameter].offset;
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
        e->slot[i].announced = false;
        e->slot[i].result = NULL;
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

    return s->result == ENGINE_IN_PLACE ? b->result + (s->offset - b->offset)
                                        : engine_slot(e, parameter);
}

static void engine_pack(struct engine *e, const struct engine_announcement *a)
{
    struct slot *s = &e->slot[a->parameter];
    double factor = engine_alone(e) ? 1.0 : e->step.weight / e->step.batch;
    void *own = e->arena + s->offset;
    bool to_result = engine_alone(e) && a->result && a->result != ENGINE_IN_PLACE;
    void *to = to_result ? a->result : own;

    if (e->step.weight == 0)
        memset(to, 0, s->n * comm_type_bytes(s->type));
    else if (a->u)
        pack_product(s->type, to, &(struct pack_factors){ a->u, a->v, a->k, a->m, a->n }, factor);
    else
        pack_scaled(s->type, to, a->source ? a->source : own, s->n, factor);
    s->result = engine_alone(e) ? NULL : a->result;
}

/* A bucket is combined: scale when the weights do not add up to the batch, give results out. */
static void bucket_unpack(struct engine *e, struct bucket *b)
{
    const char *read = sync_result(e->sync, (int)(b - e->bucket));
    const struct sync_tail *tail;
    double factor = 1.0;

    b->result = e->arena + b->offset;
    read = read ? read : b->result;
    tail = (const void *)(read + b->n * comm_type_bytes(b->type));
    if (!engine_alone(e) && tail->weight != e->step.batch && tail->weight > 0)
        factor = e->step.batch / tail->weight;
    for (int i = b->last; i >= b->first; i--) {
        const struct slot *s = &e->slot[i];
        void *own = e->arena + s->offset;

        if (s->result == ENGINE_IN_PLACE && factor == 1.0)
            continue;
        pack_scaled(s->type, s->result && s->result != ENGINE_IN_PLACE ? s->result : own,
                    read + (s->offset - b->offset), s->n, factor);
    }
    if (factor == 1.0)
        b->result = read;
    b->tail = tail;
    b->done_step = e->step.step;
    /* Buckets may be complete in any order; the agreement is in the last one that left. */
    if (++e->finished == e->n_buckets && e->hooks.agreed)
        e->hooks.agreed(e->hooks.arg, e->step.step, e->bucket[e->n_buckets - 1].tail);
}

/* Between two layouts: what was a tail may now lie in the middle of a bucket, and is added up with
 * the rest.
 */
static void engine_clear_gaps(struct engine *e)
{
    for (int i = 0; i < e->n_slots; i++) {
        const struct slot *s = &e->slot[i];
        size_t bytes = s->n * comm_type_bytes(s->type);

        memset(e->arena + s->offset + bytes, 0, engine_align(bytes) - bytes + ENGINE_TAIL);
    }
}

/* All ranks have the new layout, and none has let a bucket of this step leave. */
static int engine_take_layout(struct engine *e, struct eddis_error *err)
{
    const struct bucket_layout *l = arena_layout_agreed(e->layout);
    int rc = 0;

    if (l->n && !bucket_fits(l, e->item, e->n_slots))
        return eddis_fail(err, -EPROTO, "rank 0 has other parameters than this worker");
    if (l->n) {
        engine_cut(e, l->run, l->n, e->bucket[0].done_step);
        engine_clear_gaps(e);
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
        tag[i] = (int)(e->sequence++ % ENGINE_TAGS);
    rc = arena_layout_start(e->layout, e->item, &e->cost, tag, out, err);
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
        int tag = (int)(e->sequence++ % ENGINE_TAGS), rc;

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
        struct slot *s = &e->slot[i];

        if (s->announced)
            continue;
        memset(e->arena + s->offset, 0, s->n * comm_type_bytes(s->type));
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

/* After anything that may have ended one. */
static void engine_look(struct engine *e)
{
    if (e->exchanging && !sync_exchanging(e->sync)) {
        e->exchanging = false;
        e->exchanges++;
    }
}

int engine_exchange(struct engine *e, enum sync_exchange what, int64_t step, int64_t now_ns,
                    struct outbox *out, struct eddis_error *err)
{
    struct sync_turn t = { what, step, (int)(e->sequence++ % ENGINE_TAGS) };
    int rc;

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
    return e->in_flight && sync_polls(e->sync);
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
    return rc < 0 ? rc : any;
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
