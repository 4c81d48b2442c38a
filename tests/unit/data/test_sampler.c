/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampler.c - tests of lib/data/sampler.h */
#include "suite.h"

#include "lib/base/random.h"
#include "lib/data/permutation.h"
#include "lib/data/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 12 };

static struct eddis_error err;

static struct sampler *open_one(int64_t samples, int64_t epochs, int rank, int n_ranks,
                                const int64_t *batch)
{
    struct sampler_options o = { samples, epochs, 77, rank, n_ranks };
    struct sampler *s = NULL;

    ck_assert_msg(sampler_open(&o, &s, &err) == 0, "%s", err.text);
    if (batch)
        ck_assert_msg(sampler_add_plan(s, 1, 0, batch, &err) == 0, "%s", err.text);
    return s;
}

/* A random split of `all` among n ranks, many of them 0. */
static void random_split(uint64_t *state, int64_t all, int n, int64_t *ret)
{
    memset(ret, 0, (size_t)n * sizeof *ret);
    for (int64_t left = all; left > 0;) {
        int64_t part = 1 + (int64_t)random_below(state, (uint64_t)left);

        ret[random_below(state, (uint64_t)n)] += part;
        left -= part;
    }
}

static const struct {
    int64_t samples, batch[4], step;
    int n_ranks;
    int64_t first[4], count[4], all;
} split_rows[] = {
    { 100, { 3, 5, 2 }, 0, 3, { 0, 3, 8 }, { 3, 5, 2 }, 10 },
    { 100, { 3, 5, 2 }, 9, 3, { 90, 93, 98 }, { 3, 5, 2 }, 10 },
    { 100, { 3, 5, 2 }, 10, 3, { 0, 3, 8 }, { 3, 5, 2 }, 10 },
    { 100, { 0, 10, 0 }, 4, 3, { 40, 40, 50 }, { 0, 10, 0 }, 10 },
    /* 7 left: 2.1, 3.5, 1.4 -> 2, 3, 1 and one more for the largest rest */
    { 97, { 3, 5, 2 }, 9, 3, { 90, 92, 96 }, { 2, 4, 1 }, 7 },
    /* 1 left: 0.3, 0.5, 0.2 */
    { 91, { 3, 5, 2 }, 9, 3, { 90, 90, 91 }, { 0, 1, 0 }, 1 },
    /* ties go to the lower rank: 1 of 4 equal ones, 2 of 4, 3 of 4 */
    { 5, { 1, 1, 1, 1 }, 1, 4, { 4, 5, 5, 5 }, { 1, 0, 0, 0 }, 1 },
    { 6, { 1, 1, 1, 1 }, 1, 4, { 4, 5, 6, 6 }, { 1, 1, 0, 0 }, 2 },
    { 7, { 1, 1, 1, 1 }, 1, 4, { 4, 5, 6, 7 }, { 1, 1, 1, 0 }, 3 },
    /* a rank without samples never gets one that is left over */
    { 3, { 0, 2, 2 }, 0, 3, { 0, 0, 2 }, { 0, 2, 1 }, 3 },
    /* an epoch smaller than the global batch */
    { 3, { 100, 100, 100 }, 0, 3, { 0, 1, 2 }, { 1, 1, 1 }, 3 },
    { 1, { 64 }, 5, 1, { 0 }, { 1 }, 1 },
};

START_TEST(splits)
{
    for (int rank = 0; rank < split_rows[_i].n_ranks; rank++) {
        struct sampler *s =
            open_one(split_rows[_i].samples, 0, rank, split_rows[_i].n_ranks, split_rows[_i].batch);
        struct sampler_step got;

        ck_assert_int_eq(sampler_ask(s, split_rows[_i].step, &got, NULL), 1);
        ck_assert_int_eq(got.first, split_rows[_i].first[rank]);
        ck_assert_int_eq(got.count, split_rows[_i].count[rank]);
        ck_assert_int_eq(got.batch, split_rows[_i].all);
        ck_assert_int_eq(got.version, 1);
        sampler_close(s);
    }
}
END_TEST

/* Property 51 of synchronisation: every sample exactly once an epoch for any split, any number
 * of ranks, with re-splits in mid-epoch, and the samples of a step do not depend on the split.
 */
