/* SPDX-License-Identifier: Apache-2.0 */
/* values_scenario.c - many gradients by one call, parameters of unlike shapes and without
 * gradients, values that are elsewhere, numbers of 16 bits
 */
#include "scenario.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { LAYERS = 4, EACH = 5, N = LAYERS * EACH, LENGTH = 7 };

struct worker {
    struct eddis *e;
    struct eddis_world world;
};

static struct worker worker_of(struct eddis *e)
{
    return (struct worker){ .e = e, .world = world_of(e) };
}

/* ---- many by one call ---- */

struct many {
    float value[N][LENGTH], gradient[N][LENGTH], result[N][LENGTH];
    int parameter[N];
    const void *source[N];
    void *to[N];
};

static void many_set_up(struct worker *w, struct many *m)
{
    for (int i = 0; i < N; i++) {
        const struct eddis_parameter p = vector_of(m->value[i], LENGTH);

        if (i % EACH == 0)
            GIVES(i / EACH, eddis_add_layer(w->e, "l", EDDIS_LAYER_OTHER, &err));
        GIVES(i, eddis_add_parameter(w->e, i / EACH, &p, &err));
    }
    OK(eddis_commit(w->e, &err));
}

/* Backwards; the first in its slot, the last as zero. */
static void many_fill(struct worker *w, struct many *m)
{
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < LENGTH; k++)
            m->gradient[i][k] = (float)(i + k);
        m->parameter[i] = N - 1 - i;
        m->source[i] = m->gradient[N - 1 - i];
        m->to[i] = m->result[N - 1 - i];
    }
    memcpy(eddis_gradient(w->e, N - 1), m->gradient[N - 1], sizeof m->gradient[0]);
    m->source[0] = NULL;
    m->source[N - 1] = EDDIS_ZERO;
}

/* One that is refused, at each place: none is announced, so that all may be announced after it. */
static void many_refused(struct worker *w, struct many *m, int64_t count)
{

    for (int i = 0; i < N; i++) {
        int right = m->parameter[i];
        const void *source = m->source[i];

        m->parameter[i] = N;
        REFUSED(-EINVAL, "no parameter 20",
                eddis_announce_many(w->e, N, m->parameter, m->source, m->to, &err));
        m->parameter[i] = m->parameter[(i + 1) % N];
        REFUSED(-EINVAL, "twice",
                eddis_announce_many(w->e, N, m->parameter, m->source, m->to, &err));
        m->parameter[i] = right;
        m->source[i] = EDDIS_IN_PLACE;
        REFUSED(-EINVAL, "", eddis_announce_many(w->e, N, m->parameter, m->source, m->to, &err));
        m->source[i] = source;
    }
    OK(eddis_set_weight(w->e, (double)count, &err)); /* as before the first announcement */
}

static void many_check(struct worker *w, const struct many *m, const struct eddis_step *s)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < LENGTH; k++) {
            float wanted = i == 0 ? 0 : (float)(i + k), d = m->result[i][k] - wanted;

            CHECK(s->batch == 0 || (d < 1e-4f && d > -1e-4f));
        }
}

void scenario_many(struct eddis *e, struct scenario *s)
{
    struct worker own = worker_of(e), *w = &own;
    struct many *m = calloc(1, sizeof *m);
    struct eddis_step step;

    many_set_up(w, m);
    many_fill(w, m);
    REFUSED(-EINVAL, "", eddis_announce_many(e, N, m->parameter, m->source, m->to, &err));
    while (step_begin(e, &step)) {
        many_fill(w, m);
        if (step.step == 1)
            many_refused(w, m, step.count);
        OK(eddis_announce_many(e, 0, NULL, NULL, NULL, &err));
        if (step.step % 2) { /* some before it */
            OK(eddis_announce(e, m->parameter[0], m->source[0], m->to[0], &err));
            REFUSED(-EINVAL, "", eddis_announce_many(e, N, m->parameter, m->source, m->to, &err));
            OK(eddis_announce_many(e, N - 1, m->parameter + 1, m->source + 1, m->to + 1, &err));
        } else {
            OK(eddis_announce_many(e, N, m->parameter, m->source, m->to, &err));
        }
        OK(eddis_wait_layer(e, LAYERS - 1, TIMEOUT_NS, &err));
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        REFUSED(-EINVAL, "", eddis_announce_many(e, 1, m->parameter, NULL, NULL, &err));
        many_check(w, m, &step);
        OK(eddis_step_end(e, NULL, &err));
    }
    free(m);
}

