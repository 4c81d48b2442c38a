/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_watch.c - tests of agents/node/watch/step_watch.h */
#include "agents/node/watch/step_watch.h"

#include "suite.h"
#include "tests/unit/scratch.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FULL = 8 };

static struct board *agent, *worker;
static struct step_watch watch;

static void publish(int64_t version, int64_t batch)
{
    struct board_plan plan = { .version = version, .global_batch = batch, .batch = &batch };

    ck_assert_int_eq(board_publish(agent, &plan, NULL), 0);
}

static void set_up(void)
{
    struct board_area a = { .n_ranks = 1, .n_local = 1, .mode = "sync", .algorithm = "allreduce" };
    cleanup_free char *path = file_join(scratch, "board");

    ck_assert_int_eq(board_create(path, &a, &agent, NULL), 0);
    ck_assert_int_eq(board_open(path, 0, &worker, NULL), 0);
    publish(1, FULL);
    step_watch_init(&watch);
}

static void tear_down(void)
{
    board_close(worker);
    board_close(agent);
}

/* n steps of so many ms under this version, and a look after each `every` of them. */
static void steps(int64_t version, int n, int every, int64_t ms)
{
    struct board_page seen;

    for (int i = 1; i <= n; i++) {
        struct board_page *p = board_begin(worker);
        int64_t step = p->steps_done++;

        p->ring[step % BOARD_RING] = (struct board_step){ .step = step,
                                                          .count = FULL,
                                                          .plan = version,
                                                          .work = 100,
                                                          .t = { .compute_ns = ms * CLOCK_MS,
                                                                 .exposed_ns = CLOCK_MS,
                                                                 .total_ns = 2 * ms * CLOCK_MS } };
        p->steps_here++;
        p->step_plan = p->plan_version = version;
        p->plan_since = 0;
        p->memory_bytes = 4096 * version;
        p->pid = getpid();
        p->thread = gettid();
        board_end(worker);
        if (i % every && i < n)
            continue;
        ck_assert_int_eq(board_read(agent, 0, &seen, NULL), 0);
        step_watch_take(&watch, &seen, agent);
    }
}

static struct progress report_below(pid_t wrapper)
{
    struct progress p = { .rank = 0 };
    struct board_page seen;

    ck_assert_int_eq(board_read(agent, 0, &seen, NULL), 0);
    p.own_times = seen.steps_source && seen.own_times;
    step_watch_look_at_memory(&watch);
    step_watch_report(&watch, &seen, wrapper, &p);
    return p;
}

static struct progress report(void)
{
    return report_below(getppid());
}

/* Call this process so, as one may in a container. */
static void report_numbers(pid_t pid)
{
    struct board_page *p = board_begin(worker);

    p->pid = pid;
    p->thread = pid;
    p->memory_bytes = 0;
    board_end(worker);
}

START_TEST(plans_do_not_mix)
{
    struct progress p;

    steps(1, STEP_WINDOW_CHANGE, 1, 100);
    ck_assert(!step_watch_has_news(&watch)); /* the first step is left out */
    ck_assert_int_eq(report().metrics.plan, 0);
    steps(1, 1, 1, 100);
    ck_assert(step_watch_has_news(&watch));
    p = report();
    ck_assert_int_eq(p.metrics.plan, 1);
    ck_assert_int_eq(p.metrics.steps, STEP_WINDOW_CHANGE);
    ck_assert_double_eq(p.metrics.work, 100);
    ck_assert_int_eq(p.metrics.count, FULL);
    ck_assert(!step_watch_has_news(&watch)); /* told */
    publish(2, FULL);
    steps(2, STEP_WINDOW_CHANGE + 1, BOARD_RING, 300);
    ck_assert(step_watch_has_news(&watch));
    p = report();
    ck_assert_int_eq(p.metrics.plan, 2);
    ck_assert_double_eq_tol(p.metrics.compute.median_s, 0.3, 1e-12);
    ck_assert_double_eq_tol(p.metrics.own.max_s, 0.3, 1e-12);
    ck_assert_double_eq_tol(p.metrics.exposed.max_s, 0.001, 1e-12);
    ck_assert_double_eq_tol(p.metrics.total.median_s, 0.6, 1e-12);
}
END_TEST

