/* SPDX-License-Identifier: Apache-2.0 */
/* test_rounds.c - tests of modes_rounds of scheduler/modes.h, as properties over random clusters */
#include "lib/base/random.h"
#include "lib/data/sample_rounds.h"
#include "scheduler/modes.h"

#include "suite.h"

#include <math.h>
#include <string.h>

enum { MOST = 12, CLUSTERS = 300 };

static const double MEMORY_BYTES_PER_S = 4e9; /* as in modes.c */

/* Workers in groups, and a network. */
struct cluster {
    struct modes_worker worker[MOST];
    int group[MOST];
    int n_groups;
    struct modes_setup s;
};

/* Make random workers on nodes, a group for each node, or for each worker. */
static void make_cluster(struct cluster *c, uint64_t *seed)
{
    int n = 2 + (int)random_below(seed, MOST - 1), on_node = 1 + (int)random_below(seed, 4);
    bool alone = random_below(seed, 2);

    *c = (struct cluster){ .s = { .n = n,
                                  .n_nodes = (n - 1) / on_node + 1,
                                  .model_bytes = 1000000 + (int64_t)random_below(seed, 90000000),
                                  .latency_s = 1e-4,
                                  .bytes_per_s = 1e6 * pow(1000, random_unit(seed)) } };
    for (int i = 0; i < n; i++) {
        c->worker[i] = (struct modes_worker){
            .t = { 0.02 * random_unit(seed), 1e-4 + 0.002 * random_unit(seed) },
            .batch = 8 + (int64_t)random_below(seed, 100),
            .node = i / on_node,
        };
        c->group[i] = alone ? i : i / on_node;
        c->n_groups = c->group[i] + 1;
    }
}

/* Return the predicted samples per second. */
static double rate(const struct cluster *c, int64_t period)
{
    struct modes_setup s = c->s;
    double ret;

    s.worker = c->worker;
    ck_assert_int_eq(modes_rounds(&s, c->group, period, &ret, NULL), 0);
    ck_assert(isfinite(ret) && ret > 0);
    return ret;
}

/* Rounds that are some times as long have at most so many times as many steps, and one exchange. */
START_TEST(longer_rounds_are_never_slower)
{
    uint64_t seed = 45;

    for (int k = 0; k < CLUSTERS; k++) {
        struct cluster c;
        int64_t period = 2 + (int64_t)random_below(&seed, 50);
        double before = 0;

        make_cluster(&c, &seed);
        for (int times = 1; times < 9; times++)
            ck_assert_double_ge(rate(&c, times * period), rate(&c, period) * (1 - 1e-12));
        /* Without costs of a step, any longer round. */
        for (int i = 0; i < c.s.n; i++) {
            c.worker[i].t.fixed_s = 0;
            c.group[i] = i;
        }
        for (period = 1; period < 3000; period = period * 5 / 4 + 1) {
            ck_assert_double_ge(rate(&c, period), before * (1 - 1e-12));
            before = rate(&c, period);
        }
    }
}
END_TEST

START_TEST(faster_workers_and_links_never_lower)
{
    uint64_t seed = 46;

    for (int k = 0; k < CLUSTERS; k++) {
        struct cluster c;
        int64_t period = 1 + (int64_t)random_below(&seed, 50);
        struct modes_worker *w;
        double before;

        make_cluster(&c, &seed);
        before = rate(&c, period);
        w = &c.worker[random_below(&seed, (uint64_t)c.s.n)];
        w->t.fixed_s *= random_unit(&seed);
        ck_assert_double_ge(rate(&c, period), before);
        w->t.sample_s *= 0.5 + random_unit(&seed) / 2;
        before = rate(&c, period);
        c.s.bytes_per_s *= 1 + random_unit(&seed);
        ck_assert_double_ge(rate(&c, period), before);
        before = rate(&c, period);
        c.s.wire = SYNC_WIRE_BFLOAT16;
        if (c.s.bytes_per_s < 1e8)
            ck_assert_double_ge(rate(&c, period), before);
    }
}
END_TEST

