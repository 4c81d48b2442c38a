/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_thread.c - tests of lib/base/file_thread.h: order, and calls that are held up */
#include "lib/base/file_thread.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 100 };

struct record {
    int ran[TASKS], done[TASKS], freed[TASKS];
    int n_ran, n_done, n_freed;
};

struct task {
    struct file_task task;
    struct record *r;
    int number;
    int held; /* descriptor whose end is waited for; -1: none */
};

static void run(struct file_task *k)
{
    struct task *t = (struct task *)k;
    char byte;

    if (t->held >= 0)
        (void)!read(t->held, &byte, 1);
    t->r->ran[__atomic_fetch_add(&t->r->n_ran, 1, __ATOMIC_SEQ_CST)] = t->number;
}

static void done(struct file_task *k)
{
    struct task *t = (struct task *)k;

    t->r->done[t->r->n_done++] = t->number;
}

static void free_task(struct file_task *k)
{
    struct task *t = (struct task *)k;

    t->r->freed[__atomic_fetch_add(&t->r->n_freed, 1, __ATOMIC_SEQ_CST)] = t->number;
    free(t);
}

static struct task *add(struct file_thread *f, struct record *r, int number, int held)
{
    struct task *t = malloc(sizeof *t);

    *t = (struct task){ .task = { .run = run, .done = done, .free = free_task },
                        .r = r,
                        .number = number,
                        .held = held };
    file_thread_add(f, &t->task);
    return t;
}

static void turn_until_idle(struct file_thread *f)
{
    while (!file_thread_idle(f))
        (void)poll(&(struct pollfd){ .fd = file_thread_fd(f), .events = POLLIN }, 1, 10000);
    file_thread_turn(f);
}

START_TEST(order)
{
    struct record r = { 0 };
    struct file_thread *f;

    ck_assert_int_eq(file_thread_start(&f, NULL), 0);
    for (int i = 0; i < TASKS; i++)
        add(f, &r, i, -1);
    turn_until_idle(f);
    ck_assert_int_eq(r.n_ran, TASKS);
    ck_assert_int_eq(r.n_done, TASKS);
    ck_assert_int_eq(r.n_freed, TASKS);
    for (int i = 0; i < TASKS; i++)
        ck_assert(r.ran[i] == i && r.done[i] == i && r.freed[i] == i);
    file_thread_stop(f);
}
END_TEST

static void count(const struct file_task *k, void *ctx)
{
    (void)k;
    ++*(int *)ctx;
}

/* Nobody waits for a call that is held up, not even the end. */
START_TEST(held)
{
    static struct record r; /* the thread outlives this */
    struct file_thread *f;
    int ends[2], n = 0;
    struct task *second;

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(file_thread_start(&f, NULL), 0);
    add(f, &r, 0, ends[0]);
    second = add(f, &r, 1, -1);
    ck_assert(!file_thread_await(f, &second->task, clock_now_ns() + 50 * CLOCK_MS));
    file_thread_turn(f);
    ck_assert_int_eq(r.n_done, 0);
    ck_assert(!file_thread_idle(f));
    while (file_thread_held_ns(f, clock_now_ns()) == 0)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    file_thread_each(f, count, &n);
    ck_assert_int_eq(n, 2);
    file_thread_stop(f);
    ck_assert_int_eq(__atomic_load_n(&r.n_freed, __ATOMIC_SEQ_CST), 1); /* the second */
    (void)close(ends[1]);
    for (int i = 0; i < 6000 && __atomic_load_n(&r.n_freed, __ATOMIC_SEQ_CST) < 2; i++)
        clock_sleep_until_ns(clock_now_ns() + 10 * CLOCK_MS);
    ck_assert_int_eq(r.n_freed, 2);
    ck_assert_int_eq(r.n_ran, 1);
    ck_assert_int_eq(r.n_done, 0);
}
END_TEST

/* Who waits for one takes it, and nobody else hears of it. */
START_TEST(awaited)
{
    struct record r = { 0 };
    struct file_thread *f;
    struct task *t;

    ck_assert_int_eq(file_thread_start(&f, NULL), 0);
    add(f, &r, 0, -1);
    t = add(f, &r, 1, -1);
    ck_assert(file_thread_await(f, &t->task, clock_now_ns() + 60 * CLOCK_S));
    ck_assert_int_eq(r.n_ran, 2);
    free_task(&t->task);
    file_thread_turn(f);
    ck_assert_int_eq(r.n_done, 1);
    ck_assert_int_eq(r.n_freed, 2);
    file_thread_stop(f);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, order);
    tcase_add_test(tc, held);
    tcase_add_test(tc, awaited);
}

SUITE_MAIN("file_thread", add_tests)