/* ---- shapes, and state ---- */

enum { WHOLE, SCALAR, EMPTY, NOTHING, STATE, SHAPES };

struct shapes {
    float value[SHAPES][LENGTH], gradient[SHAPES][LENGTH];
};

static void shapes_set_up(struct worker *w, struct shapes *x)
{
    static const struct {
        int n_dims, factored, state;
        int64_t dims[2];
    } rows[SHAPES] = { [WHOLE] = { 1, 0, 0, { LENGTH } },
                       [SCALAR] = { 0, 0, 0, { 0 } },
                       [EMPTY] = { 2, 1, 0, { 3, 0 } },
                       [NOTHING] = { 1, 0, 0, { 0 } },
                       [STATE] = { 1, 0, 1, { LENGTH } } };

    OK(eddis_add_layer(w->e, "all", EDDIS_LAYER_NORM, &err));
    GIVES(1, eddis_add_layer(w->e, "state", EDDIS_LAYER_NORM, &err));
    for (int i = 0; i < SHAPES; i++) {
        struct eddis_parameter p = vector_of(i == NOTHING ? NULL : x->value[i], 0);

        p.n_dims = rows[i].n_dims;
        p.factored = rows[i].factored;
        p.state = rows[i].state;
        memcpy(p.dims, rows[i].dims, sizeof rows[i].dims);
        GIVES(i, eddis_add_parameter(w->e, i == STATE, &p, &err));
    }
    for (int i = 0; i < SHAPES; i++)
        for (int k = 0; k < LENGTH; k++)
            x->value[i][k] = (float)(w->world.rank + i + 1);
    OK(eddis_commit(w->e, &err));
    OK(eddis_broadcast_parameters(w->e, 0, &err));
    CHECK(x->value[WHOLE][6] == WHOLE + 1 && x->value[SCALAR][0] == SCALAR + 1);
    CHECK(x->value[STATE][6] == STATE + 1);
    CHECK(x->value[SCALAR][1] == (float)(w->world.rank + SCALAR + 1)); /* one element */
}

static void shapes_misuse(struct worker *w, struct shapes *x)
{

    CHECK(eddis_gradient(w->e, STATE) == NULL && eddis_result(w->e, STATE) == NULL);
    CHECK(eddis_gradient(w->e, EMPTY) != NULL);
    REFUSED(-EINVAL, "is state", eddis_announce(w->e, STATE, x->gradient, x->gradient, &err));
    REFUSED(-EINVAL, "", eddis_announce_factors(w->e, STATE, x, x, 1, NULL, &err));
    REFUSED(-EINVAL, "",
            eddis_announce_many(w->e, 2, (const int[]){ WHOLE, STATE }, NULL, NULL, &err));
}

static void shapes_step(struct worker *w, struct shapes *x, const struct eddis_step *s)
{
    float unused = 0;

    for (int k = 0; k < LENGTH; k++)
        x->gradient[WHOLE][k] = x->gradient[SCALAR][k] = (float)(k + 1);
    OK(eddis_announce_layer(w->e, 1, &err)); /* which has none */
    if (s->step == 1)
        shapes_misuse(w, x);
    OK(eddis_announce(w->e, SCALAR, x->gradient[SCALAR], x->gradient[SCALAR], &err));
    OK(eddis_announce_factors(w->e, EMPTY, x->gradient, &unused, 1, &unused, &err));
    OK(eddis_announce(w->e, NOTHING, NULL, NULL, &err));
    OK(eddis_announce(w->e, WHOLE, x->gradient[WHOLE], x->gradient[WHOLE], &err));
    OK(eddis_wait_layer(w->e, 1, 0, &err));
    OK(eddis_wait_layer(w->e, 0, TIMEOUT_NS, &err));
    OK(eddis_wait(w->e, TIMEOUT_NS, &err));
    CHECK(!s->batch || (x->gradient[SCALAR][0] > 0.999f && x->gradient[SCALAR][0] < 1.001f));
    CHECK(!s->batch || (x->gradient[WHOLE][6] > 6.999f && x->gradient[WHOLE][6] < 7.001f));
    CHECK(x->gradient[SCALAR][1] == 2 && unused == 0);
    OK(eddis_step_end(w->e, NULL, &err));
}