static void check_epochs(uint64_t *state, int64_t samples, int64_t batch, int n_ranks)
{
    enum { EPOCHS = 3 };
    struct sampler *s[MAX_RANKS];
    int64_t split[MAX_RANKS], *index = malloc((size_t)batch * sizeof *index);
    int64_t steps, version = 1;
    int *times = calloc((size_t)samples, sizeof *times);

    random_split(state, batch, n_ranks, split);
    for (int r = 0; r < n_ranks; r++)
        s[r] = open_one(samples, EPOCHS, r, n_ranks, split);
    steps = sampler_steps(s[0]);
    ck_assert_int_eq(steps, EPOCHS * sampler_steps_in_epoch(s[0]));
    for (int64_t t = 0; t < steps; t++) {
        int64_t in_epoch = t % (steps / EPOCHS), end = in_epoch * batch;
        struct permutation p;
        struct sampler_step got;

        permutation_init(&p, samples, 77, t / (steps / EPOCHS));
        if (t && random_below(state, 3) == 0) {
            random_split(state, batch, n_ranks, split);
            version += 1 + (int64_t)random_below(state, 2);
            for (int r = 0; r < n_ranks; r++)
                ck_assert_int_eq(sampler_add_plan(s[r], version, t, split, &err), 0);
        }
        for (int r = 0; r < n_ranks; r++) {
            ck_assert_int_eq(sampler_ask(s[r], t, &got, &err), 1);
            ck_assert_int_eq(got.first, end); /* the ranks follow one another without a gap */
            ck_assert_int_eq(got.version, version);
            if (got.batch == batch)
                ck_assert_int_eq(got.count, split[r]);
            ck_assert_int_le(got.count, split[r]);
            end += got.count;
            ck_assert_int_eq(sampler_indices(s[r], got.epoch, got.first, got.count, index, &err),
                             0);
            for (int64_t i = 0; i < got.count; i++) {
                times[index[i]]++;
                ck_assert_int_eq(index[i], permutation_at(&p, got.first + i));
            }
        }
        ck_assert_int_eq(end, in_epoch * batch + got.batch);
        if ((t + 1) % (steps / EPOCHS) == 0)
            for (int64_t i = 0; i < samples; i++)
                ck_assert_int_eq(times[i], t / (steps / EPOCHS) + 1);
    }
    for (int r = 0; r < n_ranks; r++) {
        struct sampler_step got;

        ck_assert_int_eq(sampler_asked(s[r]), steps - 1);
        ck_assert_int_eq(sampler_ask(s[r], steps, &got, NULL), 0);
        ck_assert_int_eq(sampler_asked(s[r]), steps - 1);
        sampler_close(s[r]);
    }
    free(times);
    free(index);
}

START_TEST(property_51_every_sample_once)
{
    uint64_t state = 11;

    for (int round = 0; round < 60; round++) {
        int64_t samples = 1 + (int64_t)random_below(&state, 700);
        int64_t batch = 1 + (int64_t)random_below(&state, 60);

        check_epochs(&state, samples, batch, 1 + (int)random_below(&state, MAX_RANKS));
    }
    check_epochs(&state, 1437, 256, 4);
    check_epochs(&state, 1000, 1000, 7);
    check_epochs(&state, 10, 1000, 7);
}
END_TEST

/* ---- one sampler ---- */

static struct sampler *s;
static struct sampler_step got;

static void tear_down(void)
{
    sampler_close(s);
    s = NULL;
}