/* Without a network, workers with batches in proportion to their speeds do the sum of the speeds,
 * however they are grouped.
 */
START_TEST(no_network_gives_the_sum)
{
    static const double speed[] = { 1, 0.6, 0.35, 0.15, 0.9, 0.3 };
    static const int groups[][6] = { { 0, 1, 2, 3, 4, 5 }, { 0, 0, 1, 1, 2, 2 }, { 0 } };

    for (size_t k = 0; k < 3; k++)
        for (int64_t period = 1; period < 300; period *= 3) {
            struct cluster c = { .s = { .n = 6, .n_nodes = 3, .bytes_per_s = 1e6 } };
            double sum = 0;

            memcpy(c.group, groups[k], sizeof groups[k]);
            for (int i = 0; i < 6; i++) {
                c.worker[i] = (struct modes_worker){ .t = { 0, 0.001 / speed[i] },
                                                     .batch = (int64_t)lround(100 * speed[i]),
                                                     .node = i / 2 };
                sum += 1000 * speed[i];
            }
            ck_assert_double_eq_tol(rate(&c, period), sum, 1e-6 * sum);
        }
}
END_TEST

/* Return the samples of part k when `total` is cut into n parts of nearly equal size. */
static int64_t part_of(int64_t total, int64_t n, int64_t k)
{
    return total * (k + 1) / n - total * k / n;
}

/* Return the duration of a group's steps in a round, in whole samples of whole steps. */
static double walk(const struct cluster *c, int g, int64_t period)
{
    int64_t all = 0, own = 0, steps, most;
    double time = 0, sums = 0;
    int members = 0;

    for (int i = 0; i < c->s.n; i++) {
        all += c->worker[i].batch;
        own += c->group[i] == g ? c->worker[i].batch : 0;
        members += c->group[i] == g;
    }
    most = (all + c->n_groups - 1) / c->n_groups;
    most = own < most ? own : most;
    steps = period == 1 ? 1 : (period * own + most - 1) / most;
    if (members > 1) /* on one node */
        sums = 2 * (double)c->s.model_bytes / MEMORY_BYTES_PER_S;
    for (int64_t k = 0; k < steps; k++) {
        int64_t samples = part_of(period * own, steps, k), before = 0;
        double longest = 0;

        for (int i = 0; i < c->s.n; i++) {
            const struct modes_worker *w = &c->worker[i];
            int64_t after = before + w->batch;

            if (c->group[i] != g)
                continue;
            longest =
                fmax(longest, time_model_s(&w->t, samples * after / own - samples * before / own));
            before = after;
        }
        time += longest + sums;
    }
    return time;
}

/* A round that is walked through, step by step in whole samples, takes as long as predicted: sums
 * inside a node, which overlap with computing in the prediction, may be hidden.
 */
START_TEST(whole_samples_take_as_long)
{
    uint64_t seed = 47;

    for (int k = 0; k < CLUSTERS; k++) {
        struct cluster c;
        int64_t period = 1 + (int64_t)random_below(&seed, 60);
        double longest = 0, samples = 0, m, exchange_s;

        make_cluster(&c, &seed);
        c.s.model_bytes /= 100;
        for (int g = 0; g < c.n_groups; g++)
            longest = fmax(longest, walk(&c, g, period));
        for (int i = 0; i < c.s.n; i++)
            samples += (double)(period * c.worker[i].batch);
        m = (double)c.s.model_bytes;
        exchange_s =
            3 * m / MEMORY_BYTES_PER_S + (c.s.n > c.s.n_nodes ? 2 * m / MEMORY_BYTES_PER_S : 0);
        if (c.s.n_nodes > 1)
            exchange_s +=
                2 * (c.s.n_nodes - 1) * (m / c.s.n_nodes / c.s.bytes_per_s + c.s.latency_s);
        ck_assert_double_eq_tol(rate(&c, period) * (longest + exchange_s) / samples, 1, 0.05);
    }
}
END_TEST

