/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.c - layers, parameters, and the agreement that all workers have the same */
#include "tuning.h"
#include "worker.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int register_check(const struct eddis *e, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    return e->engine ? eddis_fail(err, -EINVAL, "layers cannot be added after eddis_commit") : 0;
}

int eddis_add_layer(struct eddis *e, const char *name, enum eddis_layer_kind kind,
                    struct eddis_error *err)
{
    struct parameter_layer *bigger;
    char *copy;
    int rc = register_check(e, err);

    if (rc < 0)
        return rc;
    if (!name || !*name)
        return eddis_fail(err, -EINVAL, "a layer needs a name");
    if (kind < EDDIS_LAYER_OTHER || kind > EDDIS_LAYER_EMBEDDING)
        return eddis_fail(err, -EINVAL, "layer '%s' has the unknown kind %d", name, (int)kind);
    bigger = realloc(e->layer, (size_t)(e->n_layers + 1) * sizeof *bigger);
    if (bigger)
        e->layer = bigger;
    copy = strdup(name);
    if (!bigger || !copy) {
        free(copy);
        return eddis_fail(err, -ENOMEM, "no memory for layer '%s'", name);
    }
    e->layer[e->n_layers] = (struct parameter_layer){ .name = copy, .kind = kind };
    return e->n_layers++;
}

/* Number of elements, or a failure. */
static int parameter_check(const struct eddis *e, int layer, const struct eddis_parameter *p,
                           size_t *ret_n, struct eddis_error *err)
{
    size_t n = 1;

    if (layer < 0 || layer >= e->n_layers)
        return eddis_fail(err, -EINVAL, "there is no layer %d", layer);
    if (!p->name || !*p->name || !p->value)
        return eddis_fail(err, -EINVAL, "a parameter of layer '%s' has no name or no value",
                          e->layer[layer].name);
    if (p->dtype != EDDIS_FLOAT32 && p->dtype != EDDIS_FLOAT64)
        return eddis_fail(err, -EINVAL, "parameter '%s' must be of EDDIS_FLOAT32 or _FLOAT64",
                          p->name);
    if (p->n_dims < 1 || p->n_dims > EDDIS_MAX_DIMS || (p->factored && p->n_dims != 2))
        return eddis_fail(err, -EINVAL, "parameter '%s' cannot have %d dimensions", p->name,
                          p->n_dims);
    for (int i = 0; i < p->n_dims; i++)
        if (p->dims[i] < 1 || __builtin_mul_overflow(n, (size_t)p->dims[i], &n) ||
            n > SIZE_MAX / 64)
            return eddis_fail(err, -EINVAL, "parameter '%s' has an impossible dimension %lld",
                              p->name, (long long)p->dims[i]);
    *ret_n = n;
    return 0;
}

int eddis_add_parameter(struct eddis *e, int layer, const struct eddis_parameter *in,
                        struct eddis_error *err)
{
    struct eddis_parameter p;
    struct parameter *bigger, *q;
    char *copy;
    size_t n = 0;
    int rc = register_check(e, err);

    if (rc < 0)
        return rc;
    if (!in || in->size <= sizeof in->size)
        return eddis_fail(err, -EINVAL, "the parameter is NULL, or its size field is not set");
    worker_copy_in(&p, sizeof p, in);
    rc = parameter_check(e, layer, &p, &n, err);
    if (rc < 0)
        return rc;
    bigger = realloc(e->parameter, (size_t)(e->n_parameters + 1) * sizeof *bigger);
    if (bigger)
        e->parameter = bigger;
    copy = strdup(p.name);
    if (!bigger || !copy) {
        free(copy);
        return eddis_fail(err, -ENOMEM, "no memory for parameter '%s'", p.name);
    }
    q = &e->parameter[e->n_parameters];
    *q = (struct parameter){ .name = copy,
                             .layer = layer,
                             .dtype = p.dtype,
                             .n_dims = p.n_dims,
                             .n = n,
                             .value = p.value,
                             .factored = p.factored != 0 };
    memcpy(q->dims, p.dims, sizeof q->dims);
    return e->n_parameters++;
}

static uint64_t hash_text(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = random_mix(h, (unsigned char)*s);
    return random_mix(h, 256);
}

