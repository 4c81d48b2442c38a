/* SPDX-License-Identifier: Apache-2.0 */
/* test_models.c - the algorithms that average models, on workers in virtual time
 * (bench/simulation.h): properties 1, 2 and 15 to 18 of synchronisation, what SEASGD, HSGD, the
 * shared counter and the alignment of ends promise.
 */
#include "bench/simulation.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/smb/smb.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum { MAX_RANKS = 16, DIM = 6, MAX_STEPS = 9000, MAX_PULLS = 2000 };

/* What one rank trained, and when. */
struct trace {
    int64_t n;
    double drawn[MAX_STEPS], x[MAX_STEPS]; /* first value before each step's gradient, after it */
    int64_t begin_ns[MAX_STEPS], end_ns[MAX_STEPS], count[MAX_STEPS], hidden_ns[MAX_STEPS];
};

/* f(x) = h/2 (x - target)^2 in each value, or least squares when data is set. */
struct problem {
    struct simulation_options o;
    int group[MAX_RANKS], node[MAX_RANKS];
    int64_t batch[MAX_RANKS];
    double x[MAX_RANKS][DIM], start[MAX_RANKS][DIM], before[MAX_RANKS][DIM];
    double last[MAX_RANKS][DIM]; /* own values when each had made its last exchange */
    void *value[MAX_RANKS];
    struct engine_parameter parameter;
    double eta;
    bool old_gradient; /* at the values before the exchange, as EASGD has it */
    bool least_squares;
    int64_t duration_ns[MAX_RANKS];
    struct simulation_result result;
    struct trace *trace; /* [n_ranks] */
    bool unequal;        /* members of a group differed */
};

/* ---- what is asked of the box ---- */

/* A rank's requests; they come to the counter of samples one by one, so rank 0 is the first. */
static struct asker {
    const struct smb *box;
    smb_key centre, own;              /* buffers of parameters: attached to, written to */
    const struct smb_request *update; /* the last accumulate */
    int reads, sums, seeds;           /* of, into and over the centre */
    bool strange, early;              /* another request; a read before the update was over */
    double read_x;                    /* the writer's first value when the newest read began */
    int ahead;                        /* increments before which that changed */
    int n;                            /* increments; the first MAX_PULLS of them: */
    struct pull {
        double d[DIM], x[DIM]; /* the increment; own values after it */
        int others;            /* increments of all other writers so far */
    } pull[MAX_PULLS];
} askers[MAX_RANKS];

static struct asker *asker_of(const struct smb *box)
{
    int i = 0;

    while (i < MAX_RANKS && askers[i].box && askers[i].box != box)
        i++;
    ck_assert_int_lt(i, MAX_RANKS);
    askers[i].box = box;
    return &askers[i];
}

static const double *values_of(int rank);

/* Record an increment that a writer is about to write, and its values, which it has changed. */
static void note_pull(struct asker *a, const double *d)
{
    struct pull *at;

    if (a->n++ >= MAX_PULLS)
        return;
    at = &a->pull[a->n - 1];
    a->ahead += fabs(values_of((int)(a - askers))[0] + d[0] - a->read_x) > 1e-12;
    memcpy(at->d, d, sizeof at->d);
    memcpy(at->x, values_of((int)(a - askers)), sizeof at->x);
    for (const struct asker *b = askers; b < askers + MAX_RANKS; b++)
        at->others += b == a ? 0 : b->n;
}

static void note_write(struct asker *a, const struct smb_request *r)
{
    smb_key key = r->key;

    if (key.id != a->centre.id)
        note_pull(a, r->data);
    if (key.id == a->centre.id)
        a->seeds++;
    else if (a->own.id)
        a->strange |= a->own.id != key.id;
    else
        a->own = key;
}

static void note(struct asker *a, const struct smb_request *r)
{
    if (r->kind == SMB_ATTACH && r->type == COMM_FLOAT64)
        a->centre = r->key;
    if (r->kind == SMB_WRITE)
        note_write(a, r);
    if (r->kind == SMB_ACCUMULATE) {
        a->strange |= r->key.id != a->centre.id || r->source.id != a->own.id;
        a->update = r;
        a->sums++;
    }
    if (r->kind == SMB_READ) {
        a->strange |= r->key.id != a->centre.id;
        a->early |= a->update && !(a->update->kind == SMB_ACCUMULATE && a->update->done);
        a->reads++;
        a->read_x = values_of((int)(a - askers))[0];
    }
}