/* Rounds fill an epoch: a period that leaves as many rounds makes no difference, and none is longer
 * than the epoch.
 */
START_TEST(rounds_fill_an_epoch)
{
    uint64_t seed = 49;

    for (int k = 0; k < CLUSTERS; k++) {
        struct cluster c;
        double whole;

        make_cluster(&c, &seed);
        c.s.epoch_steps = 12;
        whole = rate(&c, 12);
        ck_assert_double_eq(rate(&c, 1000), whole);
        ck_assert_double_eq(rate(&c, 5), rate(&c, 4));
        ck_assert_double_eq(rate(&c, 11), rate(&c, 6));
        c.s.epoch_steps = 0;
        ck_assert_double_eq_tol(rate(&c, 12), whole, whole * 1e-12);
        ck_assert_double_ge(rate(&c, 1200), whole * (1 - 1e-12));
    }
}
END_TEST

/* The longest and the shortest round are those in which workers take an epoch, to half a sample. */
START_TEST(lengths_of_rounds)
{
    enum { BATCH = 6 };
    const int64_t batch = BATCH;

    for (int64_t period = 1; period < 20; period++)
        for (int64_t samples = 1; samples < 100 * BATCH; samples++) {
            const struct rounds_plan rounds = { .batch = &batch, .n_groups = 1, .period = period };
            const double epoch_steps = (double)samples / BATCH;
            int64_t most = 0, least = samples, left = samples;

            while (left > 0) {
                int64_t size = rounds_size(&rounds, left);

                most = size > most ? size : most;
                least = size < least ? size : least;
                left -= size;
            }
            ck_assert_double_eq_tol(modes_longest_round(epoch_steps, period) * BATCH, (double)most,
                                    0.5 + 1e-9);
            ck_assert_double_eq_tol(modes_shortest_round(epoch_steps, period) * BATCH,
                                    (double)least, 0.5 + 1e-9);
        }
    ck_assert(modes_longest_round(0, 7) == 7 && modes_shortest_round(0, 7) == 7);
}
END_TEST

/* The times of the groups say how long a round is, and half the bytes travel in half the time. */
START_TEST(times_say_the_round)
{
    uint64_t seed = 48;

    for (int k = 0; k < CLUSTERS; k++) {
        struct modes_time t[MOST], narrow[MOST];
        struct cluster c;
        double round_s = 0;

        make_cluster(&c, &seed);
        for (int i = 0; i < c.s.n; i++)
            round_s += (double)(8 * c.worker[i].batch);
        round_s /= rate(&c, 8);
        c.s.worker = c.worker;
        ck_assert_int_eq(modes_round_times(&c.s, c.group, 8, t, NULL), c.n_groups);
        for (int g = 0; g < c.n_groups; g++) {
            ck_assert(t[g].compute_s > 0 && t[g].exposed_s >= 0);
            ck_assert_double_eq(t[g].exchange_s, t[0].exchange_s);
            /* A group makes at least 8 steps in a round, which no round outlasts. */
            ck_assert_double_ge(round_s * (1 + 1e-9),
                                8 * (t[g].compute_s + t[g].exposed_s) + t[g].exchange_s);
        }
        c.s.wire = SYNC_WIRE_BFLOAT16;
        ck_assert_int_eq(modes_round_times(&c.s, c.group, 8, narrow, NULL), c.n_groups);
        if (c.s.n_nodes > 1 && c.s.bytes_per_s < 1e7)
            ck_assert(narrow[0].exchange_s < 0.6 * t[0].exchange_s);
        else if (c.s.n_nodes == 1)
            ck_assert_double_eq(narrow[0].exchange_s, t[0].exchange_s);
    }
}
END_TEST

/* Differences of 16-bit parameters are float32 and narrowed, those of float64 are sent as they are.
 */
