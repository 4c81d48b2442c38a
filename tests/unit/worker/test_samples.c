/* SPDX-License-Identifier: Apache-2.0 */
/* test_samples.c - the one source of samples, by plan and from a list, with a reader beside it
 *
 * One rank; what several agree on is tested by tests/mpi/test_loop_*.c.
 */
#include "lib/worker/samples.h"
#include "suite.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 100, BATCH = 10, AHEAD = 2, READ_AHEAD = 4 };

struct source {
    struct phase phase;
    struct collectives all;
    struct shared_buffers box;
    struct group group;
    struct samples samples;
};

static struct source f;
static struct sampler_step s; /* the newest that was told */

static void set_up(void)
{
    const struct sampler_options order = { .samples = SAMPLES, .epochs = 1, .n_ranks = 1 };
    const int64_t batch = BATCH;

    f = (struct source){ .all = { .timeout_ns = CLOCK_S } };
    phase_init(&f.phase, clock_now_ns());
    ck_assert_int_eq(comm_thread_open(NULL, NULL, &f.all.waiter.thread, NULL), 0);
    f.all.waiter.phase = &f.phase;
    f.all.place = comm_thread_place(f.all.waiter.thread);
    f.box.all = &f.all;
    ck_assert_int_eq(group_open(&f.group, &f.all.place, NULL, NULL), 0);
    f.samples.all = &f.all;
    f.samples.box = &f.box;
    f.samples.group = &f.group;
    f.samples.global_batch = BATCH;
    f.samples.read_ahead = READ_AHEAD;
    samples_init(&f.samples);
    ck_assert_int_eq(samples_open(&f.samples, &order, NULL), 0);
    samples_settle(&f.samples);
    ck_assert_int_eq(samples_add_plan(&f.samples, &(struct samples_plan){ 1, 0, &batch, 0 }, NULL),
                     0);
}

static void tear_down(void)
{
    ck_assert_int_eq(comm_thread_close(f.all.waiter.thread, true, NULL), 0);
    samples_close(&f.samples);
    group_close(&f.group);
    phase_fini(&f.phase);
}

static void take(int64_t first, int64_t count)
{
    ck_assert_int_eq(samples_take(&f.samples, &s, NULL), 1);
    ck_assert_int_eq(s.first, first);
    ck_assert_int_eq(s.count, count);
    samples_finish(&f.samples);
}

START_TEST(test_by_plan)
{
    ck_assert(!samples_listed(&f.samples));
    for (int i = 0; i < SAMPLES / BATCH; i++) {
        ck_assert_int_eq(samples_peek(&f.samples, i, CLOCK_NEVER, &s, NULL), 1); /* takes nothing */
        take(i * BATCH, BATCH);
    }
    ck_assert_int_eq(samples_take(&f.samples, &s, NULL), 0);
    ck_assert_int_eq(samples_asked(&f.samples), SAMPLES / BATCH - 1);
}
END_TEST

/* A step too far is not asked for, and holds up no plan. */
START_TEST(test_too_far)
{
    struct eddis_error err;

    ck_assert_int_eq(samples_peek(&f.samples, READ_AHEAD, 0, &s, &err), 1);
    ck_assert_int_eq(samples_peek(&f.samples, READ_AHEAD + 1, 0, &s, &err), -ENOBUFS);
    ck_assert(strstr(err.text, "step 5 was requested during step 0") != NULL);
    ck_assert_int_eq(samples_asked(&f.samples), READ_AHEAD);
    take(0, BATCH);
    ck_assert_int_eq(samples_peek(&f.samples, READ_AHEAD + 1, 0, &s, &err), 1);
}
END_TEST

/* A thread that asks for the first step behind the horizon. */
struct reader {
    pthread_t thread;
    int64_t step;
    struct sampler_step got;
    struct eddis_error err;
    int rc;
};

static void *read_one(void *arg)
{
    struct reader *r = arg;

    r->rc = samples_peek(&f.samples, r->step, CLOCK_NEVER, &r->got, &r->err);
    return NULL;
}

