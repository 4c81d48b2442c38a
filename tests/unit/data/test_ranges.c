/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranges.c - tests of lib/data/ranges.h */
#include "suite.h"

#include "lib/base/random.h"
#include "lib/data/ranges.h"
#include "lib/data/sampler.h"

#include <errno.h>
#include <string.h>

enum { MAX_WORKERS = 9, MAX_LEFT = 400, SAMPLES = 97, EPOCHS = 5 };

static struct eddis_error err;

static struct ranges *open_some(const struct range *left, size_t n, int64_t done, int64_t step)
{
    struct ranges_options o = { .samples = SAMPLES,
                                .epochs = EPOCHS,
                                .left = left,
                                .n_left = n,
                                .done_before = done,
                                .first_step = step };
    struct ranges *r = NULL;

    ck_assert_msg(ranges_open(&o, &r, &err) == 0, "%s", err.text);
    return r;
}

START_TEST(sealed_step_needs_no_next_one)
{
    struct ranges *r = open_some(NULL, 0, 0, 3);
    struct ranges_step s;

    ck_assert_int_eq(ranges_add(r, 95, 2, &err), 0);
    ck_assert_int_eq(ranges_look(r, 3, &s, &err), -EAGAIN);
    ranges_seal(r, true);
    ck_assert_int_eq(ranges_look(r, 3, &s, &err), 1);
    ck_assert(s.count == 2 && s.last_of_epoch);
    ck_assert_int_eq(ranges_look(r, 4, &s, &err), -EAGAIN);
    ck_assert_int_eq(ranges_add(r, 97, 3, &err), 0); /* ends the seal */
    ck_assert_int_eq(ranges_look(r, 4, &s, &err), -EAGAIN);
    ranges_seal(r, false);
    ck_assert_int_eq(ranges_look(r, 4, &s, &err), 1);
    ck_assert(s.epoch == 1 && !s.last_of_epoch);
    ck_assert_int_eq(ranges_passed(r, 100), 100);
    ranges_close(r);
}
END_TEST

START_TEST(rest_of_an_epoch_is_counted_through_what_is_left)
{
    static const struct range left[] = { { 5, 10 }, { 90, 3 }, { 95, 4 }, { 300, 50 } };
    struct ranges *r = open_some(left, 4, 0, 0), *all = open_some(NULL, 0, 0, 0);

    ck_assert_int_eq(ranges_epoch_left(r, 0), 15); /* 5 .. 14, 90 .. 92, 95 and 96 */
    ck_assert_int_eq(ranges_epoch_left(r, 14), 1);
    ck_assert_int_eq(ranges_epoch_left(r, 15), 2); /* 97 and 98, of the next epoch */
    ck_assert_int_eq(ranges_epoch_left(r, 17), 50);
    ck_assert_int_eq(ranges_epoch_left(r, 67), 0);
    ck_assert_int_eq(ranges_epoch_left(all, 0), SAMPLES);
    ck_assert_int_eq(ranges_epoch_left(all, SAMPLES + 1), SAMPLES - 1);
    ck_assert_int_eq(ranges_epoch_left(all, SAMPLES * EPOCHS), 0);
    ranges_close(r);
    ranges_close(all);
}
END_TEST

START_TEST(range_across_the_end_of_an_epoch_is_two_steps)
{
    struct ranges *r = open_some(NULL, 0, 0, 0);
    struct ranges_step s;

    err = (struct eddis_error){ 0 };
    ck_assert_int_eq(ranges_look(r, 0, &s, &err), -EAGAIN);
    ck_assert_str_eq(err.text, ""); /* the caller waits, and then succeeds */
    ck_assert_int_eq(ranges_add(r, 90, 20, &err), 0);
    ck_assert_int_eq(ranges_end(r), 2);
    ck_assert_int_eq(ranges_look(r, 0, &s, &err), 1);
    ck_assert_int_eq(s.epoch, 0);
    ck_assert_int_eq(s.first, 90);
    ck_assert_int_eq(s.count, 7);
    ck_assert(s.last_of_epoch);
    ck_assert_int_eq(s.passed, 97);
    ck_assert_int_eq(ranges_look(r, 1, &s, &err), -EAGAIN); /* the last of its epoch? */
    ck_assert_int_eq(ranges_add(r, 130, 5, &err), 0);
    ck_assert_int_eq(ranges_look(r, 1, &s, &err), 1);
    ck_assert_int_eq(s.epoch, 1);
    ck_assert_int_eq(s.first, 0);
    ck_assert_int_eq(s.count, 13);
    ck_assert_int_eq(s.step_in_epoch, 0);
    ck_assert(!s.last_of_epoch);
    ranges_finish(r, 0);
    ck_assert_int_eq(ranges_look(r, 0, &s, &err), -ESTALE);
    ck_assert_int_eq(ranges_n_unfinished(r), 2);
    ranges_close(r);
}
END_TEST