/* What must be alike on all workers, as one number. */
static uint64_t registration_hash(const struct eddis *e)
{
    uint64_t h = random_mix((uint64_t)e->options.samples, (uint64_t)e->options.epochs);

    h = random_mix(h, (uint64_t)e->options.batch);
    h = random_mix(h, e->seed);
    h = random_mix(h, (uint64_t)e->options.bucket_bytes);
    h = random_mix(h, (uint64_t)e->options.measure);
    h = hash_text(h, e->algorithm);
    for (int i = 0; i < e->n_layers; i++)
        h = random_mix(hash_text(h, e->layer[i].name), (uint64_t)e->layer[i].kind);
    for (int i = 0; i < e->n_parameters; i++) {
        const struct parameter *p = &e->parameter[i];

        h = random_mix(hash_text(h, p->name), (uint64_t)p->layer);
        h = random_mix(h, (uint64_t)p->dtype);
        h = random_mix(h, (uint64_t)p->factored);
        for (int d = 0; d < p->n_dims; d++)
            h = random_mix(h, (uint64_t)p->dims[d]);
    }
    return h;
}

/* The smallest and the largest hash are one number when all are alike. */
static int commit_compare(struct eddis *e, struct eddis_error *err)
{
    int64_t h = (int64_t)registration_hash(e), both[2] = { h, ~h };
    int rc = collectives_allreduce(e, both, 2, EDDIS_INT64, EDDIS_MIN, err);

    if (rc < 0)
        return rc;
    if (both[0] != ~both[1])
        return eddis_fail(err, -EPROTO,
                          "the workers have registered different layers, parameters or options");
    return 0;
}

/* What a replayed plan says of the communication; NULL: it is measured, or goes by size. */
static const struct comm_choice *commit_choice(const struct eddis *e)
{
    const struct comm_choice *c = e->board ? &board_setup(e->board)->choice : NULL;

    return c && c->version ? c : NULL;
}

/* Have gradients lie in memory that the ranks of a node share, unless the plan or the system says
 * no, or every worker is a group of its own.
 */
static int commit_share(struct eddis *e, struct eddis_error *err)
{
    const struct comm_choice *fixed = commit_choice(e);
    size_t bytes = 0;

    if (e->group.n_groups == e->place.n_ranks || (fixed && !fixed->shared))
        return 0;
    for (int i = 0; i < e->n_parameters; i++) {
        const struct parameter *p = &e->parameter[i];

        bytes += engine_takes(p->n, (enum comm_type)p->dtype);
    }
    return node_memory_open(e, engine_arena_bytes(bytes), e->n_parameters, fixed != NULL, err);
}

/* Measure which kinds of all-reduce are best, and tell. */
static int commit_measure(struct eddis *e, struct comm_cost *ret, struct eddis_error *err)
{
    struct comm_choice c = { 0 };
    struct tuner_result r;
    int rc = tuning_measure(e, e->node_memory.bytes, &r, err);

    if (rc < 0)
        return rc;
    if (!r.shared)
        node_memory_drop(e);
    e->limits = r.limits;
    *ret = r.cost;
    if (e->board && e->place.rank == 0) {
        tuning_set_limits(&c, &r);
        if (e->node_memory.why.code)
            tuning_add_reason(&c, "no memory is shared: %s", e->node_memory.why.text);
        board_choose(e->board, &c);
    }
    return 0;
}

/* From here on all-reduces are of the kinds that the plan says, or that measure best; without a
 * measurement they go by their size.  Where every worker is a group of its own there are none.
 */
static int commit_kinds(struct eddis *e, struct comm_cost *ret, struct eddis_error *err)
{
    const struct comm_choice *fixed = commit_choice(e);
    int rc = 0;

    if (e->group.n_groups == e->place.n_ranks || (!fixed && !e->options.measure))
        return 0;
    if (fixed) {
        e->limits = tuning_limits(fixed);
        *ret = (struct comm_cost){ fixed->latency_s, fixed->bytes_per_s };
    } else {
        rc = commit_measure(e, ret, err);
    }
    if (rc == 0)
        e->place.limits = e->group.place.limits = &e->limits;
    return rc;
}

/* The buckets' layout or size, where the plan has fixed them. */
static int commit_buckets(struct eddis *e, struct bucket_layout *layout, struct engine_options *o,
                          struct eddis_error *err)
{
    const struct comm_choice *c = commit_choice(e);
    int rc;

    o->bucket_bytes = (size_t)e->options.bucket_bytes;
    if (!c && !e->options.measure && !o->bucket_bytes)
        o->bucket_bytes = ENGINE_BUCKET_BYTES;
    if (!c)
        return 0;
    rc = tuning_layout(c, e->n_parameters, layout, err);
    if (rc < 0)
        return rc;
    if (rc)
        o->layout = layout;
    else if (!o->bucket_bytes)
        o->bucket_bytes = ENGINE_BUCKET_BYTES; /* the plan's run has laid none out */
    if (e->place.rank == 0)
        board_choose(e->board, c);
    return 0;
}

