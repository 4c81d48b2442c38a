/* SPDX-License-Identifier: Apache-2.0 */
/* test_wander.c - the policy of scheduler/replan.h on workers whose speed wanders, varies or jumps
 *
 * The logarithm of such a worker's speed is a random walk with a standard deviation of 0.1 per root
 * of a second. It is reflected at the speeds 0.6 and 1.8. The policy is compared with three others
 * that know the true speeds:
 *     - the oracle: the best split at the begin of each second
 *     - the causal plan: the best split every 25 steps, in force 3 steps later
 *     - the fixed plan: the best single plan for the whole walk
 */
#include "scheduler/sim.h"

#include "lib/base/random.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 8,
    SEEDS = 5,
    TOTAL = 512,       /* samples of a step */
    FROM = 50,         /* first step that counts */
    STEPS = 1000,      /* steps that count */
    GAP = 25,          /* steps between causal plans */
    DELAY = 3,         /* steps until a causal plan is in force */
    TICKS_PER_S = 20,  /* of a walk */
    TICKS = 60 * 1000, /* of a walk */
};

/* Speeds of one step, and its time under the policy. */
struct moment {
    double speed[MOST], step_s;
};

/* A job and the plans that it is compared with. */
struct job {
    int n;
    double sample_s;
    struct sim *sim;
    struct replan *replan;
    int64_t oracle[MOST], causal[MOST], next[MOST];
    int second;        /* of the oracle's plan */
    int64_t planned;   /* step at which the next causal plan was made */
    double best_steps; /* steps of the oracle, and of the causal plan, in the time that counts */
    double causal_steps;
    int wandered; /* steps that count, before which some speed was taken for one that wanders */
};

static double walk[MOST][TICKS];
static struct moment moment[STEPS];

/* Parts of the oracle's speed, and plans of the policy. */
struct result {
    double policy, causal, fixed, plans, wandered;
};

/* Make a speed whose logarithm varies by this standard deviation and returns to 0 with this time
 * constant.
 */
static void make_noise(double *speed, double deviation, double return_s, uint64_t seed)
{
    double kept = exp(-1 / (TICKS_PER_S * return_s)), x = 0;

    for (int i = 0; i < TICKS; i++) {
        speed[i] = exp(x);
        x = kept * x + deviation * sqrt(1 - kept * kept) * random_normal(&seed);
    }
}

static void make_walk(double *speed, uint64_t seed)
{
    const double low = log(0.6), high = log(1.8);
    double x = low + (high - low) * random_unit(&seed);

    for (int i = 0; i < TICKS; i++) {
        speed[i] = exp(x);
        x += 0.1 / sqrt(TICKS_PER_S) * random_normal(&seed);
        x = x > high ? 2 * high - x : x;
        x = x < low ? 2 * low - x : x;
    }
}

/* Make a speed that jumps, at most by this factor from 1, after so long on average. */
static void make_jumps(double *speed, double most, double lasting_s, uint64_t seed)
{
    double x = 1;

    for (int i = 0; i < TICKS; i++) {
        speed[i] = x;
        if (random_unit(&seed) < 1 / (TICKS_PER_S * lasting_s))
            x = pow(most, 2 * random_unit(&seed) - 1);
    }
}

static double fixed_steps(const struct job *j, const int64_t *batch)
{
    double sum = 0;

    for (int k = 0; k < STEPS; k++) {
        double longest = 0;

        for (int i = 0; i < j->n; i++)
            longest = fmax(longest, j->sample_s * (double)batch[i] / moment[k].speed[i]);
        sum += moment[k].step_s / longest;
    }
    return sum;
}

/* Move samples from a to b if that makes the fixed plan better than *best steps. */
static bool improves(const struct job *j, int64_t *batch, int a, int b, int64_t move, double *best)
{
    double steps;

    if (a == b || batch[a] <= move)
        return false;
    batch[a] -= move;
    batch[b] += move;
    steps = fixed_steps(j, batch);
    if (steps > *best) {
        *best = steps;
        return true;
    }
    batch[a] += move;
    batch[b] -= move;
    return false;
}

static double best_fixed_steps(const struct job *j)
{
    int64_t batch[MOST];
    double best;

    for (int i = 0; i < j->n; i++)
        batch[i] = TOTAL / j->n;
    best = fixed_steps(j, batch);
    for (int64_t move = 32; move >= 2; move /= 2)
        for (bool again = true; again;) {
            again = false;
            for (int k = 0; k < j->n * j->n; k++)
                again |= improves(j, batch, k / j->n, k % j->n, move, &best);
        }
    return best;
}

