/* SPDX-License-Identifier: Apache-2.0 */
/* test_sets.c - engines with several sets, whose rounds overlap, in orders drawn from a seed: sums
 * beside float64, bits of ranks, 16 bits on the wire, and one agreement a step.
 */
#include "bench/loop_thread.h"

#include "lib/base/random.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { RANKS = 5, PARAMETERS = 6, LONGEST = 4000, STEPS = 12, ROUNDS = 6, SETS = 3 };

static const size_t lengths[PARAMETERS] = { LONGEST, 7, 600, 1, 1500, 33 };
static const int set_of[PARAMETERS] = { 0, 1, 2, 0, 1, 0 };
static const int order[ROUNDS] = { 1, 0, 1, 2, 1, 0 }; /* the sets of a step's rounds */
static const int weighed = 2;                          /* the round that has weights of its own */

static const struct trial {
    enum sync_wire wire;
    size_t bucket_bytes; /* 0: measured */
    double most;         /* error of a sum */
} trials[] = { { SYNC_WIRE_FLOAT32, 900, 1e-6 },
               { SYNC_WIRE_FLOAT32, 0, 1e-6 },
               { SYNC_WIRE_BFLOAT16, 0, 0.02 },
               { SYNC_WIRE_FLOAT16, 900, 0.002 } };

struct rank {
    int reports, agreed;
    int round, next; /* of the step; the round's next parameter */
    struct bucket_layout layout;
    float source[ROUNDS][PARAMETERS][LONGEST], got[ROUNDS][PARAMETERS][LONGEST];
};

static struct job {
    const struct trial *t;
    struct engine *e[RANKS];
    struct rank rank[RANKS];
    struct loop_thread *loop;
    uint64_t random;
} job;

/* A rank's gradient. */
static double gradient(int rank, int step, int round, int parameter, size_t k)
{
    uint64_t seed = random_mix((uint64_t)(rank * 1000 + step), (uint64_t)(round * 10 + parameter));

    seed = random_mix(seed, k);
    return 2 * random_unit(&seed) - 1;
}

static double weight(int rank, int round)
{
    return round == weighed ? 7 - rank : rank + 1;
}

static void count_report(void *arg, struct sync_trailer *tail)
{
    ((struct rank *)arg)->reports++;
    tail->version = 5;
}

static void count_agreed(void *arg, int64_t step, const struct sync_trailer *tail)
{
    (void)step;
    ((struct rank *)arg)->agreed++;
    ck_assert_int_eq(tail->version, 5);
}

static void keep_layout(void *arg, const struct bucket_layout *l)
{
    ((struct rank *)arg)->layout = *l;
}

/* layout NULL: the trial says. */
static void job_open(const struct trial *t, const struct bucket_layout *layout, uint64_t seed)
{
    struct engine_parameter p[PARAMETERS];

    memset(&job, 0, sizeof job);
    job.t = t;
    job.random = seed;
    for (int i = 0; i < PARAMETERS; i++)
        p[i] = (struct engine_parameter){ .n = lengths[i], .type = COMM_FLOAT32, .set = set_of[i] };
    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(
            engine_new(&(struct engine_options){ .place = { r, RANKS, true },
                                                 .algorithm = "allreduce",
                                                 .options = { .wire = t->wire },
                                                 .bucket_bytes = t->bucket_bytes,
                                                 .layout = layout,
                                                 .parameter = p,
                                                 .n_parameters = PARAMETERS,
                                                 .hooks = { .arg = &job.rank[r],
                                                            .report = count_report,
                                                            .agreed = count_agreed,
                                                            .laid_out = keep_layout } },
                       &job.e[r], NULL),
            0);
    ck_assert_int_eq(loop_thread_new(job.e, RANKS, seed, &job.loop, NULL), 0);
}

static void job_close(void)
{
    loop_thread_free(job.loop);
    for (int r = 0; r < RANKS; r++)
        engine_free(job.e[r]);
}

/* Whether the set's last round is combined on this rank. */
static bool round_over(int r, int set)
{
    const struct engine *e = job.e[r];

    for (int p = 0; p < PARAMETERS; p++)
        if (set_of[p] == set &&
            engine_done_round(e, engine_bucket_of(e, p)) < engine_rounds_begun(e, set))
            return false;
    return true;
}

/* Announce a rank's next gradient of its round, unless the set has one under way. */
static void advance(int r, int step)
{
    struct rank *own = &job.rank[r];
    int set = order[own->round];
    float *g;

    if (own->next == 0 && !round_over(r, set))
        return;
    if (own->next == 0 && own->round == weighed)
        engine_set_round_weight(job.e[r], set, weight(r, weighed));
    while (own->next < PARAMETERS && set_of[own->next] != set)
        own->next++;
    if (own->next == PARAMETERS) {
        own->round++;
        own->next = 0;
        return;
    }
    g = own->source[own->round][own->next];
    for (size_t k = 0; k < lengths[own->next]; k++)
        g[k] = (float)gradient(r, step, own->round, own->next, k);
    ck_assert_int_eq(loop_thread_announce(
                         job.loop, r,
                         &(struct engine_announcement){ .parameter = own->next,
                                                        .source = g,
                                                        .result = own->got[own->round][own->next] },
                         NULL),
                     0);
    own->next++;
}