/* The linker puts the second in the place of smb_start, whose name becomes the first. */
int __real_smb_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err);
int __wrap_smb_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err);
int __wrap_smb_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err)
{
    note(asker_of(b), r);
    return __real_smb_start(b, r, now_ns, out, err);
}

/* ---- problems ---- */

static double input(int64_t sample, int j)
{
    return sin((double)(sample * DIM + j) * 1.7);
}

static void least_squares(const double *w, int64_t first, int64_t count, double *g)
{
    memset(g, 0, DIM * sizeof *g);
    for (int64_t i = first; i < first + count; i++) {
        double e = -cos((double)i);

        for (int j = 0; j < DIM; j++)
            e += w[j] * input(i, j);
        for (int j = 0; j < DIM; j++)
            g[j] += e * input(i, j) / (double)count;
    }
}

static int64_t compute(void *arg, int rank, const struct simulation_step *s, void *const *slot)
{
    struct problem *p = arg;
    const double *x = p->old_gradient && s->step ? p->before[rank] : p->x[rank];
    double *g = slot[0];

    ck_assert_int_lt(s->step, MAX_STEPS);
    p->trace[rank].drawn[s->step] = p->x[rank][0];
    if (p->least_squares)
        least_squares(x, s->first, s->count, g);
    else
        memcpy(g, x, DIM * sizeof *g);
    return p->duration_ns[rank] + (s->step == 0 ? p->duration_ns[rank] * rank / p->o.n_ranks : 0);
}

static void update(void *arg, int rank, const struct simulation_step *s, void *const *slot)
{
    struct problem *p = arg;
    struct trace *t = &p->trace[rank];
    const double *g = slot[0];

    for (int j = 0; j < DIM; j++)
        p->x[rank][j] -= p->eta * g[j];
    memcpy(p->before[rank], p->x[rank], sizeof p->x[rank]);
    ck_assert_int_eq(t->n, s->step);
    t->x[t->n] = p->x[rank][0];
    t->begin_ns[t->n] = s->begin_ns;
    t->end_ns[t->n] = s->end_ns;
    t->hidden_ns[t->n] = s->hidden_ns;
    t->count[t->n++] = s->count;
    for (int i = 0; i < p->o.n_ranks; i++)
        if (p->group[i] == p->group[rank] && p->trace[i].n == t->n)
            p->unequal |= memcmp(p->before[i], p->x[rank], sizeof p->x[i]) != 0;
}

static void last(void *arg, int rank)
{
    struct problem *p = arg;

    memcpy(p->last[rank], p->x[rank], sizeof p->x[rank]);
}

/* In the place of a problem or of zeros: n workers in groups of so many, each group a node of its
 * own unless together.
 */
static void problem_init(struct problem *p, const char *algorithm, int n, int per_group)
{
    uint64_t random = 5;

    free(p->trace);
    memset(p, 0, sizeof *p);
    for (int i = 0; i < n; i++) {
        p->group[i] = p->node[i] = i / per_group;
        p->batch[i] = 4;
        p->duration_ns[i] = 100 * CLOCK_MS;
        p->value[i] = p->x[i];
        for (int j = 0; j < DIM; j++)
            p->x[i][j] = p->start[i][j] =
                i % per_group ? p->x[i - 1][j] : 2 * random_unit(&random) - 1;
    }
    p->parameter = (struct engine_parameter){ .n = DIM, .type = COMM_FLOAT64 };
    p->o = (struct simulation_options){ .n_ranks = n,
                                        .group_of = p->group,
                                        .node_of = p->node,
                                        .algorithm = algorithm,
                                        .period = 1,
                                        .moving_rate = -1,
                                        .seed = 11,
                                        .samples = 400,
                                        .epochs = 10,
                                        .batch = p->batch,
                                        .parameter = &p->parameter,
                                        .n_parameters = 1,
                                        .value = p->value,
                                        .hooks = { p, compute, update, last } };
    p->trace = calloc((size_t)n, sizeof *p->trace);
    ck_assert_ptr_nonnull(p->trace);
}