/* What an epoch's end leaves too short is nobody's, which is not the end. */
START_TEST(short_steps_are_left_out)
{
    struct ranges_options o = { .samples = SAMPLES, .epochs = 2, .min_count = 5 };
    struct ranges *r = NULL;
    struct ranges_step s;

    ck_assert_int_eq(ranges_open(&o, &r, &err), 0);
    ck_assert_int_eq(ranges_add(r, SAMPLES - 4, 8, &err), 0); /* 4 and 4 */
    ck_assert_int_eq(ranges_end(r), 0);
    ck_assert(!ranges_exhausted(r));
    ck_assert_int_eq(ranges_add(r, SAMPLES + 4, 5, &err), 0);
    ck_assert_int_eq(ranges_add(r, 2 * SAMPLES - 4, 8, &err), 0);
    ck_assert(!ranges_exhausted(r));
    ck_assert_int_eq(ranges_add(r, 2 * SAMPLES + 4, 8, &err), 0);
    ck_assert(ranges_exhausted(r));
    ck_assert_int_eq(ranges_look(r, 0, &s, &err), 1);
    ck_assert_int_eq(s.first, 4);
    ck_assert_int_eq(s.count, 5);
    ck_assert_int_eq(s.passed, SAMPLES + 9);
    ck_assert(s.last_of_epoch);
    ck_assert_int_eq(ranges_look(r, 1, &s, &err), 0);
    ranges_close(r);
}
END_TEST

START_TEST(end_alignment_end_is_the_counter_exhausted)
{
    struct ranges *r = open_some(NULL, 0, 0, 3);
    struct ranges_step s;

    /* Who adds 0 learns nothing. */
    ck_assert_int_eq(ranges_add(r, SAMPLES * EPOCHS - 9, 0, &err), 0);
    ck_assert(!ranges_exhausted(r));
    ck_assert_int_eq(ranges_add(r, SAMPLES * EPOCHS - 4, 20, &err), 0);
    ck_assert(!ranges_exhausted(r));
    ck_assert_int_eq(ranges_look(r, 3, &s, &err), -EAGAIN);
    ck_assert_int_eq(ranges_add(r, SAMPLES * EPOCHS + 16, 20, &err), 0);
    ck_assert(ranges_exhausted(r));
    ck_assert_int_eq(ranges_look(r, 3, &s, &err), 1);
    ck_assert_int_eq(s.count, 4);
    ck_assert(s.last_of_epoch);
    ck_assert_int_eq(s.passed, SAMPLES * EPOCHS);
    ck_assert_int_eq(ranges_look(r, 4, &s, &err), 0);
    ranges_finish(r, 3);
    ranges_finish(r, 4); /* a step without samples */
    ck_assert_int_eq(ranges_look(r, 5, &s, &err), 0);
    ranges_close(r);
}
END_TEST

START_TEST(without_end)
{
    struct ranges_options o = { .samples = 10 };
    struct ranges *r = NULL;
    struct ranges_step s;

    ck_assert_int_eq(ranges_open(&o, &r, &err), 0);
    ck_assert_int_eq(ranges_add(r, INT64_C(1) << 60, 7, &err), 0);
    ck_assert_int_eq(ranges_add(r, (INT64_C(1) << 60) + 7, 7, &err), 0);
    ck_assert_int_eq(ranges_look(r, 0, &s, &err), 1);
    ck_assert(!ranges_exhausted(r));
    ranges_close(r);
}
END_TEST

/* A job in which workers take ranges of sizes of their own, in random order, and which may be
 * stopped in the middle.
 */
struct job {
    uint64_t random;
    int workers;
    struct ranges *r[MAX_WORKERS];
    int64_t step[MAX_WORKERS];
    int64_t counter;
    int taken[EPOCHS][SAMPLES];
};

/* One worker does one step, or takes the samples of another.  Returns false when it has no more. */
static bool work(struct job *j, int i)
{
    struct ranges_step s;
    int rc = ranges_look(j->r[i], j->step[i], &s, &err);

    if (rc == -EAGAIN) {
        int64_t b = 1 + (int64_t)random_below(&j->random, 30); /* the split changes all the time */

        ck_assert_int_eq(ranges_add(j->r[i], j->counter, b, &err), 0);
        j->counter += b;
        return true;
    }
    if (rc == 0)
        return false;
    ck_assert_int_eq(rc, 1);
    for (int64_t k = 0; k < s.count; k++)
        j->taken[s.epoch][s.first + k]++;
    ranges_finish(j->r[i], j->step[i]++);
    return true;
}

