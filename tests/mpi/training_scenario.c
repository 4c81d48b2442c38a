/* SPDX-License-Identifier: Apache-2.0 */
/* training_scenario.c - the training that every worker runs, and one process's results to compare
 * with; collectives of all scopes
 */
#include "scenario.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIM = 30, LAYERS = 3 };

static const int layer_length[LAYERS] = { 5, 24, 1 };

struct worker {
    struct eddis *e;
    struct scenario *s;
    struct eddis_world world;
    int parameter[LAYERS];
    float value[DIM];
    double velocity[DIM];
    float own[DIM], result[DIM];
    int32_t seen[SCENARIO_SAMPLES]; /* times a sample was taken in this epoch, by this worker */
    double serial[DIM], serial_v[DIM];
};

int64_t scenario_epochs(const struct scenario *s)
{
    if (s->epochs == SCENARIO_NO_EPOCHS)
        return 0;
    return s->epochs ? s->epochs : SCENARIO_EPOCHS;
}

static int64_t scenario_samples(const struct scenario *s)
{
    return s->samples ? s->samples : SCENARIO_SAMPLES;
}

struct eddis_options scenario_options(const struct scenario *s)
{
    return (struct eddis_options){ .size = sizeof(struct eddis_options),
                                   .samples = s->late ? 0 : scenario_samples(s),
                                   .epochs = s->late ? 0 : scenario_epochs(s),
                                   .batch = s->batch,
                                   .read_ahead = s->read_ahead,
                                   .drop_last = s->drop_last,
                                   .min_count = s->min_count,
                                   .seed = 5,
                                   .bucket_bytes = s->measured ? 0 : 64,
                                   .measure = s->measured,
                                   .gradients = s->gradients };
}

struct eddis *scenario_open(const struct scenario *s, struct eddis_world *ret)
{
    struct eddis_options o = scenario_options(s);
    struct eddis *e = NULL;

    OK(eddis_open(&o, &e, &err));
    *ret = world_of(e);
    check_set_rank(ret->rank);
    return e;
}

void scenario_close(struct eddis *e)
{
    OK(eddis_close(e, &err));
}

void scenario_run(scenario_fn *run, const struct scenario *s, char mode[16])
{
    struct scenario own = *s;
    struct eddis_world w;
    struct eddis *e = scenario_open(&own, &w);

    if (!e)
        return;
    (void)snprintf(mode, 16, "%s", w.rank == 0 ? w.mode : "");
    run(e, &own);
    scenario_close(e);
}

/* A sample's input and output are functions of its number. */
static double input(int64_t sample, int j)
{
    return sin((double)(sample * DIM + j) * 1.7);
}

static double residual(const double *w, int64_t sample)
{
    double e = -cos((double)sample);

    for (int j = 0; j < DIM; j++)
        e += w[j] * input(sample, j);
    return e;
}

static void add_gradient(const double *w, int64_t sample, double scale, double *g)
{
    double e = residual(w, sample) * scale;

    for (int j = 0; j < DIM; j++)
        g[j] += e * input(sample, j);
}

static void add_layers(struct worker *w)
{
    static const char *const names[LAYERS] = { "first", "second", "third" };

    for (int i = 0, at = 0; i < LAYERS; at += layer_length[i++]) {
        const struct eddis_parameter p = vector_of(w->value + at, layer_length[i]);
        int layer;

        SUCCEEDS(layer = eddis_add_layer(w->e, names[i], EDDIS_LAYER_DENSE, &err));
        SUCCEEDS(w->parameter[i] = eddis_add_parameter(w->e, layer, &p, &err));
    }
}

/* Layer 0 lives in the library's slot, 1 is given by pointers, 2 is announced by a thread. */
struct late {
    struct worker *w;
    int at;
};

static void *announce_late(void *arg)
{
    struct late *l = arg;
    struct worker *w = l->w;

    OK(eddis_announce(w->e, w->parameter[2], w->own + l->at, w->result + l->at, &err));
    return NULL;
}

static void announce(struct worker *w, const double *g)
{
    struct late late = { w, layer_length[0] + layer_length[1] };
    float *slot = eddis_gradient(w->e, w->parameter[0]);
    pthread_t thread;
    int32_t ones = 1;

    for (int j = 0; j < DIM; j++)
        w->own[j] = (float)g[j];
    CHECK((uintptr_t)slot % 64 == 0, "slots are aligned");
    memcpy(slot, w->own, (size_t)layer_length[0] * sizeof *slot);
    CHECK(pthread_create(&thread, NULL, announce_late, &late) == 0, "no thread");
    OK(eddis_announce(w->e, w->parameter[1], w->own + layer_length[0], w->result + layer_length[0],
                      &err));
    OK(eddis_allreduce(w->e, &ones, 1, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err));
    CHECK(ones == w->world.n_ranks, "%d", (int)ones); /* while buckets wait for layer 0 */
    OK(eddis_announce_layer(w->e, 0, &err));
    pthread_join(thread, NULL);
    OK(eddis_wait_layer(w->e, 1, TIMEOUT_NS, &err));
    OK(eddis_wait(w->e, TIMEOUT_NS, &err));
    memcpy(w->result, slot, (size_t)layer_length[0] * sizeof *slot);
}