static void problem_run(struct problem *p)
{
    struct eddis_error err = { 0 };
    int rc;

    memset(askers, 0, sizeof askers);
    rc = simulation_run(&p->o, &p->result, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
}

static void problem_fini(struct problem *p)
{
    free(p->trace);
    p->trace = NULL;
}

/* The larger one; what is no number is larger than all. */
static double worse(double most, double next)
{
    return isnan(next) ? INFINITY : fmax(most, next);
}

/* Largest difference between any two of the workers' own last values, and to the centre. */
static double spread(const struct problem *p)
{
    double most = 0;

    for (int i = 0; i < p->o.n_ranks; i++)
        for (int j = 0; j < DIM; j++)
            most = worse(most, fabs(p->last[i][j] - p->x[0][j]));
    return most;
}

/* ---- the properties ---- */

static struct problem p;

static const double *values_of(int rank)
{
    return p.x[rank];
}

static void tear_down(void)
{
    problem_fini(&p);
}

static const struct row {
    const char *algorithm;
    int n, per_group, period;
} rows[] = { { "easgd", 2, 1, 1 }, { "easgd", 5, 1, 3 }, { "easgd", 16, 1, 1 },
             { "hsgd", 4, 2, 1 },  { "hsgd", 12, 3, 2 }, { "hsgd", 6, 1, 1 } };

enum { ROWS = sizeof rows / sizeof *rows, FIRST_HSGD = 3 };

/* Without a learning rate. */
START_TEST(property_15_and_seasgd_4_the_sum_is_constant_and_all_converge)
{
    const struct row *r = &rows[_i];

    for (uint64_t seed = 0; seed < 4; seed++) {
        problem_init(&p, r->algorithm, r->n, r->per_group);
        p.o.seed = seed;
        p.o.period = r->period;
        p.o.samples = 100 * r->n;
        p.o.epochs = 50;
        for (int i = 0; i < r->n; i++)
            p.duration_ns[i] = (20 + 13 * p.group[i]) * CLOCK_MS; /* unlike speeds */
        problem_run(&p);
        for (int j = 0; j < DIM; j++) {
            double before = p.start[0][j], after = p.x[0][j]; /* the centre */

            for (int i = 0; i < r->n; i += r->per_group) {
                before += p.start[i][j];
                after += p.last[i][j];
            }
            ck_assert_msg(fabs(before - after) < 1e-12, "the sum changed by %g", after - before);
        }
        ck_assert_msg(spread(&p) < 1e-6, "the workers are %g apart", spread(&p));
    }
}
END_TEST

/* Greatest of the last values: tells convergence to 0 from divergence. */
static double magnitude(const char *algorithm, int n, double eta, double rate, bool old_gradient)
{
    double most = 0;

    problem_init(&p, algorithm, n, 1);
    p.o.seed = 0; /* one after the other: each starts a part of a step after the one before */
    p.o.moving_rate = rate;
    p.eta = eta;
    p.old_gradient = old_gradient;
    p.o.samples = 400 * n;
    problem_run(&p);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < DIM; j++)
            most = worse(most, fabs(p.last[i][j]));
    return most;
}

static const struct {
    int n;
    double eta;
} stability_rows[] = { { 1, 0.5 }, { 1, 1.0 }, { 4, 0.5 }, { 4, 1.0 }, { 4, 1.5 }, { 8, 0.5 } };

START_TEST(property_16_stable_up_to_the_bound_of_round_robin)
{
    double eta = stability_rows[_i].eta, bound = (4 - 2 * eta) / (4 - eta);
    int n = stability_rows[_i].n;

    ck_assert_double_lt(magnitude("easgd", n, eta, 0.98 * bound, true), 1e-2);
    ck_assert_double_gt(magnitude("easgd", n, eta, 1.02 * bound, true), 1e2);
}
END_TEST

/* SEASGD takes the gradient at the drawn values, which is stable further: (4-2eta)/(4-3eta) when it
 * is alone.
 */
START_TEST(property_16_of_seasgd)
{
    double eta = 0.5, bound = (4 - 2 * eta) / (4 - 3 * eta);

    ck_assert_double_lt(magnitude("easgd", 1, eta, 0.98 * bound, false), 1e-2);
    ck_assert_double_gt(magnitude("easgd", 1, eta, 1.02 * bound, false), 1e2);
}
END_TEST