/* The error of a combined gradient beside the usual size of its elements. */
static double distance(int step, int round, int p)
{
    double apart = 0, sum = 0, squares = 0;

    for (int r = 0; r < RANKS; r++) {
        sum += weight(r, round);
        squares += weight(r, round) * weight(r, round) / 3; /* a gradient's are 1/3 */
    }
    for (size_t k = 0; k < lengths[p]; k++) {
        double want = 0, d;

        for (int r = 0; r < RANKS; r++)
            want += weight(r, round) / sum * gradient(r, step, round, p, k);
        d = job.rank[0].got[round][p][k] - want;
        apart += d * d;
    }
    return sqrt(apart / (double)lengths[p] / squares) * sum;
}

static void check(int step)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int p = 0; p < PARAMETERS; p++) {
            if (set_of[p] != order[i])
                continue;
            ck_assert_double_le(distance(step, i, p), job.t->most);
            for (int r = 1; r < RANKS; r++)
                ck_assert_mem_eq(job.rank[r].got[i][p], job.rank[0].got[i][p],
                                 lengths[p] * sizeof(float));
        }
    for (int r = 0; r < RANKS; r++) {
        ck_assert_int_eq(job.rank[r].reports, step + 1);
        ck_assert_int_eq(job.rank[r].agreed, step + 1);
    }
}

static void one_step(int step)
{
    int left = RANKS;

    for (int r = 0; r < RANKS; r++) {
        engine_begin(job.e[r], &(struct engine_step){ step, r + 1, RANKS * (RANKS + 1) / 2 },
                     loop_thread_now_ns(job.loop));
        job.rank[r].round = 0;
    }
    while (left) {
        int r = (int)random_below(&job.random, RANKS);

        if (job.rank[r].round < ROUNDS) {
            advance(r, step);
            left -= job.rank[r].round == ROUNDS;
        }
        while (random_below(&job.random, 3))
            ck_assert_int_ge(loop_thread_step(job.loop, NULL), 0);
    }
    ck_assert_int_eq(loop_thread_run(job.loop, step, NULL), 0);
    check(step);
}

/* Loop: trials; the last time with the layout that was measured, as of a plan. */
START_TEST(rounds_overlap)
{
    struct bucket_layout layout = { 0 };

    for (uint64_t seed = 1; seed <= 4; seed++) {
        int layouts = trials[_i].bucket_bytes || seed == 4 ? 1 : 2;

        job_open(&trials[_i], seed == 4 && layout.n ? &layout : NULL, seed);
        for (int step = 0; step < STEPS; step++)
            one_step(step);
        for (int r = 0; r < RANKS; r++)
            ck_assert_int_eq(engine_layouts(job.e[r]), layouts);
        layout = job.rank[0].layout;
        job_close();
    }
}
END_TEST

/* Every rank is told of the two that differ, before anything of the round is sent. */
START_TEST(unlike_rounds_fail)
{
    struct eddis_error err = { 0 };
    int failed = 0;

    job_open(&trials[0], NULL, 1);
    for (int r = 0; r < RANKS; r++)
        engine_begin(job.e[r], &(struct engine_step){ 0, 1, RANKS }, 0);
    for (int r = 0; r < RANKS; r++) {
        struct engine_announcement a = { .parameter = r == 3 ? 2 : 1 };

        ck_assert_int_eq(loop_thread_announce(job.loop, r, &a, NULL), 0);
    }
    for (int rc = 1; rc != 0;) {
        rc = loop_thread_step(job.loop, &err);
        if (rc >= 0)
            continue;
        failed++;
        ck_assert_int_eq(rc, -EPROTO);
        ck_assert_msg(strstr(err.text, "rank 3 ") && strstr(err.text, "of set 1") &&
                          strstr(err.text, "of set 2"),
                      "%s", err.text);
    }
    ck_assert_int_eq(failed, RANKS);
    job_close();
}
END_TEST

/* A set without a parameter has no bucket. */
START_TEST(sets_have_parameters)
{
    struct engine_parameter p = { .n = 3, .type = COMM_FLOAT32, .set = 1 };
    struct eddis_error err = { 0 };
    struct engine *e;

    ck_assert_int_eq(engine_new(&(struct engine_options){ .place = { 0, 1 },
                                                          .algorithm = "allreduce",
                                                          .parameter = &p,
                                                          .n_parameters = 1 },
                                &e, &err),
                     -EINVAL);
    ck_assert_str_eq(err.text, "set 0 of 2 has no parameter");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, rounds_overlap, 0, sizeof trials / sizeof *trials);
    tcase_add_test(tc, unlike_rounds_fail);
    tcase_add_test(tc, sets_have_parameters);
}

SUITE_MAIN("sets", add_tests)