/* The same step by one process, on the positions of all workers. */
static void serial_step(struct worker *w, const struct eddis_step *s)
{
    int64_t whole = w->s->batch, index[SCENARIO_SAMPLES];
    struct eddis_step all = *s;
    double g[DIM] = { 0 };

    all.first = s->step_in_epoch * whole;
    all.count = s->batch;
    OK(eddis_sample_indices(w->e, &all, index, &err));
    for (int64_t i = 0; i < all.count; i++)
        add_gradient(w->serial, index[i], 1.0 / (double)all.count, g);
    for (int j = 0; j < DIM; j++) {
        w->serial_v[j] = 0.9 * w->serial_v[j] + g[j];
        w->serial[j] -= 0.02 * w->serial_v[j];
    }
}

static void one_step(struct worker *w, const struct eddis_step *s)
{
    int64_t index[SCENARIO_SAMPLES];
    double g[DIM] = { 0 }, v[DIM];

    OK(eddis_sample_indices(w->e, s, index, &err));
    for (int j = 0; j < DIM; j++)
        v[j] = w->value[j];
    for (int64_t i = 0; i < s->count; i++) {
        w->seen[index[i]]++;
        add_gradient(v, index[i], 1.0 / (double)s->count, g);
    }
    for (int j = 0; j < DIM && !s->count; j++)
        g[j] = NAN; /* a mean over nothing; must not be read */
    announce(w, g);
    for (int j = 0; j < DIM; j++) {
        w->velocity[j] = 0.9 * w->velocity[j] + w->result[j];
        w->value[j] -= (float)(0.02 * w->velocity[j]);
    }
    serial_step(w, s);
}

/* Every sample once, by one worker or another. */
static void check_epoch(struct worker *w)
{
    check_once(w->e, w->seen, SCENARIO_SAMPLES);
    memset(w->seen, 0, sizeof w->seen);
}

static void check_weights(struct worker *w)
{
    double d = 0, n = 0;

    check_same(w->e, EDDIS_ALL, w->value, sizeof w->value);
    for (int j = 0; j < DIM; j++) {
        d += (w->value[j] - w->serial[j]) * (w->value[j] - w->serial[j]);
        n += w->serial[j] * w->serial[j];
    }
    CHECK(sqrt(d / n) < 2e-6, "distance from one process is %g", sqrt(d / n));
}

/* What each worker has at the step. */
static void check_counts(struct worker *w, const struct eddis_step *s)
{
    int64_t *count = calloc((size_t)w->world.n_ranks, sizeof *count), sum = 0;
    int n;

    SUCCEEDS(n = eddis_counts(w->e, s->step, count, &err));
    for (int i = 0; i < n; i++)
        sum += count[i];
    CHECK(n == w->world.n_ranks && sum == s->batch && count[w->world.rank] == s->count,
          "%d counts, %d in all", n, (int)sum);
    CHECK(s->samples_before == s->epoch * SCENARIO_SAMPLES + s->step_in_epoch * w->s->batch,
          "%d samples before step %d", (int)s->samples_before, (int)s->step);
    free(count);
}

/* The step is what was said about it before, first * 1000 + count; -1: nothing was said. */
static void check_step(struct worker *w, const struct eddis_step *s, int64_t said)
{
    CHECK(s->step == w->s->steps, "step %d", (int)s->step);
    CHECK(said < 0 || said == s->first * 1000 + s->count, "what was said about step %d has changed",
          (int)s->step);
    check_counts(w, s);
}