static int commit_engine(struct eddis *e, const struct comm_cost *cost, struct engine **ret,
                         struct eddis_error *err)
{
    struct engine_parameter *p = calloc((size_t)e->n_parameters + 1, sizeof *p);
    struct sync_value *v = centre_values(e);
    struct sync_models models = { 0 };
    struct bucket_layout layout;
    struct engine_options o = { .place = e->group.place,
                                .algorithm = e->algorithm,
                                .models = centre_several(e) ? &models : NULL,
                                .cost = { cost->latency_s, cost->bytes_per_s },
                                .parameter = p,
                                .n_parameters = e->n_parameters,
                                .hooks = { .arg = e,
                                           .report = replan_report,
                                           .agreed = replan_agree,
                                           .laid_out = tuning_laid_out } };
    int rc = p && v ? 0 : eddis_fail(err, -ENOMEM, "no memory for %d parameters", e->n_parameters);

    if (rc == 0 && centre_several(e))
        models = centre_setup(e, v);
    for (int i = 0; rc == 0 && i < e->n_parameters; i++)
        p[i] = (struct engine_parameter){ .n = v[i].n, .type = v[i].type };
    if (rc == 0)
        rc = commit_buckets(e, &layout, &o, err);
    if (rc == 0)
        rc = engine_new(&o, ret, err);
    free(p);
    free(v);
    return rc;
}

/* Tell the job how large the model is: what its exchanges cost follows from that. */
static void commit_show(struct eddis *e)
{
    int64_t bytes = 0;

    for (int i = 0; i < e->n_parameters; i++)
        bytes +=
            (int64_t)(e->parameter[i].n * comm_type_bytes((enum comm_type)e->parameter[i].dtype));
    if (!e->board)
        return;
    pthread_mutex_lock(&e->plan_lock);
    board_begin(e->board)->model_bytes = bytes;
    board_end(e->board);
    pthread_mutex_unlock(&e->plan_lock);
}

int eddis_commit(struct eddis *e, struct eddis_error *err)
{
    struct engine *engine = NULL;
    struct comm_cost cost = { 0 };
    int rc = register_check(e, err);

    if (rc < 0)
        return rc;
    rc = commit_compare(e, err);
    if (rc == 0 && centre_several(e))
        rc = centre_commit(e, err);
    if (rc < 0)
        return rc;
    rc = commit_share(e, err);
    if (rc == 0)
        rc = commit_kinds(e, &cost, err);
    if (rc < 0)
        return rc; /* of communication itself: the others fail too */
    rc = commit_engine(e, &cost, &engine, err);
    if (rc == 0)
        rc = comm_thread_set_engine(e->comm_thread, engine, err);
    rc = collectives_agree(e, rc, err);
    if (rc < 0) {
        comm_thread_drop_engine(e->comm_thread);
        engine_free(engine);
        return rc;
    }
    e->engine = engine;
    commit_show(e);
    return 0;
}

const void *eddis_result(const struct eddis *e, int parameter)
{
    if (worker_check(e, NULL) < 0 || !e->engine || parameter < 0 || parameter >= e->n_parameters)
        return NULL;
    return engine_result(e->engine, parameter);
}

void *eddis_gradient(struct eddis *e, int parameter)
{
    if (worker_check(e, NULL) < 0 || !e->engine || parameter < 0 || parameter >= e->n_parameters)
        return NULL;
    return engine_slot(e->engine, parameter);
}

int eddis_broadcast_parameters(struct eddis *e, int root, struct eddis_error *err)
{
    /* Some at a time: the root would otherwise push all of a model at ranks that are not there
     * yet.
     */
    enum { WINDOW = 32 };
    struct eddis_request *r[WINDOW];
    int rc = worker_check(e, err);

    for (int begun = 0, done = 0; rc == 0 && done < e->n_parameters;) {
        const struct parameter *p = &e->parameter[begun];

        if (begun < e->n_parameters && begun - done < WINDOW) {
            rc =
                eddis_broadcast_start(e, p->value, p->n * comm_type_bytes((enum comm_type)p->dtype),
                                      root, &r[begun % WINDOW], err);
            begun++;
            continue;
        }
        rc = collectives_request_wait(e, r[done % WINDOW], err);
        if (rc < 0)
            eddis_fail_prefix(err, rc, "parameter '%s'", e->parameter[done].name);
        done++;
    }
    return rc;
}