/* Return whether groups combine their models in rounds, and begin with that of rank 0. */
static bool is_local(const struct worker *w)
{
    return strcmp(w->world.mode, "local") == 0;
}

/* State is each worker's own in sync mode; several models draw each other's, a group has its first
 * member's.
 */
static void shapes_check(struct worker *w, const struct shapes *x)
{
    float *all = calloc((size_t)w->world.n_ranks, sizeof *all);
    float own = x->value[STATE][LENGTH - 1];

    OK(eddis_allgather(w->e, &own, all, sizeof own, TIMEOUT_NS, &err));
    if (w->world.n_groups == 1)
        CHECK(own == (float)w->world.rank);
    for (int i = 0; i < w->world.n_ranks && w->world.n_groups > 1; i++)
        CHECK(all[i] == own &&
              (is_local(w) || (own > 0.01f && own < (float)w->world.n_ranks - 1.01f)));
    free(all);
}

void scenario_shapes(struct eddis *e, struct scenario *s)
{
    struct worker own = worker_of(e), *w = &own;
    struct shapes *x = calloc(1, sizeof *x);
    struct eddis_step step;

    shapes_set_up(w, x);
    for (int k = 0; k < LENGTH; k++)
        x->value[STATE][k] = (float)w->world.rank;
    while (step_begin(e, &step))
        shapes_step(w, x, &step);
    shapes_check(w, x);
    free(x);
}

/* ---- values elsewhere ---- */

enum { PLACES = 2, PARAMETERS = 2, ELSEWHERE_PERIOD = 2 };

/* Values on a device, and the two places in host memory that they are copied to in turns. */
struct elsewhere {
    float device[PARAMETERS][LENGTH], host[PLACES][PARAMETERS][LENGTH];
    int at;
    bool reads; /* the next beginning does ... */
    bool saved; /* ... unless a checkpoint came between */
    int64_t steps, written;
};

static void elsewhere_to_host(struct elsewhere *x)
{
    memcpy(x->host[x->at], x->device, sizeof x->device);
}

static void elsewhere_from_host(struct worker *w, struct elsewhere *x)
{
    memcpy(x->device, x->host[x->at], sizeof x->device);
    for (int i = 0; i < PARAMETERS; i++)
        for (int k = 0; k < LENGTH; k++)
            CHECK(x->device[i][k] >= 0 && x->device[i][k] <= (float)(w->world.n_ranks - 1));
}

/* What nobody may read. */
static void elsewhere_spoil(float place[PARAMETERS][LENGTH])
{
    memset(place, 0xff, PARAMETERS * sizeof *place);
}

/* Tensors are made anew for every step. */
static void elsewhere_move(struct worker *w, struct elsewhere *x)
{
    int to = !x->at;

    memcpy(x->host[to], x->host[x->at], sizeof x->host[to]);
    elsewhere_spoil(x->host[x->at]);
    x->at = to;
    for (int i = 0; i < PARAMETERS; i++)
        OK(eddis_set_value(w->e, i, x->host[to][i], &err));
}

static void elsewhere_set_up(struct worker *w, struct elsewhere *x)
{
    size_t bytes = 0;
    char *block;

    for (int i = 0; i < PARAMETERS; i++)
        for (int k = 0; k < LENGTH; k++)
            x->device[i][k] = (float)w->world.rank;
    OK(eddis_add_layer(w->e, "all", EDDIS_LAYER_NORM, &err));
    for (int i = 0; i < PARAMETERS; i++) {
        struct eddis_parameter p = vector_of(x->host[0][i], LENGTH);

        p.state = i;
        GIVES(i, eddis_add_parameter(w->e, 0, &p, &err));
    }
    CHECK(eddis_gradient_block(w->e, &bytes) == NULL);
    elsewhere_move(w, x);
    OK(eddis_commit(w->e, &err));
    block = eddis_gradient_block(w->e, &bytes);
    CHECK((uintptr_t)block % 64 == 0 && (char *)eddis_gradient(w->e, 0) >= block);
    CHECK((char *)eddis_gradient(w->e, 0) + LENGTH * sizeof(float) <= block + bytes);
    elsewhere_to_host(x);
    OK(eddis_broadcast_parameters(w->e, w->world.n_ranks - 1, &err));
    elsewhere_from_host(w, x);
    for (int i = 0; i < PARAMETERS; i++)
        for (int k = 0; k < LENGTH; k++) {
            CHECK(x->device[i][k] == (float)(w->world.n_ranks - 1));
            x->device[i][k] = (float)w->world.rank;
        }
}

