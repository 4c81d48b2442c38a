/* SPDX-License-Identifier: Apache-2.0 */
/* sets_scenario.c - two sets whose gradients need each other's values, and mismatched rounds */
#include "scenario.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SETS = 2, PARAMETERS = 5, MOST = 300 };

#define RATE 0.2

static const struct row {
    int set, n;
    enum eddis_dtype dtype;
} rows[PARAMETERS] = {
    { 0, 7, EDDIS_FLOAT32 }, { 1, 64, EDDIS_FLOAT64 }, { 0, MOST, EDDIS_FLOAT32 },
    { 1, 5, EDDIS_FLOAT32 }, { 0, 1, EDDIS_FLOAT64 },
};

/* Of one parameter, in either type. */
union block {
    float f[MOST];
    double d[MOST];
};

struct worker {
    struct eddis *e;
    struct scenario *s;
    struct eddis_world world;
    union block value[PARAMETERS], source[PARAMETERS], result[PARAMETERS];
    double serial[PARAMETERS][MOST]; /* one process's values */
    double mean;                     /* of this worker's samples */
    double weight;                   /* of the step */
};

static double get(const union block *b, int p, int k)
{
    return rows[p].dtype == EDDIS_FLOAT32 ? (double)b->f[k] : b->d[k];
}

static void put(union block *b, int p, int k, double x)
{
    if (rows[p].dtype == EDDIS_FLOAT32)
        b->f[k] = (float)x;
    else
        b->d[k] = x;
}

/* A gradient is all * x - fed * other, where `other` is a value of the other set: of the mean over
 * samples, all is 1 and fed the mean of their inputs.
 */
static double slope(double x, double other, double all, double fed)
{
    return all * (x - 0.3) - 0.5 * fed * other;
}

/* Of the other set the first parameter has these. */
static int other_of(int p)
{
    return rows[p].set ? 0 : 1;
}

static void add_layers(struct worker *w, int sets)
{
    for (int p = 0; p < PARAMETERS; p++) {
        struct eddis_parameter x = vector_of(&w->value[p], rows[p].n);
        int layer, set = sets == 1 ? 0 : rows[p].set;
        char name[16];

        (void)snprintf(name, sizeof name, "layer%d", p);
        x.dtype = rows[p].dtype;
        x.result = p % 3 == 1 ? EDDIS_IN_PLACE : (void *)&w->result[p];
        SUCCEEDS(layer = eddis_add_layer_to(w->e, set, name, EDDIS_LAYER_DENSE, &err));
        GIVES(p, eddis_add_parameter(w->e, layer, &x, &err));
    }
}

static void serial_take(struct worker *w)
{
    for (int p = 0; p < PARAMETERS; p++)
        for (int k = 0; k < rows[p].n; k++)
            w->serial[p][k] = get(&w->value[p], p, k);
}

/* ---- a round ---- */

/* Announce a set's gradients of the present values, by pointers and in slots, the last first. */
static void announce(struct worker *w, int set)
{
    for (int p = PARAMETERS - 1; p >= 0; p--) {
        union block *g = p % 2 ? eddis_gradient(w->e, p) : &w->source[p];
        int o = other_of(p);

        if (rows[p].set != set)
            continue;
        for (int k = 0; k < rows[p].n; k++) /* of no samples: must not be read */
            put(g, p, k,
                w->weight > 0 ? slope(get(&w->value[p], p, k), get(&w->value[o], o, k % rows[o].n),
                                      1, w->mean)
                              : NAN);
        OK(eddis_announce(w->e, p, p % 2 ? NULL : g, NULL, &err));
    }
}

/* The combined gradient as one process has it: of the weights of all and of those that announce. */
struct shares {
    double all, fed;
};

static struct shares share(struct worker *w, double weight, int announces)
{
    double x[3] = { weight, announces ? weight : 0, 0 };
    struct eddis_collective add = collective_of(EDDIS_GROUP, EDDIS_ALLREDUCE, x, 3);

    add.dtype = EDDIS_FLOAT64;
    if (announces && weight > 0)
        x[2] = weight * w->mean;
    OK(eddis_collective(w->e, &add, TIMEOUT_NS, &err));
    return x[0] > 0 ? (struct shares){ x[1] / x[0], x[2] / x[0] } : (struct shares){ 0 };
}

enum { SET_0 = 1, SET_1 = 2 };