START_TEST(property_17_without_a_moving_rate_workers_are_independent)
{
    problem_init(&p, "easgd", 4, 1);
    p.o.moving_rate = 0;
    p.eta = 0.01;
    problem_run(&p);
    for (int i = 0; i < 4; i++) {
        double x = p.start[i][0];

        ck_assert_int_gt(p.trace[i].n, 100);
        for (int t = 0; t < p.trace[i].n; t++) {
            x -= 0.01 * x;
            ck_assert(p.trace[i].x[t] == x);
        }
    }
    ck_assert(p.x[0][0] == p.start[0][0]); /* nor does the centre move */
}
END_TEST

/* ---- reads ahead of their exchange ---- */

/* Steps that are little longer than reading the centre, which takes some messages of up to a
 * millisecond.
 */
static void problem_init_narrow(const char *algorithm, int n, int per_group, int64_t period)
{
    problem_init(&p, algorithm, n, per_group);
    p.o.period = period;
    p.o.samples = 200 * n;
    for (int i = 0; i < n; i++)
        p.duration_ns[i] = (4 + p.group[i] % 3) * CLOCK_MS;
}

START_TEST(property_15_also_if_reads_go_ahead)
{
    const struct row *r = &rows[_i];

    for (uint64_t seed = 1; seed < 4; seed++) {
        problem_init_narrow(r->algorithm, r->n, r->per_group, r->period);
        p.o.seed = seed;
        problem_run(&p);
        for (int j = 0; j < DIM; j++) {
            double before = p.start[0][j], after = p.x[0][j]; /* the centre */

            for (int i = 0; i < r->n; i += r->per_group) {
                before += p.start[i][j];
                after += p.last[i][j];
            }
            ck_assert_msg(fabs(before - after) < 1e-12, "the sum changed by %g", after - before);
        }
        ck_assert_msg(spread(&p) < 1e-6, "the workers are %g apart", spread(&p));
        ck_assert(!p.unequal);
        for (int i = 0; i < r->n; i++)
            ck_assert(!askers[i].strange && !askers[i].early);
    }
}
END_TEST

/* Return the m, at least `least`, for which c is the sum of these: the writer's start value, its
 * own n first increments and the m first of the other; -1: none up to `most` is.
 */
static int others_in(double c, int j, const struct asker *own, int n, const struct asker *other,
                     int least, int most)
{
    double sum = p.start[0][j];

    for (int k = 0; k < n; k++)
        sum += own->pull[k].d[j];
    for (int m = 0; m <= most; sum += other->pull[m++].d[j])
        if (m >= least && fabs(sum - c) < 1e-12)
            return m;
    return -1;
}

/* Each increment is the moving rate times the difference to a centre which has all of the writer's
 * own increments and some of the other's, never fewer than the read before.  Most reads over the
 * network begin before a step that the exchange follows.
 */
START_TEST(increments_follow_the_reads)
{
    problem_init_narrow("easgd", 2, 1, _i);
    p.o.moving_rate = 0.3;
    p.eta = 0.05;
    p.least_squares = true;
    problem_run(&p);
    for (int i = 0; i < 2; i++) {
        const struct asker *own = &askers[i], *other = &askers[1 - i];
        int least[DIM] = { 0 };

        ck_assert_int_gt(own->n, 20);
        ck_assert_int_le(own->n, MAX_PULLS);
        for (int t = 0; t < own->n; t++)
            for (int j = 0; j < DIM; j++) {
                const struct pull *at = &own->pull[t];
                double c = at->x[j] + at->d[j] - at->d[j] / 0.3;

                least[j] = others_in(c, j, own, t, other, least[j], at->others);
                ck_assert_msg(least[j] >= 0, "worker %d, exchange %d: the centre was never %g", i,
                              t, c);
            }
    }
    ck_assert_int_eq(askers[0].ahead, 0); /* the centre is on its node */
    ck_assert_int_gt(askers[1].ahead, askers[1].n * 3 / 4);
}
END_TEST

/* The three equations, at each interval. */
START_TEST(property_18_and_seasgd_1_one_worker_is_the_linear_map)
{
    const double eta = 0.3, rate = 0.2;
    double x, c;

    problem_init(&p, "easgd", 1, 1);
    p.o.period = _i;
    p.o.moving_rate = rate;
    p.eta = eta;
    x = c = p.start[0][0];
    problem_run(&p);
    ck_assert_int_gt(p.trace[0].n, 500);
    for (int t = 0; t < p.trace[0].n; t++) {
        double d = t && t % _i == 0 ? rate * (x - c) : 0; /* at first they are equal */

        c += d;
        x -= d;
        x -= eta * x;
        ck_assert_msg(fabs(p.trace[0].x[t] - x) <= 1e-15 * fabs(x), "step %d: %.17g, not %.17g", t,
                      p.trace[0].x[t], x);
    }
    c += rate * (x - c); /* the last exchange */
    ck_assert_double_eq_tol(p.x[0][0], c, 1e-15);
}
END_TEST

