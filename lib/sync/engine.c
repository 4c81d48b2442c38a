/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - makes an engine and lays out its buckets */
#include "engine_impl.h"

#include "lib/comm/node_groups.h"
#include "lib/comm/shm.h"

#include <errno.h>
#include <stdlib.h>

/* Append a bucket of the parameters last, last - 1, ..., first to e's buckets and record it in
 * their slots.  If last is -1, append an empty bucket to set 0.  done_step: the step in which the
 * bucket counts as combined last.
 */
static void engine_add_bucket(struct engine *e, int last, int first, int64_t done_step)
{
    struct bucket *b = &e->bucket[e->n_buckets];
    int number = last < 0 ? 0 : e->slot[last].set;
    const struct set *set = &e->set[number];

    *b = (struct bucket){ .set = number,
                          .last = last,
                          .first = first,
                          .type = COMM_FLOAT32,
                          .done_step = done_step,
                          .done_round = set->round - set->open };
    if (last >= 0) {
        b->offset = e->arena.slot[last].offset;
        b->type = e->arena.slot[last].type;
        b->n = arena_span(&e->arena, last, first) / comm_type_bytes(b->type);
    }
    for (int i = first; i <= last; i++) {
        e->slot[i].bucket = e->n_buckets;
        b->missing += !e->slot[i].announced;
    }
    e->n_buckets++;
}

/* Replace all buckets by the n_runs given runs, set after set; each set takes its runs in their
 * order.  Without runs, make one empty bucket.  No bucket may be under way, and no bucket may have
 * left in a step after done_step.
 */
static void engine_cut(struct engine *e, const struct bucket_run *run, int n_runs,
                       int64_t done_step)
{
    e->n_buckets = 0;
    for (int s = 0; s < e->n_sets; s++) {
        e->set[s].first = e->n_buckets;
        for (int b = 0; b < n_runs; b++) {
            int last = e->n_slots - 1 - run[b].first, first = e->n_slots - run[b].end;

            if (e->slot[last].set == s)
                engine_add_bucket(e, last, first, done_step);
        }
        if (n_runs == 0)
            engine_add_bucket(e, -1, 0, done_step);
        e->set[s].n = e->n_buckets - e->set[s].first;
    }
    e->layouts++;
}

/* Check whether the layout must be measured: neither a layout nor a bucket size in o determines it,
 * and there are several ranks and several parameters, but not too many for arena_layout.
 */
static bool engine_measures(const struct engine *e, const struct engine_options *o)
{
    return !o->layout && !o->bucket_bytes && e->place.n_ranks > 1 && e->n_slots > 1 &&
           e->n_slots <= ARENA_LAYOUT_MAX_ITEMS;
}

/* Return the bucket size in bytes that is used until the layout is measured: the bytes that travel
 * in one latency, limited to ENGINE_EARLY_BYTES .. ENGINE_BUCKET_BYTES.  Buckets that small overlap
 * with computing in the first steps, and the BUCKET_IN_FLIGHT buckets under way share the latency.
 */
static size_t engine_early_bytes(const struct engine *e)
{
    double bytes = e->cost.latency_s * e->cost.bytes_per_s;

    return bytes < ENGINE_EARLY_BYTES    ? ENGINE_EARLY_BYTES
           : bytes < ENGINE_BUCKET_BYTES ? (size_t)bytes
                                         : ENGINE_BUCKET_BYTES;
}

/* Make the first layout: that of the plan, or else one by bucket size.  Return 0, -ENOMEM, or
 * -EINVAL: the plan's layout does not fit the parameters.
 */
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
                              "the plan's %d buckets do not fit these %d parameters; was the plan "
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

/* Return a typical cost of a bucket, for a place whose network was not measured.  If all ranks
 * share memory, it is the cost of copying.  Otherwise it is the cost of the 2 (n - 1) steps of a
 * ring, over links of 1 Gbit/s between hosts, or by messages within one host.
 */
static struct bucket_cost engine_typical_cost(const struct comm_place *p)
{
    double steps = p->n_ranks > 1 ? 2.0 * (p->n_ranks - 1) : 1, shares = p->n_ranks / steps;