/* The step's beginning did what the step before has said. */
static void elsewhere_begun(struct worker *w, struct elsewhere *x, const struct eddis_step *s)
{
    bool written = s->flags & EDDIS_STEP_WRITTEN, root = w->world.group_rank == 0;
    bool several = w->world.flags & EDDIS_WORLD_SEVERAL;

    CHECK(!root || s->step == 0 || written == (x->reads && !x->saved));
    CHECK(s->step || written == is_local(w));
    CHECK(several || !(s->flags & (EDDIS_STEP_READS | EDDIS_STEP_WRITTEN)));
    if (written)
        elsewhere_from_host(w, x);
    else if (s->step && !x->reads)
        CHECK(((unsigned char *)x->host[x->at])[5] == 0xff);
    x->steps++;
    x->written += written;
    x->reads = s->flags & EDDIS_STEP_READS;
    x->saved = false;
    elsewhere_spoil(x->host[x->at]);
}

/* The centre comes, and goes. */
static void elsewhere_save(struct worker *w, struct elsewhere *x, const char *folder)
{
    struct eddis_checkpoint *c = NULL;
    float own[PARAMETERS][LENGTH];

    elsewhere_to_host(x);
    memcpy(own, x->device, sizeof own);
    OK(eddis_checkpoint_begin(w->e, folder, &c, &err));
    elsewhere_from_host(w, x);
    elsewhere_move(w, x);
    OK(eddis_checkpoint_put(c, "w", x->device, sizeof x->device, &err));
    OK(eddis_checkpoint_commit(c, 0, &err));
    elsewhere_from_host(w, x);
    CHECK(is_local(w) || memcmp(own, x->device, sizeof own) == 0);
    x->saved = true;
    elsewhere_spoil(x->host[x->at]);
}

/* Models of several groups were drawn to each other, through all the copying, at every second step
 * at first; who came late may have made none.
 */
static void elsewhere_check(struct worker *w, const struct elsewhere *x)
{
    float *all = calloc((size_t)w->world.n_ranks, sizeof *all);
    bool several = w->world.flags & EDDIS_WORLD_SEVERAL;

    OK(eddis_allgather(w->e, &x->device[1][2], all, sizeof *all, TIMEOUT_NS, &err));
    for (int i = 0; i < w->world.n_ranks; i++)
        CHECK(several ? all[i] == all[0] && (is_local(w) || all[i] > 0.01f) : all[i] == (float)i);
    CHECK(several ? x->written > 0 || x->steps <= ELSEWHERE_PERIOD : x->written == 0);
    free(all);
}

void scenario_elsewhere(struct eddis *e, struct scenario *s)
{
    struct worker own = worker_of(e), *w = &own;
    struct elsewhere *x = calloc(1, sizeof *x);
    struct eddis_step step;

    elsewhere_set_up(w, x);
    x->reads = true; /* the first beginning does */
    for (;;) {
        if (x->reads)
            elsewhere_to_host(x);
        elsewhere_move(w, x);
        if (!step_begin(e, &step))
            break;
        elsewhere_begun(w, x, &step);
        OK(eddis_announce(e, 0, EDDIS_ZERO, eddis_gradient(e, 0), &err));
        step_end(e);
        if (s->folder && step.flags & EDDIS_STEP_CHECKPOINT)
            elsewhere_save(w, x, s->folder);
    }
    CHECK(!(w->world.flags & EDDIS_WORLD_SEVERAL) || w->world.group_rank || x->reads);
    if (w->world.flags & EDDIS_WORLD_SEVERAL)
        elsewhere_from_host(w, x);
    elsewhere_check(w, x);
    free(x);
}

/* ---- 16 bits ---- */

enum { HALVES = 2, HALF_LENGTH = 1200, HALF_ROWS = 2, HALF_COLUMNS = 600 };

static const enum eddis_dtype half_type[HALVES] = { EDDIS_FLOAT16, EDDIS_BFLOAT16 };
static const double half_unit[HALVES] = { 0x1p-11, 0x1p-8 }; /* of rounding, relative */