START_TEST(property_1_and_2_inside_a_group)
{
    double w[DIM], g[DIM], most = 0;
    int64_t steps;

    problem_init(&p, "hsgd", 4, 4);
    memcpy(p.batch, (int64_t[]){ 1, 9, 4, 10 }, 4 * sizeof *p.batch);
    p.o.moving_rate = 0; /* the group alone */
    p.least_squares = true;
    p.eta = 0.1;
    p.o.samples = 24 * 20;
    problem_run(&p);
    memcpy(w, p.start[0], sizeof w);
    steps = p.trace[0].n;
    ck_assert_int_eq(steps, 200);
    for (int64_t t = 0; t < steps; t++) {
        least_squares(w, t % 20 * 24, 24, g);
        for (int j = 0; j < DIM; j++)
            w[j] -= 0.1 * g[j];
    }
    for (int j = 0; j < DIM; j++)
        most = worse(most, fabs(w[j] - p.last[2][j]));
    ck_assert_msg(most < 1e-12, "%g from one process", most);
    ck_assert(!p.unequal);
}
END_TEST

START_TEST(hsgd_1_members_stay_the_same_bits_through_exchanges)
{
    for (uint64_t seed = 1; seed < 6; seed++) {
        problem_init(&p, "hsgd", 12, 3);
        p.o.seed = seed;
        p.o.period = 3;
        p.least_squares = true;
        p.eta = 0.1;
        for (int i = 0; i < 12; i++) {
            p.batch[i] = 1 + i % 5;
            p.node[i] = i / 2; /* groups over several hosts, and several of a host in a group */
        }
        problem_run(&p);
        ck_assert(!p.unequal);
    }
}
END_TEST

START_TEST(hsgd_2_only_roots_talk_to_the_box)
{
    const struct row *r = &rows[_i];

    problem_init(&p, r->algorithm, r->n, r->per_group);
    problem_run(&p);
    for (int i = 0; i < r->n; i++) {
        const struct asker *a = &askers[i];

        ck_assert_int_eq(a->reads > 0 && a->sums > 0, i % r->per_group == 0);
        ck_assert_int_eq(a->reads || a->sums || a->seeds || a->own.id, i % r->per_group == 0);
    }
}
END_TEST

/* Members take their gradients where the root was drawn to, which is where it was not before. */
START_TEST(hsgd_3_members_get_what_the_root_was_drawn_to)
{
    problem_init(&p, "hsgd", 12, 3);
    p.o.period = 4;
    p.least_squares = true;
    p.eta = 0.1;
    problem_run(&p);
    for (int i = 0; i < 12; i++) {
        const struct trace *t = &p.trace[i], *root = &p.trace[i / 3 * 3];

        ck_assert_int_gt(t->n, 50);
        for (int s = 1; s < t->n; s++) {
            ck_assert(t->drawn[s] == root->drawn[s]);
            /* the groups in turn */
            ck_assert_int_eq(t->drawn[s] != t->x[s - 1], (s + p.group[i]) % 4 == 0);
        }
    }
}
END_TEST

START_TEST(a_run_repeats_under_its_seed)
{
    static struct problem a, b;

    problem_init(&a, "hsgd", 6, 2);
    problem_init(&b, "hsgd", 6, 2);
    a.least_squares = b.least_squares = true;
    a.eta = b.eta = 0.1;
    problem_run(&a);
    problem_run(&b);
    ck_assert_mem_eq(a.x, b.x, sizeof a.x);
    ck_assert_int_eq(a.result.end_ns, b.result.end_ns);
    problem_fini(&a);
    problem_fini(&b);
}
END_TEST

/* Mean time of the steps of a rank, but for the first and the last few. */
static double step_ms(const struct problem *of, int rank)
{
    const struct trace *t = &of->trace[rank];

    ck_assert_int_gt(t->n, 8);
    return (double)(t->end_ns[t->n - 4] - t->end_ns[2]) / (double)(t->n - 6) / CLOCK_MS;
}

