/* SPDX-License-Identifier: Apache-2.0 */
/* test_generation.c - tests of agents/node/generation.h: the node's board, who was first, pauses */
#include "agents/node/generation.h"

#include "suite.h"
#include "tests/unit/scratch.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 8 };

static struct generation generation;

static void set_up(void)
{
    cleanup_free char *path = file_join(scratch, "board");
    struct board_area a = {
        .n_ranks = RANKS, .n_local = RANKS, .mode = "sync", .algorithm = "allreduce"
    };

    generation = (struct generation){ .number = 1 };
    ck_assert_int_eq(board_create(path, &a, &generation.board, NULL), 0);
}

static void tear_down(void)
{
    board_close(generation.board);
}

/* An order's plan for the first n ranks. */
static struct order *order_of(enum order_type type, int n)
{
    struct order *o = calloc(1, sizeof *o);

    ck_assert_ptr_nonnull(o);
    *o = (struct order){ .type = type, .mode = "sync", .algorithm = "allreduce" };
    o->plan = order_plan_new(n);
    o->group = calloc((size_t)n, sizeof *o->group);
    o->n_plan = n;
    ck_assert(o->plan && o->group);
    o->plan->version = 1;
    for (int i = 0; i < n; i++)
        o->plan->global_batch += o->plan->batch[i] = 4;
    return o;
}

static int carry_out(const struct order *o, struct eddis_error *err)
{
    return o->type == ORDER_SETTLE ? generation_settle(&generation, o, err)
                                   : generation_replan(&generation, o, err);
}

static const enum order_type types[] = { ORDER_SETTLE, ORDER_REBALANCE };

/* Those of the board would be read behind the end of the order's. */
START_TEST(plan_of_other_ranks)
{
    static const int numbers[] = { 1, RANKS - 1, RANKS + 1 };
    struct order *o = order_of(types[_i / 3], numbers[_i % 3]);
    struct eddis_error err = { 0 };
    char text[80];

    snprintf(text, sizeof text, "the plan is for %d ranks, but there are %d", o->n_plan, RANKS);
    ck_assert_int_eq(carry_out(o, &err), -EINVAL);
    ck_assert_str_eq(err.text, text);
    ck_assert_int_eq(board_newest(generation.board), 0);
    order_free(o);
}
END_TEST

START_TEST(plan_of_its_ranks)
{
    struct order *o = order_of(types[_i], RANKS);

    ck_assert_int_eq(carry_out(o, NULL), 0);
    ck_assert_int_eq(board_newest(generation.board), 1);
    ck_assert_int_eq(board_batch(generation.board, 1, RANKS - 1), 4);
    order_free(o);
}
END_TEST

/* Seen to end when another rank had failed, it was first if that was not what the failure led to.
 */
START_TEST(first)
{
    static const struct {
        bool ending;
        int ordered, code, signal;
        bool first;
    } rows[] = {
        { true, 0, -1, SIGKILL, true },   { true, 1, -1, SIGKILL, true },
        { true, 0, -1, SIGTERM, true },   { true, 1, -1, SIGTERM, false }, /* by mpirun */
        { true, 0, -1, SIGABRT, false },  { true, 0, 1, 0, false },
        { false, 0, -1, SIGKILL, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct worker w = { .ending = rows[i].ending };
        const struct rank_message m = { .ordered = rows[i].ordered,
                                        .code = rows[i].code,
                                        .signal = rows[i].signal };

        ck_assert_msg(generation_was_first(&w, &m) == rows[i].first, "row %zu", i);
    }
}
END_TEST

/* Start a program whose input is that pipe, and end when it has ended: without a writer its process
 * waits in open, and its parent for that, as in vfork.
 */
static void spawn_reader(const char *fifo)
{
    char *argv[] = { (char *)(uintptr_t) "true", NULL }, *env[] = { NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) ||
        posix_spawn_file_actions_addopen(&actions, 0, fifo, O_RDONLY, 0) ||
        posix_spawn(&pid, "/bin/true", &actions, NULL, argv, env))
        _exit(1);
    _exit(waitpid(pid, NULL, 0) == pid ? 0 : 2);
}

/* Check's own limit ends a wait that is in vain. */
static void await_state(pid_t pid, char state)
{
    while (proctree_state(pid) != state)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
}

static pid_t await_child(pid_t parent)
{
    struct proctree_process *all = NULL;
    pid_t pid;

    while (proctree_list(parent, &all, NULL) == 0)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    ck_assert_ptr_nonnull(all);
    pid = all[0].pid;
    free(all);
    return pid;
}

/* A process that gets no signal before its child has gone on does not stay behind, stopped. */
START_TEST(held_in_vfork)
{
    struct worker w = { .wrapper = getpid() };
    struct generation g = { .n = 1, .worker = &w };
    cleanup_free char *fifo = file_join(scratch, "fifo");
    pid_t pid, child;
    int status, fd;

    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        spawn_reader(fifo);
    child = await_child(pid);
    await_state(pid, 'D');
    generation_hold(&g);
    await_state(child, 'T');
    ck_assert_int_eq(proctree_state(pid), 'D');
    generation_go_on(&g, clock_now_ns());
    fd = open(fifo, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    (void)close(fd);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, plan_of_other_ranks, 0, 6);
    tcase_add_loop_test(tc, plan_of_its_ranks, 0, 2);
    tcase_add_test(tc, first);
    tcase_add_test(tc, held_in_vfork);
}

SUITE_MAIN("generation", add_tests)