/* What was said about a step never changes, whatever is added later; read-ahead is allowed. */
START_TEST(said_is_said)
{
    static const int64_t a[] = { 4, 6 }, b[] = { 7, 3 }, c[] = { 1, 9 }, odd[] = { 4, 7 };

    s = open_one(1000, 0, 1, 2, a);
    ck_assert_int_eq(sampler_asked(s), -1);
    ck_assert_int_eq(sampler_ask(s, 7, &got, NULL), 1);
    ck_assert_int_eq(sampler_ask(s, 3, &got, NULL), 1);
    ck_assert_int_eq(sampler_asked(s), 7);
    ck_assert_int_eq(sampler_look(s, 20, 0, &got, NULL), 1);
    ck_assert_int_eq(sampler_asked(s), 7);
    ck_assert_int_eq(sampler_add_plan(s, 2, 7, b, &err), -ESTALE);
    ck_assert_int_eq(sampler_add_plan(s, 1, 8, b, &err), -EINVAL);
    ck_assert_int_eq(sampler_add_plan(s, 2, 8, odd, &err), -EINVAL);
    ck_assert_str_eq(err.text, "plan 2 has a global batch of 11, the job has one of 10");
    ck_assert_int_eq(sampler_add_plan(s, 2, 8, b, NULL), 0);
    ck_assert_int_eq(sampler_add_plan(s, 3, 8, c, NULL), 0); /* replaces 2, nobody asked for 8 */
    ck_assert_int_eq(sampler_add_plan(s, 5, 12, a, NULL), 0);
    sampler_set_piece(s, 4);
    ck_assert_int_eq(sampler_add_plan(s, 6, 11, a, NULL), -ESTALE);
    for (int64_t t = 0; t < 20; t++) {
        ck_assert_int_eq(sampler_ask(s, t, &got, NULL), 1);
        ck_assert_int_eq(got.version, t < 8 ? 1 : t < 12 ? 3 : 5);
        ck_assert_int_eq(got.count, t < 8 ? 6 : t < 12 ? 9 : 6);
        ck_assert_int_eq(got.piece, t < 12 ? 0 : 4);
    }
    sampler_forget(s, 10);
    ck_assert_int_eq(sampler_ask(s, 9, &got, NULL), -ESTALE);
    ck_assert_int_eq(sampler_ask(s, 10, &got, NULL), 1);
    ck_assert_int_eq(got.version, 3);
    sampler_forget(s, 4);
    sampler_forget(s, 500);
    ck_assert_int_eq(sampler_ask(s, 500, &got, NULL), 1);
    ck_assert_int_eq(got.version, 5);
}
END_TEST

/* A day of re-plans must not keep them all: forget frees, and answers stay right. */
START_TEST(property_51_through_many_plans)
{
    int64_t batch[2] = { 5, 5 };

    s = open_one(1 << 20, 0, 0, 2, batch);
    for (int64_t t = 1; t < 20000; t++) {
        batch[0] = t % 11;
        batch[1] = 10 - batch[0];
        ck_assert_int_eq(sampler_add_plan(s, t + 1, t, batch, NULL), 0);
        ck_assert_int_eq(sampler_ask(s, t, &got, NULL), 1);
        ck_assert_int_eq(got.version, t + 1);
        ck_assert_int_eq(got.count, got.batch == 10 ? batch[0] : got.count);
        sampler_forget(s, t);
    }
}
END_TEST

/* Back from a later step, and from plans that were to come: the newest holds. */
START_TEST(back)
{
    static const int64_t a[] = { 4, 6 }, b[] = { 7, 3 };
    struct sampler_step x;

    s = open_one(95, 4, 1, 2, a);
    ck_assert_int_eq(sampler_add_plan(s, 2, 12, b, NULL), 0);
    ck_assert_int_eq(sampler_ask(s, 20, &x, NULL), 1);
    ck_assert_int_eq(sampler_add_plan(s, 3, 30, a, NULL), 0);
    sampler_forget(s, 15);
    ck_assert_int_eq(sampler_ask(s, 5, &x, NULL), -ESTALE);
    sampler_resume(s, 5);
    ck_assert_int_eq(sampler_asked(s), 4);
    ck_assert_int_eq(sampler_ask(s, 4, &x, NULL), -ESTALE);
    ck_assert_int_eq(sampler_ask(s, 5, &x, NULL), 1);
    ck_assert_int_eq(x.version, 3);
    ck_assert_int_eq(sampler_add_plan(s, 4, 6, b, NULL), 0);
    ck_assert_int_eq(sampler_ask(s, 6, &x, NULL), 1);
    ck_assert_int_eq(x.version, 4);
}
END_TEST

START_TEST(resume)
{
    static const int64_t a[] = { 4, 6 }, b[] = { 7, 3 };
    struct sampler *again = open_one(95, 4, 1, 2, a);
    struct sampler_step x, y;

    s = open_one(95, 4, 1, 2, a);
    sampler_resume(again, 23);
    ck_assert_int_eq(sampler_asked(again), 22);
    ck_assert_int_eq(sampler_add_plan(again, 2, 22, b, NULL), -ESTALE);
    ck_assert_int_eq(sampler_add_plan(again, 2, 23, a, NULL), 0);
    for (int64_t t = 23; t < sampler_steps(s); t++) {
        int64_t i[10], j[10];

        ck_assert_int_eq(sampler_ask(s, t, &x, NULL), 1);
        ck_assert_int_eq(sampler_ask(again, t, &y, NULL), 1);
        ck_assert(x.first == y.first && x.count == y.count && x.epoch == y.epoch);
        ck_assert_int_eq(sampler_indices(s, x.epoch, x.first, x.count, i, NULL), 0);
        ck_assert_int_eq(sampler_indices(again, y.epoch, y.first, y.count, j, NULL), 0);
        ck_assert_mem_eq(i, j, (size_t)x.count * sizeof *i);
    }
    sampler_close(again);
}
END_TEST

