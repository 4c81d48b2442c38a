/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_again.c - what the driver counts as a restart, and how long it waits before one */
#include "driver_run.h"

#include <signal.h>

/* ---- starts that fail ---- */

/* What a node cannot prepare for is no failure of the program: it is tried again, ever later. */
START_TEST(starts_that_fail)
{
    static const int pause_s[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };
    struct fixture f;
    struct event e;

    run(&f, 1);
    exited(&f, 1, 0, SIGKILL, false);
    confirm(&f, 1000);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN); /* what has worked begins again at once */
    for (int i = 0; i < 10; i++) {
        launch(&f, STATE_PHASE_PREPARE);
        e = event(&f, EVENT_FAILED);
        e.text = (char *)(uintptr_t) "cannot make the folder '/dev/shm/eddis-1'";
        state_event(&f.s, 0, &e, f.now_ns);
        drain(&f);
        confirm(&f, 1000);
        ck_assert_int_eq(f.s.restarts, 1);
        if (i == 9)
            break;
        ck_assert_int_eq(f.s.phase, STATE_PHASE_REGROUP);
        pass(&f, pause_s[i] * second - second / 2);
        ck_assert_int_eq(f.s.phase, STATE_PHASE_REGROUP);
        pass(&f, second / 2);
        ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN);
    }
    said(&f, "starting again in 32 s");
    said(&f, "'/dev/shm/eddis-1'; not started again: it could not be started 10 times in a row");
    ck_assert_str_eq(f.s.reason, "start");
    ck_assert_int_eq(f.s.exit_code, 3);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* Up to the pause behind a start that failed. */
static void fail_to_start(struct fixture *f)
{
    struct event e;

    run(f, 1);
    exited(f, 1, 0, SIGKILL, false);
    confirm(f, 1000);
    launch(f, STATE_PHASE_PREPARE);
    e = event(f, EVENT_FAILED);
    state_event(&f->s, 0, &e, f->now_ns);
    drain(f);
    confirm(f, 1000);
    ck_assert_int_eq(f->s.phase, STATE_PHASE_REGROUP);
}

/* The failure before is what the job recovers from when it comes up. */
START_TEST(a_start_that_fails_once)
{
    struct fixture f;

    fail_to_start(&f);
    pass(&f, second);
    launch(&f, STATE_PHASE_RUN);
    steps(&f, 3);
    ck_assert_int_eq(f.s.generation, 3);
    ck_assert_int_eq(f.s.restarts, 1);
    ck_assert_int_eq(f.s.before.rank, 1);
    ck_assert_int_gt(f.s.recovery_ns, second / 2);
    state_fini(&f.s);
}
END_TEST