static void train(struct worker *w)
{
    struct eddis_report report = { .size = sizeof report,
                                   .has_loss = 1,
                                   .loss = 1.5,
                                   .compute_ns = SCENARIO_COMPUTE_NS,
                                   .work = SCENARIO_WORK,
                                   .memory_bytes = SCENARIO_MEMORY };
    struct eddis_step s, ahead = { .size = sizeof ahead };
    int64_t before = -1, said = -1;
    int more = 0;

    while (step_begin(w->e, &s)) {
        check_step(w, &s, said);
        if (before >= 0 && s.batch == w->s->batch && before != s.count)
            w->s->splits++;
        if (s.batch == w->s->batch)
            before = s.count;
        w->s->all_flags |= s.flags;
        one_step(w, &s);
        OK(eddis_step_end(w->e, &report, &err));
        w->s->steps++;
        SUCCEEDS(more = eddis_plan_step(w->e, s.step + 1, EDDIS_FOREVER, &ahead, &err));
        said = more == 1 ? ahead.first * 1000 + ahead.count : -1;
        if (w->s->after_step && w->world.rank == 0)
            w->s->after_step(w->s->arg, s.step);
        if (s.flags & EDDIS_STEP_END_OF_EPOCH)
            check_epoch(w);
    }
}

static struct worker *worker_new(struct eddis *e, struct scenario *s)
{
    struct worker *w = calloc(1, sizeof *w);

    w->e = e;
    w->s = s;
    w->world = world_of(e);
    return w;
}

void scenario_train(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);

    add_layers(w);
    if (s->late)
        OK(eddis_set_data(e, SCENARIO_SAMPLES, scenario_epochs(s), &err));
    OK(eddis_commit(e, &err));
    for (int j = 0; j < DIM; j++) {
        w->value[j] = w->world.rank ? -1 : (float)j / DIM;
        w->serial[j] = (float)j / DIM;
    }
    OK(eddis_broadcast_parameters(e, 0, &err));
    train(w);
    check_weights(w);
    OK(eddis_set_metric(e, "test_accuracy", 0.5, &err));
    free(w);
}

/* ---- collectives ---- */

static void check_reductions(struct worker *w)
{
    int n = w->world.n_ranks, rank = w->world.rank;
    size_t length = 100000;
    float *x = malloc(length * sizeof *x);
    int64_t y[3] = { rank, -rank, 7 };
    unsigned char z[2] = { (unsigned char)rank, 1 };
    struct eddis_request *r = NULL;
    int done = 0;

    for (size_t i = 0; i < length; i++)
        x[i] = (float)(rank + (int)(i % 10));
    OK(eddis_allreduce_start(w->e, x, length, EDDIS_FLOAT32, EDDIS_SUM, &r, &err));
    OK(eddis_allreduce(w->e, y, 3, EDDIS_INT64, EDDIS_MAX, TIMEOUT_NS, &err));
    CHECK(y[0] == n - 1 && y[1] == 0 && y[2] == 7, "%d %d", (int)y[0], (int)y[1]);
    OK(eddis_allreduce(w->e, z, 2, EDDIS_UINT8, EDDIS_SUM, TIMEOUT_NS, &err));
    CHECK(z[1] == n, "%d", z[1]);
    while (done == 0)
        SUCCEEDS(done = eddis_request_test(w->e, r, &err));
    for (size_t i = 0; i < length && done == 1; i++)
        if (x[i] != (float)(n * (n - 1) / 2 + n * (int)(i % 10))) {
            CHECK(0, "element %zu is %g", i, x[i]);
            break;
        }
    free(x);
}

static void check_copies(struct worker *w)
{
    int n = w->world.n_ranks, rank = w->world.rank, in = rank * rank;
    int *out = calloc((size_t)n, sizeof *out);
    struct eddis_request *r[2] = { NULL };
    char text[40] = "";

    for (int root = 0; root < n; root++) {
        snprintf(text, sizeof text, "from %d", rank);
        OK(eddis_broadcast(w->e, text, sizeof text, root, TIMEOUT_NS, &err));
        CHECK(atoi(text + 5) == root, "'%s' from %d", text, root);
    }
    OK(eddis_allgather_start(w->e, &in, out, sizeof in, &r[0], &err));
    OK(eddis_barrier_start(w->e, &r[1], &err));
    OK(eddis_request_wait(w->e, r[1], TIMEOUT_NS, &err));
    OK(eddis_request_wait(w->e, r[0], TIMEOUT_NS, &err));
    for (int i = 0; i < n; i++)
        CHECK(out[i] == i * i, "%d of rank %d", out[i], i);
    free(out);
}

void scenario_collectives(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s);

    for (int i = 0; i < 3; i++) {
        check_reductions(w);
        check_copies(w);
    }
    free(w);
}

/* ---- scopes ---- */

/* The workers of a scope, as they are expected. */
struct scope {
    enum eddis_scope scope;
    int n, here, rank[64];
};

static struct scope scope_of(const struct worker *w, enum eddis_scope scope, const int *of)
{
    struct scope s = { .scope = scope };

    for (int r = 0; r < w->world.n_ranks; r++) {
        if (of && of[r] != of[w->world.rank])
            continue;
        if (r == w->world.rank)
            s.here = s.n;
        s.rank[s.n++] = r;
    }
    return s;
}