/* Move sets along what was combined, and one process's along what it must be. */
static void update(struct worker *w, unsigned sets, struct shares s)
{
    double old[PARAMETERS][MOST];

    memcpy(old, w->serial, sizeof old);
    for (int p = 0; p < PARAMETERS; p++) {
        const union block *r = p % 3 == 1 ? eddis_result(w->e, p) : &w->result[p];
        int o = other_of(p);

        for (int k = 0; sets >> rows[p].set & 1 && k < rows[p].n; k++) {
            put(&w->value[p], p, k, get(&w->value[p], p, k) - RATE * get(r, p, k));
            w->serial[p][k] -= RATE * slope(old[p][k], old[o][k % rows[o].n], s.all, s.fed);
        }
    }
}

static void whole_round(struct worker *w, int set)
{
    struct shares s = share(w, w->weight, 1);

    announce(w, set);
    OK(eddis_wait_set(w->e, set, TIMEOUT_NS, &err));
    update(w, 1U << set, s);
}

/* ---- steps ---- */

/* A discriminator, and then a generator that needs its new values. */
static void step_turns(struct worker *w)
{
    struct shares s;

    whole_round(w, 0);
    s = share(w, w->weight, 1);
    announce(w, 1);
    OK(eddis_wait(w->e, TIMEOUT_NS, &err));
    update(w, SET_1, s);
}

/* A closure that is called three times; the other set has no part. */
static void step_closure(struct worker *w)
{
    for (int i = 0; i < 3; i++)
        whole_round(w, 1);
}

/* Both under way at once, and the later one waited for first. */
static void step_both(struct worker *w)
{
    struct shares s = share(w, w->weight, 1);

    announce(w, 1);
    OK(eddis_wait_layer(w->e, 3, TIMEOUT_NS, &err));
    announce(w, 0);
    OK(eddis_wait_set(w->e, 0, TIMEOUT_NS, &err));
    OK(eddis_wait_set(w->e, 1, TIMEOUT_NS, &err));
    OK(eddis_wait_layer(w->e, 3, 0, &err));
    update(w, SET_0 | SET_1, s);
}

/* Two backward passes through one set, the second with weights of its own. */
static void step_passes(struct worker *w)
{
    double weight = 1.0 + w->world.rank;
    struct shares s;

    whole_round(w, 0);
    OK(eddis_set_round_weight(w->e, 0, w->weight > 0 ? weight : 0, &err));
    s = share(w, w->weight > 0 ? weight : 0, 1);
    announce(w, 0);
    OK(eddis_wait_set(w->e, 0, TIMEOUT_NS, &err));
    update(w, SET_0, s);
    whole_round(w, 1);
}

/* Every second worker announces nothing, which is a round of zeros of each set. */
static void step_absent(struct worker *w)
{
    int announces = w->world.rank % 2 == 0;
    struct shares s = share(w, w->weight, announces);

    for (int set = 0; announces && set < SETS; set++)
        announce(w, set);
    OK(eddis_wait(w->e, TIMEOUT_NS, &err));
    update(w, SET_0 | SET_1, s);
}

static void (*const steps[])(struct worker *w) = { step_turns, step_closure, step_both, step_passes,
                                                   step_absent };

enum { STEPS = sizeof steps / sizeof *steps };

static void check(struct worker *w, const struct eddis_step *s)
{
    for (int p = 0; p < PARAMETERS; p++)
        for (int k = 0; k < rows[p].n; k++) {
            double x = get(&w->value[p], p, k), want = w->serial[p][k];

            if (fabs(x - want) <= 1e-5 * (1 + fabs(want)))
                continue;
            CHECK(0, "step %d: element %d of parameter %d is %g instead of %g", (int)s->step, k, p,
                  x, want);
            return;
        }
}

static void checkpoint(struct worker *w)
{
    struct eddis_checkpoint *c = NULL;
    int back = w->s->checkpoints++ == 0 && w->s->go_back;
    char name[16];

    OK(eddis_checkpoint_begin(w->e, NULL, &c, &err));
    for (int p = 0; p < PARAMETERS && w->world.rank == 0; p++) {
        (void)snprintf(name, sizeof name, "w%d", p);
        OK(eddis_checkpoint_put(c, name, &w->value[p], sizeof w->value[p], &err));
    }
    OK(eddis_checkpoint_commit(c, 0, &err));
    if (!back)
        return;
    GIVES(1, eddis_restore_begin(w->e, NULL, &c, &err));
    for (int p = 0; p < PARAMETERS; p++) {
        (void)snprintf(name, sizeof name, "w%d", p);
        OK(eddis_checkpoint_get(c, name, &w->value[p], sizeof w->value[p], &err));
    }
    OK(eddis_restore_end(c, &err));
    serial_take(w);
}