START_TEST(hsgd_5_a_slow_worker_or_group_does_not_change_the_others)
{
    const struct row *r = &rows[_i];
    static struct problem even, slowed;

    problem_init(&even, r->algorithm, r->n, r->per_group);
    problem_init(&slowed, r->algorithm, r->n, r->per_group);
    even.o.epochs = slowed.o.epochs = 40;
    slowed.duration_ns[r->n - 1] *= 5;
    problem_run(&even);
    problem_run(&slowed);
    for (int i = 0; i < r->n; i++) {
        bool mate = slowed.group[i] == slowed.group[r->n - 1];
        double ratio = step_ms(&slowed, i) / step_ms(&even, i);

        if (mate)
            ck_assert_msg(ratio > 4.5, "rank %d: %g", i, ratio);
        else
            ck_assert_msg(fabs(ratio - 1) < 0.01, "rank %d: %g", i, ratio);
    }
    problem_fini(&even);
    problem_fini(&slowed);
}
END_TEST

/* Every writer has an increment that nobody else writes to, and adds it to the centre; but for the
 * first parameters, nothing else changes that.
 */
START_TEST(seasgd_2_own_increments_are_added_to_the_centre)
{
    const struct row *r = &rows[_i];
    int seeds = 0;

    problem_init(&p, r->algorithm, r->n, r->per_group);
    p.o.period = r->period;
    problem_run(&p);
    for (int i = 0; i < r->n; i += r->per_group) {
        const struct asker *a = &askers[i];

        ck_assert(!a->strange);
        ck_assert_uint_eq(a->centre.id, askers[0].centre.id);
        for (int j = 0; j < i; j += r->per_group)
            ck_assert_uint_ne(a->own.id, askers[j].own.id);
        ck_assert_int_gt(a->sums, 8);
        ck_assert_int_eq(a->reads, a->sums + 1); /* at last to take it over */
        seeds += a->seeds;
    }
    ck_assert_int_eq(seeds, 1);
}
END_TEST

/* All members of a group learn how long the read of an exchange was hidden, so that each can report
 * how long the exchange took.
 */
START_TEST(hidden_reads_are_reported)
{
    const struct trace *root, *member;
    int hidden = 0;

    problem_init_narrow("hsgd", 4, 2, 4);
    problem_run(&p);
    root = &p.trace[2];
    member = &p.trace[3];
    for (int t = 0; t < root->n; t++) {
        hidden += root->hidden_ns[t] > 0;
        ck_assert_int_eq(root->hidden_ns[t], member->hidden_ns[t]);
        ck_assert_int_le(root->hidden_ns[t], 4 * p.duration_ns[2]);
        if ((t + 2) % 4) /* the second of two writers */
            ck_assert_int_eq(root->hidden_ns[t], 0);
    }
    ck_assert_int_gt(hidden, root->n / 8);
}
END_TEST

/* A read that takes as long as steps do is hidden by them, but not its first two exchanges. */
START_TEST(steps_hide_a_long_read)
{
    double with, without;

    problem_init_narrow("easgd", 2, 1, 4);
    problem_run(&p);
    with = step_ms(&p, 1);
    ck_assert_int_gt(askers[1].sums, 20);
    problem_init_narrow("easgd", 2, 1, 1000);
    problem_run(&p);
    without = step_ms(&p, 1);
    ck_assert_msg(with < 1.02 * without, "%g against %g ms", with, without);
}
END_TEST

/* Messages take up to a millisecond: reading the centre is some of them, one after the other; the
 * increment's way there would be as many again.
 */
START_TEST(seasgd_3_and_shared_counter_4_the_read_is_waited_for_and_the_update_is_not)
{
    double with, without;

    problem_init(&p, "easgd", 2, 1);
    p.o.period = 1;
    problem_run(&p);
    with = step_ms(&p, 1);
    problem_init(&p, "easgd", 2, 1);
    p.o.period = 1000;
    problem_run(&p);
    without = step_ms(&p, 1);
    ck_assert_msg(with > without + 0.5, "%g against %g ms", with, without);
    ck_assert_msg(with < without + 3, "%g against %g ms", with, without);
    problem_init(&p, "easgd", 2, 1);
    p.duration_ns[0] = p.duration_ns[1] = CLOCK_MS / 10; /* a step is over before its update */
    problem_run(&p);
    ck_assert(!askers[0].early && !askers[1].early);
}
END_TEST