static const struct {
    int64_t samples, min_count, batch[5], step;
    int n_ranks;
    bool drop_last;
    int64_t used, count[5], all; /* all 0: the step is of the next epoch, which is not there */
} trailer_rows[] = {
    /* 7 left: 2, 4, 1, and the last gets none */
    { 97, 2, { 3, 5, 2 }, 9, 3, false, 97, { 3, 4, 0 }, 7 },
    { 97, 3, { 3, 5, 2 }, 9, 3, false, 97, { 0, 7, 0 }, 7 },
    { 97, 7, { 3, 5, 2 }, 9, 3, false, 97, { 0, 7, 0 }, 7 },
    { 97, 8, { 3, 5, 2 }, 9, 3, false, 90, { 0 }, 0 },
    /* in a whole step too */
    { 97, 3, { 3, 5, 2 }, 0, 3, false, 97, { 4, 6, 0 }, 10 },
    { 97, 2, { 3, 5, 2 }, 0, 3, false, 97, { 3, 5, 2 }, 10 },
    { 97, 10, { 3, 5, 2 }, 0, 3, false, 90, { 0, 10, 0 }, 10 },
    /* as many as can be, the lower ranks of equal ones */
    { 9, 2, { 1, 1, 1, 1, 1 }, 1, 5, false, 9, { 2, 2, 0, 0, 0 }, 4 },
    { 8, 2, { 1, 1, 1, 1, 1 }, 1, 5, false, 8, { 3, 0, 0, 0, 0 }, 3 },
    { 6, 2, { 1, 1, 1, 1, 1 }, 1, 5, false, 5, { 0 }, 0 },
    { 5, 2, { 1, 1, 1, 1, 1 }, 0, 5, false, 5, { 3, 2, 0, 0, 0 }, 5 },
    { 97, 0, { 3, 5, 2 }, 9, 3, true, 90, { 0 }, 0 },
    { 97, 0, { 3, 5, 2 }, 8, 3, true, 90, { 3, 5, 2 }, 10 },
    { 90, 0, { 3, 5, 2 }, 8, 3, true, 90, { 3, 5, 2 }, 10 },
    /* nothing is left */
    { 9, 0, { 3, 5, 2 }, 0, 3, true, 0, { 0 }, -1 },
    { 97, 11, { 3, 5, 2 }, 0, 3, false, 0, { 0 }, -1 },
};

START_TEST(tails)
{
    int64_t end = 0;

    for (int rank = 0; rank < trailer_rows[_i].n_ranks; rank++) {
        struct sampler_options o = { .samples = trailer_rows[_i].samples,
                                     .epochs = 1,
                                     .rank = rank,
                                     .n_ranks = trailer_rows[_i].n_ranks,
                                     .drop_last = trailer_rows[_i].drop_last,
                                     .min_count = trailer_rows[_i].min_count };

        tear_down();
        got = (struct sampler_step){ 0 };
        ck_assert_int_eq(sampler_open(&o, &s, &err), 0);
        ck_assert_int_eq(sampler_add_plan(s, 1, 0, trailer_rows[_i].batch, &err), 0);
        ck_assert_int_eq(sampler_used(s), trailer_rows[_i].used);
        ck_assert_int_eq(sampler_ask(s, trailer_rows[_i].step, &got, NULL),
                         trailer_rows[_i].all < 0   ? -EINVAL
                         : trailer_rows[_i].all > 0 ? 1
                                                    : 0);
        ck_assert_int_eq(got.count, trailer_rows[_i].count[rank]);
        if (trailer_rows[_i].all > 0) {
            end = rank ? end : got.first;
            ck_assert_int_eq(got.batch, trailer_rows[_i].all);
            ck_assert_int_eq(got.first, end);
            ck_assert(got.last_of_epoch == (got.first / 10 == (trailer_rows[_i].used - 1) / 10) ||
                      trailer_rows[_i].n_ranks == 5);
            end += got.count;
        }
    }
}
END_TEST