    if (p->nodes && p->nodes->shm && p->nodes->n == 1)
        return (struct bucket_cost){ 2e-5, 4e9 };
    return p->hosts ? (struct bucket_cost){ 2e-4 * steps, 1.2e8 * shares }
                    : (struct bucket_cost){ 2e-5 * steps, 1e9 * shares };
}

/* Pass the present buckets to the algorithm as its buffers.  If the algorithm is open, replace its
 * buffers (o may be NULL); otherwise open it with the options o.  Return 0 or a failure.
 */
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

/* Start to measure the layout, if it must be measured and the algorithm can replace its buffers.
 * Return 0, also if not, or -ENOMEM.
 */
static int engine_open_layout(struct engine *e, const struct engine_options *o,
                              struct eddis_error *err)
{
    if (!engine_measures(e, o) || !sync_can_lay_out(e->sync))
        return 0;
    return arena_layout_new(&e->place, e->n_slots, &e->layout, err);
}

/* Check whether any parameter is float16 or travels as float16.  As float16, a gradient times a
 * weight far above the batch would overflow to infinity, and times a small weight underflow to
 * zero.
 */
static bool engine_is_half(const struct engine *e, enum sync_wire wire)
{
    bool narrow = e->place.hosts && wire == SYNC_WIRE_FLOAT16;

    for (int i = 0; i < e->n_slots; i++)
        narrow |= e->arena.slot[i].type == COMM_FLOAT16;
    return narrow;
}

/* Set e->weighs, and make the agreement on rounds if several ranks have several sets, or if the
 * ranks' weights must be summed before a round because gradients are or travel as float16.  Return
 * 0 or -ENOMEM.
 */
static int engine_open_order(struct engine *e, enum sync_wire wire, struct eddis_error *err)
{
    e->weighs = e->place.n_ranks > 1 && engine_is_half(e, wire);
    if (e->place.n_ranks == 1 || (e->n_sets == 1 && !e->weighs))
        return 0;
    return round_order_new(&e->place, &e->order, err);
}

/* Lay out the buckets and open the algorithm, the agreement on rounds and the measuring of the
 * layout.  Return 0 or the first failure; engine_free frees what was opened.
 */
static int engine_open(struct engine *e, const struct engine_options *o, struct eddis_error *err)
{
    int rc = engine_lay_out(e, o, err);

    if (rc == 0)
        rc = engine_give_buffers(e, o, err);
    if (rc == 0)
        rc = engine_open_order(e, o->options.wire, err);
    return rc < 0 ? rc : engine_open_layout(e, o, err);
}

int engine_take_layout(struct engine *e, struct eddis_error *err)
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

/* Return 0 if there are no parameters or every set has one; otherwise -EINVAL, and err names an
 * empty set.
 */
static int engine_check_sets(const struct engine *e, const struct engine_options *o,
                             struct eddis_error *err)
{
    for (int s = 0; s < e->n_sets && o->n_parameters; s++) {
        int i = 0;

        while (i < o->n_parameters && o->parameter[i].set != s)
            i++;
        if (i == o->n_parameters)
            return eddis_fail(err, -EINVAL, "set %d of %d has no parameter", s, e->n_sets);
    }
    return 0;
}

/* Allocate the sets up to the largest set number of a parameter, and the queue of rounds.  Return
 * 0, -ENOMEM, or -EINVAL: a set has no parameter.
 */
static int engine_make_sets(struct engine *e, const struct engine_options *o,
                            struct eddis_error *err)
{
    int rc;

    e->n_sets = 1;
    for (int i = 0; i < o->n_parameters; i++)
        e->n_sets = o->parameter[i].set >= e->n_sets ? o->parameter[i].set + 1 : e->n_sets;
    rc = engine_check_sets(e, o, err);
    if (rc < 0)
        return rc;
    e->set = calloc((size_t)e->n_sets, sizeof *e->set);
    e->queue = calloc((size_t)e->n_sets, sizeof *e->queue);
    if (!e->set || !e->queue)
        return eddis_fail(err, -ENOMEM, "no memory for %d sets", e->n_sets);
    return 0;
}