START_TEST(interrupted_in_the_pause)
{
    struct fixture f;

    fail_to_start(&f);
    state_signal(&f.s, SIGINT, f.now_ns);
    drain(&f);
    ck_assert_int_eq(f.s.exit_code, 130);
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* ---- lost nodes ---- */

/* Lost nodes use up no restart, and an hour without a failure gives all of them back. */
START_TEST(lost_nodes_count_apart)
{
    struct fixture f;

    run(&f, 1);
    for (int i = 0; i < 4; i++) {
        state_ended(&f.s, 2, "agent exited 1", f.now_ns);
        drain(&f);
        confirm(&f, 1000 * (i + 1));
        pass(&f, second);
        comes(&f, 2);
        launch(&f, STATE_PHASE_RUN);
        steps(&f, 10);
        ck_assert_int_eq(f.s.restarts, 0);
        ck_assert_int_eq(f.s.node_losses, i + 1);
    }
    exited(&f, 1, 0, SIGKILL, false);
    confirm(&f, 9000);
    launch(&f, STATE_PHASE_RUN);
    ck_assert_int_eq(f.s.restarts, 1);
    f.s.o.hang_ns = CLOCK_NEVER;
    steps(&f, 20);
    pass(&f, (_i ? 3601 : 3500) * second);
    ck_assert_int_eq(f.s.losses_recent, _i ? 0 : 4);
    ck_assert_int_eq(f.s.node_losses, 4); /* the job's total stays */
    ck_assert_int_eq(f.s.restarts, 1);
    exited(&f, 3, 0, SIGKILL, false);
    ck_assert(state_is_ending(&f.s) == !_i);
    state_fini(&f.s);
}
END_TEST

/* Where somebody has given a bound it holds. */
START_TEST(lost_nodes_have_a_bound)
{
    struct fixture f;

    run(&f, 3);
    f.s.o.node_losses = 1;
    for (int i = 0; i < 2; i++) {
        state_ended(&f.s, 2, "agent exited 1", f.now_ns);
        drain(&f);
        confirm(&f, 1000 * (i + 1));
        if (i == 1)
            break;
        pass(&f, second);
        comes(&f, 2);
        launch(&f, STATE_PHASE_RUN);
        steps(&f, 10);
    }
    said(&f, "not started again: as many nodes as node_losses allows have been lost");
    ck_assert_str_eq(f.s.reason, "node_lost");
    state_fini(&f.s);
}
END_TEST

/* Nodes are lost before anything is saved: ever later, and not for ever. */
START_TEST(nodes_lost_in_vain)
{
    static const int pause_s[] = { 0, 1, 2, 4, 8, 16, 32, 60, 60, 60 };
    struct fixture f;

    run(&f, 3);
    for (int i = 0; i <= 10; i++) {
        ck_assert(!state_is_ending(&f.s));
        state_ended(&f.s, 2, "agent exited 1", f.now_ns);
        drain(&f);
        confirm(&f, 1000);
        if (i == 10)
            break;
        ck_assert_int_eq(f.s.in_vain, i);
        pass(&f, second);
        comes(&f, 2);
        if (pause_s[i] > 1) {
            pass(&f, (pause_s[i] - 1) * second - second / 2);
            ck_assert_int_eq(f.s.phase, STATE_PHASE_REGROUP);
            pass(&f, second / 2);
        }
        launch(&f, STATE_PHASE_RUN);
        steps(&f, 10);
    }
    said(&f, "10 nodes were lost in a row without a new checkpoint in between");
    ck_assert_str_eq(f.s.reason, "node_lost");
    wind_up(&f);
    state_fini(&f.s);
}
END_TEST

/* ---- time ---- */

/* A start that takes long to fail has shown nothing either. */
START_TEST(starts_that_are_late)
{
    struct fixture f;

    run(&f, 1);
    f.s.o.launch_ns = 90 * second;
    exited(&f, 1, 0, SIGKILL, false);
    confirm(&f, 1000);
    for (int i = 0; i < 2; i++) {
        launch(&f, STATE_PHASE_START);
        pass(&f, 91 * second);
        confirm(&f, 1000);
        ck_assert_int_eq(f.s.phase, STATE_PHASE_REGROUP);
        ck_assert_int_eq(f.s.in_vain, i + 1);
        pass(&f, (i + 1) * second);
    }
    state_fini(&f.s);
}
END_TEST

/* While all of the job stood still no pause went by, and nothing is older. */
START_TEST(put_off_in_the_pause)
{
    struct fixture f;
    int64_t before_ns, counted_ns;

    fail_to_start(&f);
    before_ns = f.s.before.at_ns;
    counted_ns = f.s.counted_ns;
    state_put_off(&f.s, 100 * second);
    f.now_ns += 100 * second;
    ck_assert_int_eq(f.s.before.at_ns, before_ns + 100 * second);
    ck_assert_int_eq(f.s.counted_ns, counted_ns + 100 * second);
    pass(&f, second / 2);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_REGROUP);
    pass(&f, second / 2);
    ck_assert_int_eq(f.s.phase, STATE_PHASE_PLAN);
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, starts_that_fail);
    tcase_add_test(tc, a_start_that_fails_once);
    tcase_add_test(tc, interrupted_in_the_pause);
    tcase_add_loop_test(tc, lost_nodes_count_apart, 0, 2);
    tcase_add_test(tc, lost_nodes_have_a_bound);
    tcase_add_test(tc, nodes_lost_in_vain);
    tcase_add_test(tc, starts_that_are_late);
    tcase_add_test(tc, put_off_in_the_pause);
}

SUITE_MAIN("driver_again", add_tests)