/* Nothing is told before it is known how many samples there are. */
START_TEST(late_data)
{
    static const int64_t batch[] = { 30, 10 };

    s = open_one(0, 0, 0, 2, batch);
    ck_assert_int_eq(sampler_ask(s, 0, &got, NULL), -EINVAL);
    ck_assert_int_eq(sampler_steps_in_epoch(s), 0);
    ck_assert_int_eq(sampler_steps(s), 0);
    ck_assert_int_eq(sampler_set_data(s, 0, 1, NULL), -EINVAL);
    ck_assert_int_eq(sampler_set_data(s, PERMUTATION_MAX + 1, 1, NULL), -EINVAL);
    ck_assert_int_eq(sampler_set_data(s, 100, -1, NULL), -EINVAL);
    ck_assert_int_eq(sampler_set_data(s, 100, 2, NULL), 0);
    ck_assert_int_eq(sampler_steps_in_epoch(s), 3);
    ck_assert_int_eq(sampler_steps(s), 6);
    ck_assert_int_eq(sampler_ask(s, 5, &got, NULL), 1);
    ck_assert_int_eq(got.count, 15);
    ck_assert_int_eq(sampler_ask(s, 6, &got, NULL), 0);
}
END_TEST

START_TEST(bad_options)
{
    static const struct sampler_options rows[] = {
        { -1, 1, 0, 0, 1 },
        { PERMUTATION_MAX + 1, 1, 0, 0, 1 },
        { .samples = 1, .n_ranks = 1, .min_count = -1 },
        { 1, -1, 0, 0, 1 },
        { 1, 1, 0, 1, 1 },
        { 1, 1, 0, -1, 1 },
        { 1, 1, 0, 0, 0 },
    };
    static const int64_t none[] = { 0, 0 }, minus[] = { 5, -1 }, huge[] = { INT64_MAX, 1 },
                         good[] = { 1, 1 };
    int64_t i;

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        ck_assert_int_eq(sampler_open(&rows[r], &s, NULL), -EINVAL);
    s = open_one(100, 1, 0, 2, NULL);
    ck_assert_int_eq(sampler_ask(s, 0, &got, NULL), -EINVAL);
    ck_assert_int_eq(sampler_steps(s), 0);
    ck_assert_int_eq(sampler_add_plan(s, 1, 0, none, NULL), -EINVAL);
    ck_assert_int_eq(sampler_add_plan(s, 1, 0, minus, NULL), -EINVAL);
    ck_assert_int_eq(sampler_add_plan(s, 1, 0, huge, NULL), -EINVAL);
    ck_assert_int_eq(sampler_add_plan(s, 1, 1, good, NULL), -EINVAL);
    ck_assert_int_eq(sampler_add_plan(s, 1, 0, good, NULL), 0);
    ck_assert_int_eq(sampler_ask(s, -1, &got, NULL), -EINVAL);
    ck_assert_int_eq(sampler_look(s, 0, 2, &got, NULL), -EINVAL);
    ck_assert_int_eq(sampler_indices(s, 0, 99, 2, &i, &err), -ERANGE);
    ck_assert_int_eq(sampler_indices(s, 0, -1, 1, &i, NULL), -ERANGE);
    ck_assert_int_eq(sampler_indices(s, 0, 100, 0, &i, NULL), 0);
    ck_assert_int_eq(sampler_indices(s, 0, INT64_MAX, INT64_MAX, &i, NULL), -ERANGE);
    sampler_close(NULL);
}
END_TEST

/* Products of large numbers must not overflow: an epoch of 2^56 samples, its last step short. */
START_TEST(huge_epoch)
{
    int64_t batch[3] = { PERMUTATION_MAX / 2, 1, PERMUTATION_MAX / 4 }, all = 0;

    s = open_one(PERMUTATION_MAX, 0, 0, 3, batch);
    ck_assert_int_eq(sampler_steps_in_epoch(s), 2);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(sampler_look(s, 1, r, &got, NULL), 1);
        ck_assert_int_eq(got.first, batch[0] + 1 + batch[2] + all);
        all += got.count;
    }
    ck_assert_int_eq(all, got.batch);
    ck_assert_int_eq(sampler_look(s, INT64_MAX, 1, &got, NULL), 1);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, splits, 0, sizeof split_rows / sizeof *split_rows);
    tcase_add_test(tc, property_51_every_sample_once);
    tcase_add_test(tc, said_is_said);
    tcase_add_test(tc, property_51_through_many_plans);
    tcase_add_test(tc, resume);
    tcase_add_test(tc, back);
    tcase_add_test(tc, late_data);
    tcase_add_loop_test(tc, tails, 0, sizeof trailer_rows / sizeof *trailer_rows);
    tcase_add_test(tc, bad_options);
    tcase_add_test(tc, huge_epoch);
}

SUITE_MAIN("sampler", add_tests)