/* How the speeds of a job's workers change. */
struct speeds {
    int n, wandering;           /* workers; the speeds of the first ones that wander */
    double deviation, return_s; /* of the speeds of the others, see make_noise; 0: constant */
    double most, lasting_s;     /* of their jumps instead, see make_jumps; 0: none */
    double step_s;
};

static void make_speeds(const struct speeds *s, uint64_t seed)
{
    for (int i = 0; i < s->n; i++) {
        uint64_t own = random_mix(seed, 100 + (uint64_t)i);

        for (int k = 0; k < TICKS; k++)
            walk[i][k] = 1;
        if (i < s->wandering)
            make_walk(walk[i], own);
        else if (s->return_s > 0)
            make_noise(walk[i], s->deviation, s->return_s, own);
        else if (s->lasting_s > 0)
            make_jumps(walk[i], s->most, s->lasting_s, own);
    }
}

/* Open a job of n equal workers with steps of step_s. */
static void open_job(struct job *j, int n, double step_s, uint64_t seed)
{
    struct sim_worker w[MOST];
    struct replan_worker first[MOST];
    struct replan_setup r = {
        .worker = first, .n = n, .version = 1, .grain = 1, .algorithm = "allreduce"
    };
    struct sim_setup s = {
        .worker = w, .n = n, .seed = seed, .algorithm = "allreduce", .jitter = 0.02
    };

    *j = (struct job){ .n = n, .sample_s = step_s * n / TOTAL, .second = -1, .planned = -GAP };
    for (int i = 0; i < n; i++) {
        w[i] = (struct sim_worker){ .sample_s = j->sample_s, .node = i, .batch = TOTAL / n };
        first[i] = (struct replan_worker){
            .first = { .sample_s = 1 }, .batch = TOTAL / n, .min = 1, .max = INT64_MAX, .node = i
        };
    }
    ck_assert_int_eq(replan_new(&r, &j->replan, NULL), 0);
    s.replan = j->replan;
    ck_assert_int_eq(sim_new(&s, &j->sim, NULL), 0);
}

static void follow_oracles(struct job *j)
{
    int64_t step = sim_step(j->sim);

    if ((int)sim_now_s(j->sim) != j->second) {
        j->second = (int)sim_now_s(j->sim);
        sim_best_s(j->sim, 1, NULL, j->oracle);
    }
    if (step - j->planned == GAP) {
        j->planned = step;
        sim_best_s(j->sim, 1, NULL, j->next);
    }
    if (step == 0 || step - j->planned == DELAY)
        memcpy(j->causal, j->next, sizeof j->causal);
}

/* Check whether the policy has found that a worker's speed wanders. */
static bool wanders(const struct job *j)
{
    for (int i = 0; i < j->n; i++)
        if (learner_wanders(replan_learner(j->replan, i)))
            return true;
    return false;
}

static void do_step(struct job *j)
{
    int tick = (int)(sim_now_s(j->sim) * TICKS_PER_S);
    int64_t k = sim_step(j->sim) - FROM;

    ck_assert_int_lt(tick, TICKS);
    for (int i = 0; i < j->n; i++)
        sim_slow(j->sim, i, 1 / walk[i][tick]);
    follow_oracles(j);
    if (k >= 0) {
        struct moment *m = &moment[k];

        for (int i = 0; i < j->n; i++)
            m->speed[i] = walk[i][tick];
        m->step_s = sim_longest_s(j->sim, sim_batch(j->sim));
        j->best_steps += m->step_s / sim_longest_s(j->sim, j->oracle);
        j->causal_steps += m->step_s / sim_longest_s(j->sim, j->causal);
        j->wandered += wanders(j);
    }
    sim_run(j->sim, 1);
}

/* Do the steps that count. While a speed wanders, no plan may follow another one within GAP steps.
 * Return the number of plans.
 */
static int do_steps(struct job *j)
{
    int64_t version = sim_version(j->sim), last = -GAP;
    int plans = 0;
    bool wandered = false;

    while (sim_step(j->sim) < FROM + STEPS) {
        do_step(j);
        if (sim_version(j->sim) > version) {
            ck_assert(!wandered || sim_step(j->sim) - last >= GAP);
            version = sim_version(j->sim);
            last = sim_step(j->sim);
            plans++;
        }
        if (sim_step(j->sim) - last == 1)
            wandered = wanders(j);
    }
    return plans;
}

static struct result simulate(const struct speeds *s, uint64_t seed)
{
    struct result ret;
    struct job j;
    int plans;

    make_speeds(s, seed);
    open_job(&j, s->n, s->step_s, seed);
    while (sim_step(j.sim) < FROM)
        do_step(&j);
    plans = do_steps(&j);
    ret = (struct result){ .policy = STEPS / j.best_steps,
                           .causal = j.causal_steps / j.best_steps,
                           .fixed = best_fixed_steps(&j) / j.best_steps,
                           .plans = plans,
                           .wandered = (double)j.wandered / STEPS };
    sim_free(j.sim);
    replan_free(j.replan);
    return ret;
}