START_TEST(types_of_differences)
{
    static const struct program types[] = {
        { .gradient_bytes = 40000000, .float32_bytes = 40000000, .centre_bytes = 40000000 },
        { .gradient_bytes = 20000000, .float32_bytes = 0, .centre_bytes = 40000000 },
        { .gradient_bytes = 30000000, .float32_bytes = 20000000, .centre_bytes = 40000000 },
        { .gradient_bytes = 40000000, .float32_bytes = 0, .centre_bytes = 40000000 },
    };
    struct modes_worker worker[2] = { { .t = { 0, 1e-3 }, .batch = 8, .node = 0 },
                                      { .t = { 0, 1e-3 }, .batch = 8, .node = 1 } };
    struct modes_setup modes = {
        .worker = worker, .n = 2, .n_nodes = 2, .model_bytes = 40000000, .bytes_per_s = 1e6
    };

    for (int k = 0; k < 4; k++) {
        struct modes_time wide[2], narrow[2];

        modes.program = types[k];
        modes.wire = SYNC_WIRE_FLOAT32;
        ck_assert_int_eq(modes_round_times(&modes, NULL, 8, wide, NULL), 2);
        modes.wire = SYNC_WIRE_BFLOAT16;
        ck_assert_int_eq(modes_round_times(&modes, NULL, 8, narrow, NULL), 2);
        ck_assert_double_eq_tol(narrow[0].exchange_s / wide[0].exchange_s, k < 3 ? 0.5 : 1, 0.01);
    }
}
END_TEST

/* The first steps of the next round hide the combining of models; at most all of them do. */
START_TEST(overlap_hides_the_exchange)
{
    struct modes_worker worker[2] = { { .t = { 0, 1e-3 }, .batch = 10, .node = 0 },
                                      { .t = { 0, 2e-3 }, .batch = 5, .node = 1 } };
    struct modes_setup modes = {
        .worker = worker, .n = 2, .n_nodes = 2, .model_bytes = 100000, .bytes_per_s = 1e6
    };

    for (int64_t period = 1; period < 10; period++) {
        /* the first makes more and shorter steps, of at most 8 samples */
        const double steps = period == 1 ? 1 : ceil((double)period * 10 / 8);
        const double steps_s = (double)period * 0.01, step_s[2] = { steps_s / steps, 0.01 };
        struct modes_time t[2];
        double rate, all_s;

        modes.overlap = 0;
        ck_assert_int_eq(modes_round_times(&modes, NULL, period, t, NULL), 2);
        all_s = t[0].exchange_s;
        ck_assert(all_s > 0.09 && all_s < 0.11);
        for (; modes.overlap < 20; modes.overlap++) {
            double exposed_s[2];

            ck_assert_int_eq(modes_round_times(&modes, NULL, period, t, NULL), 2);
            for (int g = 0; g < 2; g++) {
                double hidden_s = fmin((double)modes.overlap * step_s[g], steps_s);

                exposed_s[g] = fmax(all_s - hidden_s, 0);
                ck_assert_double_eq_tol(t[g].exchange_s, exposed_s[g], 1e-9);
            }
            ck_assert_int_eq(modes_rounds(&modes, NULL, period, &rate, NULL), 0);
            ck_assert_double_eq_tol((double)period * 15 / rate, steps_s + exposed_s[0], 1e-9);
        }
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, overlap_hides_the_exchange);
    tcase_add_test(tc, types_of_differences);
    tcase_add_test(tc, longer_rounds_are_never_slower);
    tcase_add_test(tc, faster_workers_and_links_never_lower);
    tcase_add_test(tc, no_network_gives_the_sum);
    tcase_add_test(tc, whole_samples_take_as_long);
    tcase_add_test(tc, rounds_fill_an_epoch);
    tcase_add_test(tc, lengths_of_rounds);
    tcase_add_test(tc, times_say_the_round);
}

SUITE_MAIN("rounds", add_tests)