/* What a checkpoint holds: returns the number of ranges that are left. */
static size_t leave(struct job *j, struct range *left)
{
    size_t n = ranges_rest(j->r[0], j->counter, left);

    for (int i = 0; i < j->workers; i++) {
        ck_assert_uint_lt(n + ranges_n_unfinished(j->r[i]), MAX_LEFT);
        ranges_unfinished(j->r[i], left + n);
        n += ranges_n_unfinished(j->r[i]);
        ranges_close(j->r[i]);
    }
    return ranges_join(left, n);
}

START_TEST(property_51_every_sample_once_an_epoch_with_other_workers_after_each_restart)
{
    struct job j = { .random = (uint64_t)_i + 1 };
    struct range left[MAX_LEFT];
    size_t n = 0;
    int64_t done = 0;

    do {
        int busy;

        j.workers = 1 + (int)random_below(&j.random, MAX_WORKERS);
        for (int i = 0; i < j.workers; i++) {
            j.r[i] = open_some(left, n, done, 0);
            j.step[i] = 0;
        }
        j.counter = 0;
        for (busy = 1; busy && random_below(&j.random, 60);) {
            busy = 0;
            for (int i = 0; i < j.workers; i++)
                if (random_below(&j.random, (uint64_t)i + 1) == 0) /* of unlike speed */
                    busy |= work(&j, i);
                else
                    busy = 1;
        }
        n = leave(&j, left);
        done = (int64_t)SAMPLES * EPOCHS;
        for (size_t i = 0; i < n; i++)
            done -= left[i].count;
    } while (n);
    for (int e = 0; e < EPOCHS; e++)
        for (int i = 0; i < SAMPLES; i++)
            ck_assert_msg(j.taken[e][i] == 1, "sample %d of epoch %d was taken %d times", i, e,
                          j.taken[e][i]);
}
END_TEST

START_TEST(a_group_splits_its_range_by_the_plan_of_the_step)
{
    static const int64_t before[4] = { 6, 2, 3, 1 }, after[4] = { 6, 2, 1, 3 };
    static const int member[2] = { 2, 3 };
    const struct sampler_group g = { member, 2 };
    int64_t count[2][3], first[2][3];

    for (int i = 0; i < 2; i++) {
        struct sampler_options o = { SAMPLES, EPOCHS, 1, member[i], 4 };
        struct sampler *s = NULL;
        struct sampler_step p;

        ck_assert_int_eq(sampler_open(&o, &s, &err), 0);
        ck_assert_int_eq(sampler_add_plan(s, 1, 0, before, &err), 0);
        ck_assert_int_eq(sampler_group_batch(s, &g), 4);
        for (int step = 0; step < 3; step++) {
            if (step == 1)
                ck_assert_int_eq(sampler_add_plan(s, 2, 1, after, &err), 0);
            ck_assert_int_eq(sampler_share(s, &g, step, step == 2 ? 7 : 4, &p, &err), 0);
            ck_assert_int_eq(sampler_asked(s), step);
            count[i][step] = p.count;
            first[i][step] = p.first;
        }
        sampler_close(s);
    }
    for (int step = 0; step < 3; step++) {
        ck_assert_int_eq(first[0][step], 0);
        ck_assert_int_eq(first[1][step], count[0][step]);
    }
    ck_assert_int_eq(count[0][0], 3);
    ck_assert_int_eq(count[1][0], 1);
    ck_assert_int_eq(count[0][1], 1);
    ck_assert_int_eq(count[1][1], 3);
    ck_assert_int_eq(count[0][2] + count[1][2], 7);
    ck_assert_int_eq(count[0][2], 2); /* 1.75 and 5.25 */
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, sealed_step_needs_no_next_one);
    tcase_add_test(tc, rest_of_an_epoch_is_counted_through_what_is_left);
    tcase_add_test(tc, range_across_the_end_of_an_epoch_is_two_steps);
    tcase_add_test(tc, short_steps_are_left_out);
    tcase_add_test(tc, end_alignment_end_is_the_counter_exhausted);
    tcase_add_test(tc, without_end);
    tcase_add_loop_test(
        tc, property_51_every_sample_once_an_epoch_with_other_workers_after_each_restart, 0, 50);
    tcase_add_test(tc, a_group_splits_its_range_by_the_plan_of_the_step);
}

SUITE_MAIN("ranges", add_tests)