/* Return the bytes of all gradients divided by the bytes that travel.  It is 1 unless float32
 * parameters travel as 16-bit numbers between hosts.  The bandwidth, which was measured with
 * float32, must be multiplied by it.
 */
static double engine_half_rounding(const struct engine_options *o)
{
    double all = 0, narrow = 0;

    if (!o->place.hosts || !sync_wire_is_half(o->options.wire))
        return 1;
    for (int i = 0; i < o->n_parameters; i++) {
        const struct engine_parameter *p = &o->parameter[i];
        double bytes = (double)p->n * (double)comm_type_bytes(p->type);

        all += bytes;
        narrow += p->type == COMM_FLOAT32 ? bytes : 0;
    }
    return all > 0 ? all / (all - narrow / 2) : 1;
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
    e->rounds_of_all = algorithm_has(o->algorithm, ALGORITHM_ROUNDS);
    e->n_slots = o->n_parameters;
    e->slot = calloc(n + 1, sizeof *e->slot);
    e->bucket = calloc(n + 1, sizeof *e->bucket);
    rc = arena_init(&e->arena, o->n_parameters, err);
    if (rc == 0 && (!e->slot || !e->bucket))
        rc = eddis_fail(err, -ENOMEM, "no memory for %d parameters", o->n_parameters);
    if (rc == 0)
        rc = engine_make_sets(e, o, err);
    if (rc < 0)
        goto fail;
    for (size_t i = 0; i < n; i++) {
        const struct engine_parameter *p = &o->parameter[i];

        e->arena.slot[i] = (struct arena_slot){ .n = p->n, .type = p->type, .set = p->set };
        e->slot[i] = (struct slot){ .set = p->set, .place = p->result };
    }
    e->cost = o->cost.bytes_per_s > 0 ? o->cost : engine_typical_cost(&o->place);
    e->cost.bytes_per_s *= engine_half_rounding(o);
    rc = arena_place(&e->arena, &e->place, err);
    if (rc == 0)
        rc = engine_open(e, o, err);
    if (rc < 0)
        goto fail;
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
    round_order_free(e->order);
    arena_fini(&e->arena);
    free(e->set);
    free(e->queue);
    free(e->slot);
    free(e->bucket);
    free(e);
}

void *engine_slot(const struct engine *e, int parameter)
{
    return arena_data(&e->arena, parameter);
}

void *engine_memory(const struct engine *e, size_t *ret_bytes)
{
    *ret_bytes = e->arena.bytes;
    return e->arena.data;
}

void *engine_results(const struct engine *e)
{
    const struct node_groups *nodes = e->place.nodes;

    return e->arena.own || !e->arena.data || comm_shm_replaces(nodes->shm, nodes->n)
               ? NULL
               : comm_shm_results(nodes->shm);
}

bool engine_weighs(const struct engine *e)
{
    return e->weighs;
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

int engine_n_sets(const struct engine *e)
{
    return e->n_sets;
}

int engine_first_bucket(const struct engine *e, int set)
{
    return e->set[set].first;
}

int64_t engine_rounds_begun(const struct engine *e, int set)
{
    return e->set[set].round;
}

int engine_n_left(const struct engine *e, int set)
{
    return e->set[set].left;
}

int64_t engine_done_step(const struct engine *e, int bucket)
{
    return e->bucket[bucket].done_step;
}

int64_t engine_done_round(const struct engine *e, int bucket)
{
    return e->bucket[bucket].done_round;
}

int engine_waits_for(const struct engine *e, int bucket)
{
    const struct set *s = &e->set[e->bucket[bucket].set];

    if (s->open && bucket < s->first + s->left)
        return sync_waits_for(e->sync, bucket);
    if (!e->order && !e->layout)
        return -1;
    if (e->order && !e->ordered && round_order_started(e->order))
        return round_order_waits_for(e->order);
    return e->layout && arena_layout_due(e->layout) ? arena_layout_waits_for(e->layout) : -1;
}