static void scope_sum(struct worker *w, const struct scope *s, size_t length)
{
    int64_t *x = malloc(length * sizeof *x), sum = 0;
    const struct eddis_collective c = collective_of(s->scope, EDDIS_ALLREDUCE, x, length);

    for (int i = 0; i < s->n; i++)
        sum += s->rank[i] + 1;
    for (size_t i = 0; i < length; i++)
        x[i] = (w->world.rank + 1) * (int64_t)(i + 1);
    OK(eddis_collective(w->e, &c, TIMEOUT_NS, &err));
    for (size_t i = 0; i < length; i += length - 1)
        CHECK(x[i] == sum * (int64_t)(i + 1), "scope %d: %d", (int)s->scope, (int)x[i]);
    free(x);
}

static void scope_copies(struct worker *w, const struct scope *s)
{
    int own = w->world.rank, all[64] = { 0 }, from = own;
    struct eddis_collective gather = collective_of(s->scope, EDDIS_ALLGATHER, all, sizeof own);
    struct eddis_collective copy = collective_of(s->scope, EDDIS_BROADCAST, &from, sizeof from);
    const struct eddis_collective barrier = collective_of(s->scope, EDDIS_BARRIER, NULL, 0);
    struct eddis_request *r[2] = { NULL };

    gather.in = &own;
    copy.root = s->n - 1;
    OK(eddis_collective_start(w->e, &gather, &r[0], &err));
    OK(eddis_collective_start(w->e, &copy, &r[1], &err));
    OK(eddis_collective(w->e, &barrier, TIMEOUT_NS, &err));
    OK(eddis_request_wait(w->e, r[1], TIMEOUT_NS, &err));
    OK(eddis_request_wait(w->e, r[0], TIMEOUT_NS, &err));
    CHECK(from == s->rank[s->n - 1], "scope %d: from %d", (int)s->scope, from);
    for (int i = 0; i < s->n; i++)
        CHECK(all[i] == s->rank[i], "scope %d: %d", (int)s->scope, all[i]);
}

static void scope_refused(struct worker *w, const struct scope *s)
{
    char x[1];
    struct eddis_collective c = collective_of(s->scope, EDDIS_BROADCAST, x, 1);
    struct eddis_error err;

    c.root = s->n;
    CHECK(eddis_collective(w->e, &c, 0, &err) == -EINVAL, "a root outside: %s", err.text);
    c.scope = (enum eddis_scope)3;
    CHECK(eddis_collective(w->e, &c, 0, &err) == -EINVAL, "a scope: %s", err.text);
    c.kind = (enum eddis_collective_kind)0;
    CHECK(eddis_collective(w->e, &c, 0, &err) == -EINVAL, "a kind: %s", err.text);
    c.size = 0;
    CHECK(eddis_collective(w->e, &c, 0, &err) == -EINVAL, "a size: %s", err.text);
}

/* Return what eddis_world says of all ranks. */
static void gather_worlds(struct worker *w, int *group_of, int *node_of)
{
    OK(eddis_allgather(w->e, &w->world.group, group_of, sizeof *group_of, TIMEOUT_NS, &err));
    OK(eddis_allgather(w->e, &w->world.node, node_of, sizeof *node_of, TIMEOUT_NS, &err));
}

void scenario_scopes(struct eddis *e, const int *group_of, const int *node_of)
{
    struct worker *w = worker_new(e, NULL);
    int reported_group[64], reported_node[64];
    struct scope all, group, node;

    gather_worlds(w, reported_group, reported_node);
    all = scope_of(w, EDDIS_ALL, NULL);
    group = scope_of(w, EDDIS_GROUP, group_of ? group_of : reported_group);
    node = scope_of(w, EDDIS_NODE, node_of ? node_of : reported_node);
    CHECK(w->world.n_group_ranks == group.n && w->world.group_rank == group.here,
          "rank %d of %d in the group", w->world.group_rank, w->world.n_group_ranks);
    CHECK(w->world.group < w->world.n_groups && w->world.node < w->world.n_nodes,
          "group %d, node %d", w->world.group, w->world.node);
    CHECK(node_of || (w->world.n_local_ranks == node.n && w->world.local_rank == node.here),
          "rank %d of %d on the node", w->world.local_rank, w->world.n_local_ranks);
    scope_refused(w, &group);
    for (int i = 0; i < 2 + w->world.group; i++)
        scope_sum(w, &group, i % 2 ? 2 : 70000);
    for (int i = 0; i < 3 + w->world.node; i++)
        scope_copies(w, &node);
    scope_sum(w, &node, 1000);
    scope_copies(w, &group);
    scope_copies(w, &all);
    free(w);
}