START_TEST(another_speed_is_news)
{
    steps(1, 50, 7, 100);
    ck_assert_int_eq(report().metrics.since, 1);
    steps(1, 20, 7, 100);
    ck_assert(!step_watch_has_news(&watch));
    steps(1, STEP_WINDOW_CHANGE - 1, 1, 300);
    ck_assert(!step_watch_has_news(&watch));
    steps(1, 1, 1, 300);
    ck_assert(step_watch_has_news(&watch));
    ck_assert_int_eq(report().metrics.since, 70);
    steps(1, STEP_WINDOW_SURE - STEP_WINDOW_CHANGE - 1, 1, 300);
    ck_assert(!step_watch_has_news(&watch));
    steps(1, 1, 1, 300);
    ck_assert(step_watch_has_news(&watch)); /* sure of it now */
    ck_assert_int_eq(report().metrics.steps, STEP_WINDOW_SURE);
    ck_assert(!step_watch_has_news(&watch));
}
END_TEST

/* More than the ring holds between two looks: the rest is missed, and nothing else. */
START_TEST(overwritten_steps_are_missed)
{
    steps(1, 10, 1, 100);
    steps(1, 5 * BOARD_RING, 5 * BOARD_RING, 100);
    ck_assert_int_eq(watch.window.steps, 9 + BOARD_RING);
    ck_assert_int_eq(report().metrics.since, 1);
}
END_TEST

/* The program goes back to a checkpoint, or another handle of it begins. */
START_TEST(steps_done_again)
{
    steps(1, 40, 1, 100);
    board_begin(worker)->steps_done = 20;
    board_end(worker);
    steps(1, 10, 1, 100);
    ck_assert_int_ge(watch.window.last, 29);
    ck_assert_int_lt(watch.window.last, 40);
    board_renew(worker);
    steps(1, 10, 10, 100);
    ck_assert_int_eq(watch.window.last, 9);
    ck_assert_int_eq(report().metrics.since, 1);
    board_renew(worker);
    steps(1, 5, 5, 100);
    ck_assert(step_watch_has_news(&watch)); /* though they begin with the same step */
    (void)report();
    steps(1, 1, 1, 100);
    ck_assert(report().queued_s >= 0);
}
END_TEST

START_TEST(memory_and_run_queue)
{
    int64_t own;

    steps(1, 1 + STEP_WINDOW_CHANGE, 1, 100);
    ck_assert(isnan(report().queued_s)); /* no step since */
    steps(1, 10, 1, 100);
    ck_assert(report().queued_s >= 0);
    ck_assert(report().memory_told);
    ck_assert_int_eq(report().memory_bytes, 4096);
    board_begin(worker)->memory_bytes = 0;
    board_end(worker);
    own = report().memory_bytes;
    ck_assert(!report().memory_told);
    ck_assert_int_ge(own, 1 << 20); /* of this process */
}
END_TEST

/* Who changes that mark of another process may have to wait until it has taken all the memory that
 * it wants: the agent, which must not, leaves it to the worker.
 */
START_TEST(peak_is_left_alone)
{
    enum { MUCH = 64 << 20 };
    void *map = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(map, MAP_FAILED);
    memset(map, 1, MUCH);
    ck_assert_int_eq(munmap(map, MUCH), 0);
    steps(1, 2, 1, 100);
    publish(2, FULL);
    steps(2, 2, 1, 100);
    board_begin(worker)->memory_bytes = 0;
    board_end(worker);
    (void)report(); /* it is found */
    ck_assert_int_ge(report().memory_bytes, MUCH);
}
END_TEST

static int64_t peak_of(pid_t pid)
{
    struct process_memory m;

    process_load_memory(pid, &m);
    ck_assert(m.now_bytes <= m.peak_bytes && m.file_bytes <= m.now_bytes);
    return m.peak_bytes;
}

/* The number that a program in a container tells is another process's on the node. */
START_TEST(number_of_another)
{
    steps(1, 1 + STEP_WINDOW_CHANGE, 1, 100);
    report_numbers(getppid());
    ck_assert_int_gt(peak_of(getppid()), 0);
    (void)report_below(getpid());
    steps(1, 10, 1, 100);
    report_numbers(getppid());
    ck_assert_int_eq(report_below(getpid()).memory_bytes, 0);
    ck_assert(isnan(report_below(getpid()).queued_s));
    ck_assert_int_eq(report_below(0).memory_bytes, 0); /* its start was not told yet */
}
END_TEST