/* Of each type a vector, and a matrix whose gradient is given by factors. */
struct halves {
    uint16_t value[HALVES][2][HALF_LENGTH], gradient[HALVES][2][HALF_LENGTH];
    uint16_t u[HALVES][2 * HALF_ROWS], v[HALVES][2 * HALF_COLUMNS];
};

static double half_number(int type, uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    double fraction = (bits & 0x3ff) / 1024.0;
    int exponent = bits >> 10 & 31;
    float f;

    memcpy(&f, &wide, sizeof f);
    if (half_type[type] == EDDIS_BFLOAT16)
        return (double)f;
    return (bits >> 15 ? -1 : 1) *
           (exponent ? ldexp(1 + fraction, exponent - 15) : ldexp(fraction, -14));
}

/* Positive; rounded down to what has so few bits that both types have it. */
static uint16_t half_bits(int type, double x)
{
    float f = (float)x;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    if (half_type[type] == EDDIS_BFLOAT16 || x == 0)
        return (uint16_t)(bits >> 16);
    return (uint16_t)(((bits >> 23) - 127 + 15) << 10 | (bits >> 16 & 0x7f) << 3);
}

static void halves_set_up(struct worker *w, struct halves *x)
{

    OK(eddis_add_layer(w->e, "all", EDDIS_LAYER_DENSE, &err));
    for (int i = 0; i < 2 * HALVES; i++) {
        struct eddis_parameter p = vector_of(x->value[i / 2][i % 2], HALF_LENGTH);

        p.dtype = half_type[i / 2];
        p.result = x->gradient[i / 2][i % 2];
        if (i % 2) {
            p.n_dims = 2;
            p.dims[0] = HALF_ROWS;
            p.dims[1] = HALF_COLUMNS;
            p.factored = 1;
        }
        GIVES(i, eddis_add_parameter(w->e, 0, &p, &err));
    }
    OK(eddis_commit(w->e, &err));
    for (int t = 0; t < HALVES; t++)
        for (int k = 0; k < HALF_LENGTH; k++)
            x->value[t][0][k] = x->value[t][1][k] = half_bits(t, 1 + w->world.rank * k / 64.0);
    OK(eddis_broadcast_parameters(w->e, 0, &err));
    for (int t = 0; t < HALVES; t++)
        CHECK(half_number(t, x->value[t][1][HALF_LENGTH - 1]) == 1);
}

/* Each member's gradient is its place in the group and one, times the element and one. */
static void halves_announce(struct worker *w, struct halves *x)
{
    double own = w->world.group_rank + 1;

    for (int t = 0; t < HALVES; t++) {
        for (int k = 0; k < HALF_LENGTH; k++)
            x->gradient[t][0][k] = half_bits(t, own * (k % 32 + 1));
        for (int i = 0; i < 2 * HALF_ROWS; i++)
            x->u[t][i] = half_bits(t, own * (i + 1));
        for (int j = 0; j < 2 * HALF_COLUMNS; j++)
            x->v[t][j] = half_bits(t, j % 8 + 1);
        OK(eddis_announce(w->e, 2 * t, x->gradient[t][0], NULL, &err));
        OK(eddis_announce_factors(w->e, 2 * t + 1, x->u[t], x->v[t], 2, NULL, &err));
    }
}

/* Rounded when it is packed, at each hop and at the end. */
static void halves_near(struct worker *w, int type, uint16_t bits, double wanted)
{
    double most = half_unit[type] * (w->world.n_group_ranks + 2) * wanted;

    CHECK(fabs(half_number(type, bits) - wanted) <= most);
}

/* The weighted mean, and the same bits on all of the group. */
static void halves_combined(struct worker *w, const struct halves *x, const struct eddis_step *s)
{
    int64_t count[64] = { 0 };
    double mean = 0;

    check_same(w->e, EDDIS_GROUP, x->gradient, sizeof x->gradient);
    GIVES(w->world.n_group_ranks, eddis_counts(w->e, s->step, count, &err));
    for (int i = 0; i < w->world.n_group_ranks; i++)
        mean += (double)count[i] / (double)s->batch * (i + 1);
    for (int t = 0; t < HALVES && s->batch; t++)
        for (int k = 0; k < HALF_LENGTH; k++) {
            int i = k / HALF_COLUMNS, j = k % HALF_COLUMNS;

            halves_near(w, t, x->gradient[t][0][k], mean * (k % 32 + 1));
            halves_near(w, t, x->gradient[t][1][k],
                        mean * ((i + 1) * (j % 8 + 1) +
                                (i + 1 + HALF_ROWS) * ((j + HALF_COLUMNS) % 8 + 1)));
        }
}