/* Return the means over SEEDS seeds. Check the number of plans. */
static struct result means(const struct speeds *s)
{
    struct result sum = { 0 };

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct result x = simulate(s, seed);

        ck_assert_double_le(x.plans, STEPS / GAP);
        sum.policy += x.policy / SEEDS;
        sum.causal += x.causal / SEEDS;
        sum.fixed += x.fixed / SEEDS;
        sum.plans += x.plans / SEEDS;
        sum.wandered += x.wandered / SEEDS;
    }
    if (getenv("EDDIS_TEST_VERBOSE"))
        printf("%d of %d wander, others %.2f within %g s, jump by %.1f in %g s, steps of %.2f s: "
               "%.3f of the oracle, causal %.3f, fixed %.3f, %.1f plans, %.2f of steps wander\n",
               s->wandering, s->n, s->deviation, s->return_s, s->most, s->lasting_s, s->step_s,
               sum.policy, sum.causal, sum.fixed, sum.plans, sum.wandered);
    return sum;
}

/* The least part of the oracle's speed, the least relative to the causal plan and to the fixed one:
 * means over seeds.
 */
static const struct {
    int n, wandering;
    double step_s, least, of_causal, of_fixed;
} row[] = {
    { 4, 1, 0.06, 0.97, 0.98, 1.05 }, { 4, 1, 0.2, 0.95, 0.98, 1.04 },
    { 4, 1, 0.5, 0.915, 0.98, 1.01 }, { 8, 1, 0.06, 0.97, 0.98, 1.04 },
    { 8, 1, 0.5, 0.935, 1, 1.01 },    { 4, 2, 0.06, 0.94, 0.96, 1.07 },
    { 4, 2, 0.2, 0.9, 0.97, 1.04 },   { 4, 4, 0.06, 0.9, 0.93, 1.07 },
    { 4, 4, 0.2, 0.83, 0.93, 1.07 },  { 8, 8, 0.06, 0.86, 0.9, 1.07 },
    { 8, 8, 0.5, 0.64, 0.9, 0.98 },
};

enum { ROWS = sizeof row / sizeof *row };

START_TEST(follows_a_wandering_speed)
{
    struct result x = means(&(struct speeds){
        .n = row[_i].n, .wandering = row[_i].wandering, .step_s = row[_i].step_s });

    ck_assert_double_ge(x.policy, row[_i].least);
    ck_assert_double_ge(x.policy, row[_i].of_causal * x.causal);
    ck_assert_double_ge(x.policy, row[_i].of_fixed * x.fixed);
}
END_TEST

/* Speeds of eight workers that vary around a constant one: with these deviations, the best fixed
 * plan is better than others, and most plans are needless.
 */
static const struct {
    double deviation, return_s, step_s, of_fixed, plans;
} passing[] = {
    { 0.03, 1, 0.06, 0.98, 4 },
    { 0.03, 1, 0.2, 0.98, 4 },
    { 0.05, 5, 0.06, 0.97, 8 },
    { 0.05, 5, 0.5, 0.98, 12 },
};

START_TEST(does_not_follow_passing_changes)
{
    struct result x = means(&(struct speeds){ .n = 8,
                                              .deviation = passing[_i].deviation,
                                              .return_s = passing[_i].return_s,
                                              .step_s = passing[_i].step_s });

    ck_assert_double_ge(x.policy, passing[_i].of_fixed * x.fixed);
    ck_assert_double_le(x.plans, passing[_i].plans);
}
END_TEST

/* Jumps of speed are no walk: plans follow them as those of one speed. */
static const struct {
    double most, lasting_s, step_s;
} jumping[] = { { 1.15, 20, 0.06 }, { 1.4, 20, 0.06 }, { 2, 40, 0.06 }, { 2, 60, 0.5 } };

START_TEST(does_not_take_jumps_for_a_walk)
{
    struct result x = means(&(struct speeds){ .n = 4,
                                              .most = jumping[_i].most,
                                              .lasting_s = jumping[_i].lasting_s,
                                              .step_s = jumping[_i].step_s });

    ck_assert_double_le(x.wandered, 0.1);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, follows_a_wandering_speed, 0, ROWS);
    tcase_add_loop_test(tc, does_not_take_jumps_for_a_walk, 0, sizeof jumping / sizeof *jumping);
    tcase_add_loop_test(tc, does_not_follow_passing_changes, 0, sizeof passing / sizeof *passing);
}

SUITE_MAIN("wander", add_tests)