/* Shares of it in proportion to speed; as many iterations as the target says, and at most one more
 * of each other worker.
 */
START_TEST(shared_counter_2_and_3_each_by_its_speed_and_every_sample_once)
{
    int64_t sum = 0;

    problem_init(&p, "easgd", 4, 1);
    p.duration_ns[0] = 50 * CLOCK_MS;
    p.duration_ns[3] = 200 * CLOCK_MS;
    p.o.epochs = 20;
    problem_run(&p);
    ck_assert_int_eq(p.result.samples, 400 * 20);
    for (int i = 0; i < 4; i++)
        for (int t = 0; t < p.trace[i].n; t++)
            sum += p.trace[i].count[t];
    ck_assert_int_eq(sum, 400 * 20);
    /* an epoch's end cuts no range here; where it does, both parts are an iteration of their own,
     * and it is samples that are counted exactly
     */
    ck_assert_int_ge(p.result.steps, 400 * 20 / 4);
    ck_assert_int_le(p.result.steps, 400 * 20 / 4 + 3);
    ck_assert_double_eq_tol((double)p.trace[0].n / (double)p.trace[3].n, 4, 0.1);
    ck_assert_double_eq_tol((double)p.trace[0].n / (double)p.trace[1].n, 2, 0.1);
}
END_TEST

/* The end is not the master's, the fastest one's or an average, as in ShmCaffe's end alignment, but
 * the counter's: what a worker has taken it does before it leaves.  That is the range under way and
 * two taken ahead, so that they leave within three iterations of the slowest, not one; over a
 * network they take more ahead (lib/worker/samples.c), and it is four, in hybrid mode five.
 */
START_TEST(end_alignment_all_leave_when_the_counter_is_exhausted)
{
    int64_t slowest = 0;

    problem_init(&p, "hsgd", 8, 2);
    p.o.seed = 3;
    for (int i = 0; i < 8; i++)
        p.duration_ns[i] = (80 + 5 * p.group[i]) * CLOCK_MS;
    problem_run(&p);
    for (int i = 0; i < 8; i++) {
        ck_assert_mem_eq(p.x[i], p.x[0], sizeof p.x[i]); /* all leave with the centre */
        slowest = p.duration_ns[i] > slowest ? p.duration_ns[i] : slowest;
    }
    ck_assert_int_le(p.result.end_ns - p.result.first_end_ns, 3 * slowest);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, property_15_and_seasgd_4_the_sum_is_constant_and_all_converge, 0, ROWS);
    tcase_add_loop_test(tc, property_16_stable_up_to_the_bound_of_round_robin, 0,
                        sizeof stability_rows / sizeof *stability_rows);
    tcase_add_test(tc, property_16_of_seasgd);
    tcase_add_test(tc, property_17_without_a_moving_rate_workers_are_independent);
    tcase_add_loop_test(tc, property_15_also_if_reads_go_ahead, 0, ROWS);
    tcase_add_loop_test(tc, increments_follow_the_reads, 1, 5);
    tcase_add_loop_test(tc, property_18_and_seasgd_1_one_worker_is_the_linear_map, 1, 4);
    tcase_add_test(tc, property_1_and_2_inside_a_group);
    tcase_add_test(tc, hsgd_1_members_stay_the_same_bits_through_exchanges);
    tcase_add_loop_test(tc, hsgd_2_only_roots_talk_to_the_box, FIRST_HSGD, ROWS);
    tcase_add_test(tc, hsgd_3_members_get_what_the_root_was_drawn_to);
    tcase_add_test(tc, a_run_repeats_under_its_seed);
    tcase_add_loop_test(tc, hsgd_5_a_slow_worker_or_group_does_not_change_the_others, 0, ROWS);
    tcase_add_loop_test(tc, seasgd_2_own_increments_are_added_to_the_centre, 0, ROWS);
    tcase_add_test(tc, hidden_reads_are_reported);
    tcase_add_test(tc, steps_hide_a_long_read);
    tcase_add_test(tc, seasgd_3_and_shared_counter_4_the_read_is_waited_for_and_the_update_is_not);
    tcase_add_test(tc, shared_counter_2_and_3_each_by_its_speed_and_every_sample_once);
    tcase_add_test(tc, end_alignment_all_leave_when_the_counter_is_exhausted);
}

SUITE_MAIN("models", add_tests)