void scenario_half(struct eddis *e, struct scenario *s)
{
    struct worker own = worker_of(e), *w = &own;
    struct halves *x = calloc(1, sizeof *x);
    struct eddis_step step;

    halves_set_up(w, x);
    while (step_begin(e, &step)) {
        halves_announce(w, x);
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        if (step.batch && step.step < 4)
            halves_combined(w, x, &step);
        OK(eddis_step_end(e, NULL, &err));
    }
    free(x);
}

/* Weights of any size, unlike in each step and on each worker, leave the mean a mean: 1000 times
 * the first one's would be no number of 16 bits any more.  The last row's are of a round.
 */
static double weighted_by(const struct worker *w, int64_t step)
{
    static const double row[] = { 1e5, 1e-3, 3e7, 1, 1e-6, 2e4 };

    return row[step % 6] * (w->world.group_rank + 1);
}

static void weighted_step(struct worker *w, struct halves *x, const struct eddis_step *s)
{
    double size = s->step % 2 ? 1e-3 : 1e3, weight = weighted_by(w, s->step), sum = 0, all = 0;

    if (s->step % 6 == 5)
        OK(eddis_set_round_weight(w->e, 0, weight, &err));
    else
        OK(eddis_set_weight(w->e, weight, &err));
    for (int t = 0; t < HALVES; t++) {
        for (int k = 0; k < HALF_LENGTH; k++)
            x->gradient[t][0][k] = half_bits(t, size * (w->world.group_rank + 1));
        OK(eddis_announce(w->e, 2 * t, x->gradient[t][0], NULL, &err));
    }
    OK(eddis_wait(w->e, TIMEOUT_NS, &err));
    for (int t = 0; t < HALVES; t++) {
        sum = all = 0;
        for (int i = 0; i < w->world.n_group_ranks; i++) {
            sum += (i + 1) * half_number(t, half_bits(t, size * (i + 1)));
            all += i + 1;
        }
        for (int k = 0; k < HALF_LENGTH && s->batch; k++)
            halves_near(w, t, x->gradient[t][0][k], sum / all);
    }
    OK(eddis_step_end(w->e, NULL, &err));
}

void scenario_weighted(struct eddis *e, struct scenario *s)
{
    struct worker own = worker_of(e), *w = &own;
    struct halves *x = calloc(1, sizeof *x);
    struct eddis_step step;

    halves_set_up(w, x);
    while (step_begin(e, &step))
        weighted_step(w, x, &step);
    free(x);
}

/* Groups begin apart from each other; the first is the centre, too.  What all have in the end is
 * the mean, as near as numbers of 16 bits are: a centre of 16 bits would stop moving before.
 */
static void check_mean(struct worker *w, const struct halves *x)
{
    int n = w->world.n_groups, members = w->world.n_ranks / n;

    for (int t = 0; t < HALVES; t++)
        for (int k = 0; k < HALF_LENGTH; k++) {
            double sum = half_number(t, half_bits(t, 1)), got = half_number(t, x->value[t][0][k]);

            for (int g = 0; g < n; g++)
                sum += half_number(t, half_bits(t, 1 + g * members * (k % 97) / 97.0));
            sum /= n + 1;
            CHECK(fabs(got - sum) <= 1.01 * half_unit[t] * (sum < 2 ? 1 : sum < 4 ? 2 : 4));
        }
}

void scenario_mean(struct eddis *e, struct scenario *s)
{
    struct worker own = worker_of(e), *w = &own;
    struct halves *x = calloc(1, sizeof *x);
    struct eddis_step step;
    int group;

    halves_set_up(w, x);
    w->world = world_of(e);
    group = w->world.group * (w->world.n_ranks / w->world.n_groups);
    for (int t = 0; t < HALVES; t++)
        for (int k = 0; k < HALF_LENGTH; k++)
            x->value[t][0][k] = half_bits(t, 1 + group * (k % 97) / 97.0);
    while (step_begin(e, &step)) {
        step_end(e);
        s->keep_pace(s->arg, w->world.rank, step_is_last(e, &step) ? INT64_MAX : step.step);
    }
    check_mean(w, x);
    free(x);
}