static void one_step(struct worker *w, const struct eddis_step *s)
{
    int64_t index[SCENARIO_SAMPLES];

    OK(eddis_sample_indices(w->e, s, index, &err));
    w->mean = 0;
    w->weight = (double)s->count;
    for (int64_t i = 0; i < s->count; i++)
        w->mean += sin((double)index[i] * 1.7) / (double)s->count;
    if (w->world.flags & EDDIS_WORLD_SEVERAL)
        serial_take(w); /* the step before it has drawn to the centre */
    if (s->batch)
        steps[s->step % STEPS](w);
    OK(eddis_wait(w->e, TIMEOUT_NS, &err));
    check(w, s);
    OK(eddis_step_end(w->e, NULL, &err));
}

static struct worker *worker_new(struct eddis *e, struct scenario *s, int sets)
{
    struct worker *w = calloc(1, sizeof *w);

    w->e = e;
    w->s = s;
    add_layers(w, sets);
    OK(eddis_commit(e, &err));
    w->world = world_of(e);
    return w;
}

void scenario_sets(struct eddis *e, struct scenario *s)
{
    struct worker *w = worker_new(e, s, SETS);
    struct eddis_step step;
    int64_t before = -1;

    for (int p = 0; p < PARAMETERS; p++)
        for (int k = 0; k < rows[p].n; k++)
            put(&w->value[p], p, k, w->world.rank ? -1 : cos(k + p));
    OK(eddis_broadcast_parameters(e, 0, &err));
    serial_take(w);
    while (step_begin(e, &step)) {
        s->splits += before >= 0 && before != step.count;
        before = step.count;
        one_step(w, &step);
        s->steps++;
        s->done += step.count;
        if (s->after_step && w->world.rank == 0)
            s->after_step(s->arg, step.step);
        if (step.flags & EDDIS_STEP_CHECKPOINT)
            checkpoint(w);
    }
    check_same(e, EDDIS_ALL, w->value, sizeof w->value);
    OK(eddis_allreduce(e, &s->done, 1, EDDIS_INT64, EDDIS_SUM, TIMEOUT_NS, &err));
    free(w);
}

/* ---- rounds that do not fit ---- */

/* A step of both sets; the last rank does its own.  Returns what failed first. */
static int unlike_step(struct worker *w, enum sets_mismatch how, int unlike,
                       struct eddis_error *err)
{
    int first = how == SETS_ORDER && unlike, sets = how >= SETS_ONE ? 1 : SETS, rc = 0;

    for (int i = PARAMETERS - 1; rc == 0 && how == SETS_LAYERS && i >= 0; i--) {
        rc = eddis_announce(w->e, i, EDDIS_ZERO, NULL, err);
        if (rc == 0)
            rc = eddis_wait_layer(w->e, i, TIMEOUT_NS, err);
    }
    for (int i = 0; rc == 0 && i < sets; i++)
        rc = eddis_wait_set(w->e, i ^ first, TIMEOUT_NS, err);
    if (rc == 0 && unlike && how != SETS_ORDER)
        rc = eddis_wait_set(w->e, 0, TIMEOUT_NS, err);
    if (rc == 0)
        rc = eddis_wait(w->e, TIMEOUT_NS, err);
    return rc < 0 ? rc : eddis_step_end(w->e, NULL, err);
}

void scenario_sets_mismatch(struct eddis *e, enum sets_mismatch how)
{
    struct worker *w = worker_new(e, NULL, how >= SETS_ONE ? 1 : SETS);
    int last = w->world.n_ranks - 1, rc = 0, more = 1;
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    const char *first, *second;
    char name[32];

    for (int i = 0; rc == 0 && i < 6; i++) {
        more = eddis_step_begin(e, &s, &err);
        rc = more < 0 ? more : unlike_step(w, how, i == 3 && w->world.rank == last, &err);
    }
    CHECK(rc == -EPROTO, "%d %s", rc, err.text);
    (void)snprintf(name, sizeof name, "rank %d ", last);
    first = strstr(err.text, "rank ");
    second = first ? strstr(first + 1, "rank ") : NULL;
    CHECK(strstr(err.text, name) && second && atoi(first + 5) != atoi(second + 5), "%s", err.text);
    free(w);
}