/* Hold the samples, and have a reader wait for one that may be shared otherwise. */
static void reader_start(struct reader *r)
{
    *r = (struct reader){ .rc = 0 };
    r->step = samples_hold(&f.samples, AHEAD, true) + 1;
    ck_assert_int_eq(r->step, AHEAD + 1);
    ck_assert_int_eq(pthread_create(&r->thread, NULL, read_one, r), 0);
    clock_sleep_until_ns(clock_now_ns() + 20 * CLOCK_MS);
}

START_TEST(test_held)
{
    const int64_t batch = BATCH;
    struct reader r;

    reader_start(&r);
    ck_assert_int_eq(samples_peek(&f.samples, AHEAD, CLOCK_NEVER, &s, NULL),
                     1); /* was said to be settled */
    ck_assert_int_eq(samples_peek(&f.samples, r.step, 0, &s, NULL), -EAGAIN);
    ck_assert_int_eq(samples_peek(&f.samples, r.step, CLOCK_MS, &s, NULL), -ETIMEDOUT);
    ck_assert_int_eq(
        samples_add_plan(&f.samples, &(struct samples_plan){ 2, r.step, &batch, 0 }, NULL), 0);
    samples_release(&f.samples);
    ck_assert_int_eq(pthread_join(r.thread, NULL), 0);
    ck_assert_int_eq(r.rc, 1);
    ck_assert_int_eq(r.got.version, 2);
    ck_assert_int_eq(
        samples_add_plan(&f.samples, &(struct samples_plan){ 3, r.step, &batch, 0 }, NULL),
        -ESTALE);
}
END_TEST

START_TEST(test_failure_wakes)
{
    const struct eddis_error why = { -ECONNRESET, "rank 1 is gone" };
    struct reader r;

    reader_start(&r);
    samples_fail(&f.samples, &why);
    ck_assert_int_eq(pthread_join(r.thread, NULL), 0);
    ck_assert_int_eq(r.rc, -ECONNRESET);
    ck_assert_str_eq(r.err.text, why.text);
}
END_TEST

static void left(const struct range *want, size_t n)
{
    struct range *got = NULL;
    size_t n_got = 0;

    ck_assert_int_eq(samples_left(&f.samples, &got, &n_got, NULL), 0);
    ck_assert_uint_eq(n_got, n);
    ck_assert_mem_eq(got, want, n * sizeof *got);
    free(got);
}

/* What is left does not depend on how far somebody has read ahead. */
START_TEST(test_from_a_list)
{
    static const struct range list[] = { { 10, 25 }, { 60, 30 } };
    static const struct range later[] = { { 20, 15 }, { 60, 30 } };

    ck_assert_int_eq(samples_resume(&f.samples, &(struct samples_rest){ 7, list, 2 }, NULL), 0);
    ck_assert(samples_listed(&f.samples));
    left(list, 2);
    ck_assert_int_eq(samples_peek(&f.samples, 9, CLOCK_NEVER, &s, NULL), 1);
    left(list, 2);
    take(10, 10);
    left(later, 2);
    for (int64_t step = 8; samples_peek(&f.samples, step, 0, &s, NULL) == 1; step++)
        left(later, 2);
    take(20, 10);
    take(30, 5);
    take(60, 5);
}
END_TEST

START_TEST(test_resumes_by_plan)
{
    static const struct range list[] = { { 10, 25 } };

    ck_assert_int_eq(samples_resume(&f.samples, &(struct samples_rest){ 1, list, 1 }, NULL), 0);
    ck_assert_int_eq(samples_resume(&f.samples, &(struct samples_rest){ .step = 4 }, NULL), 0);
    ck_assert(!samples_listed(&f.samples));
    take(4 * BATCH, BATCH);
}
END_TEST

START_TEST(test_nothing_left)
{
    static const struct range none[] = { { 0, 0 } };

    ck_assert_int_eq(samples_resume(&f.samples, &(struct samples_rest){ 5, none, 0 }, NULL), 0);
    ck_assert_int_eq(samples_take(&f.samples, &s, NULL), 0);
    left(none, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test_by_plan);
    tcase_add_test(tc, test_too_far);
    tcase_add_test(tc, test_held);
    tcase_add_test(tc, test_failure_wakes);
    tcase_add_test(tc, test_from_a_list);
    tcase_add_test(tc, test_resumes_by_plan);
    tcase_add_test(tc, test_nothing_left);
}

SUITE_MAIN("samples", add_tests)