/* Be the first process of a namespace, and the one above it, which ends with it. */
static void be_in_container(int to)
{
    pid_t inner;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0 || (inner = fork()) < 0)
        _exit(1);
    if (inner == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    if (write(to, &inner, sizeof inner) == sizeof inner)
        (void)waitpid(inner, NULL, 0);
    _exit(0);
}

START_TEST(number_in_container)
{
    pid_t outer, inner = 0;
    int ends[2];

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    outer = fork();
    ck_assert_int_ge(outer, 0);
    if (outer == 0)
        be_in_container(ends[1]);
    (void)close(ends[1]);
    if (read(ends[0], &inner, sizeof inner) == sizeof inner) {
        steps(1, 1 + STEP_WINDOW_CHANGE, 1, 100);
        report_numbers(1);
        (void)report_below(getpid());
        ck_assert_int_eq(watch.load.pid, inner);
        ck_assert_int_eq(watch.load.thread, inner);
        steps(1, 10, 1, 100);
        report_numbers(1);
        /* It may still be on its way to where it waits. */
        for (int i = 0; i < 5000 && report_below(getpid()).memory_bytes != peak_of(inner); i++)
            (void)usleep(1000);
        ck_assert_int_eq(report_below(getpid()).memory_bytes, peak_of(inner));
        ck_assert(report_below(getpid()).queued_s >= 0);
        ck_assert_int_eq(kill(inner, SIGKILL), 0);
    } else {
        puts("SKIP number_in_container: no namespace can be made here");
    }
    ck_assert_int_eq(waitpid(outer, NULL, 0), outer);
    if (inner)
        ck_assert_int_eq(report_below(getpid()).memory_bytes, 0);
    (void)close(ends[0]);
}
END_TEST

/* Steps of a program that divides its samples itself have statistics, by which nothing is planned:
 * each counts alike, and takes what the worker's own part takes.
 */
START_TEST(reported_steps)
{
    struct board_page seen;
    struct progress p;

    for (int64_t step = 0; step <= STEP_WINDOW_CHANGE; step++) {
        board_show_steps(worker, &(struct board_reported){ .step = step,
                                                           .step_ns = 300 * CLOCK_MS,
                                                           .compute_ns = 100 * CLOCK_MS,
                                                           .wait_ns = 150 * CLOCK_MS,
                                                           .now_ns = (step + 1) * CLOCK_S });
        ck_assert_int_eq(board_read(agent, 0, &seen, NULL), 0);
        step_watch_take(&watch, &seen, agent);
    }
    ck_assert(step_watch_has_news(&watch));
    p = report();
    ck_assert_int_eq(p.metrics.plan, 0);
    ck_assert_int_eq(p.reported.plan, 1);
    ck_assert_int_eq(p.reported.steps, STEP_WINDOW_CHANGE);
    ck_assert_int_eq(p.reported.count, 1);
    ck_assert_double_eq_tol(p.reported.own.median_s, 0.1, 1e-12);
    ck_assert_double_eq_tol(p.reported.exposed.median_s, 0.05, 1e-12);
    ck_assert_double_eq_tol(p.reported.total.median_s, 0.3, 1e-12);
}
END_TEST

/* A program that has reported steps and then joins the job has steps under plans. */
START_TEST(joins_later)
{
    struct progress p;

    board_show_steps(worker, &(struct board_reported){ .step_ns = 2, .compute_ns = 1 });
    board_begin(worker)->steps_source = 0; /* as eddis_open does */
    board_end(worker);
    publish(2, FULL);
    steps(2, STEP_WINDOW_CHANGE + 1, 1, 100);
    p = report();
    ck_assert_int_eq(p.reported.plan, 0);
    ck_assert_int_eq(p.metrics.plan, 2);
    ck_assert_double_eq(p.metrics.work, 100);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, plans_do_not_mix);
    tcase_add_test(tc, reported_steps);
    tcase_add_test(tc, joins_later);
    tcase_add_test(tc, another_speed_is_news);
    tcase_add_test(tc, overwritten_steps_are_missed);
    tcase_add_test(tc, steps_done_again);
    tcase_add_test(tc, memory_and_run_queue);
    tcase_add_test(tc, peak_is_left_alone);
    tcase_add_test(tc, number_of_another);
    tcase_add_test(tc, number_in_container);
}

SUITE_MAIN("step_watch", add_tests)
