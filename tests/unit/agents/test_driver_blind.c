/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_blind.c - the driver's decisions about programs of whose steps little is known */
#include "driver_run.h"

#include <signal.h>

/* ---- started again ---- */

/* What a rank prints, or says on its page, is a sign of life; an exit counts from the first one, or
 * from the start.
 */
START_TEST(blind_is_alive)
{
    struct fixture f;

    begin(&f, 3);
    f.s.o.restarts_asked = _i != 3;
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    pass(&f, 20 * second);
    if (_i < 2)
        state_lives(&f.s, f.now_ns);
    pass(&f, _i == 1 ? 29 * second : _i == 4 ? 9 * second : 31 * second);
    exited(&f, 1, 1, 0, false);
    confirm(&f, -1);
    ck_assert_int_eq(f.s.generation, _i == 0 || _i == 2 ? 2 : 1);
    if (_i == 4)
        said(&f, "; not started again: it exited within 30 s of its start");
    if (_i == 1)
        said(&f, "; not started again: it exited within 30 s of its first sign of life");
    if (_i == 3)
        said(&f, "; not started again: no finished step is known");
    state_fini(&f.s);
}
END_TEST

/* The same rank in the same way: at the same age it is the end, at another it is not. */
START_TEST(blind_ages)
{
    static const int64_t age_s[][2] = { { 100, 90 }, { 100, 50 } };
    char text[128];
    struct fixture f;

    begin(&f, 3);
    f.s.o.restarts_asked = true;
    arrive(&f);
    for (int g = 0; g < 2; g++) {
        launch(&f, STATE_PHASE_RUN);
        state_lives(&f.s, f.now_ns);
        pass(&f, age_s[_i][g] * second);
        exited(&f, 1, 1, 0, false);
        confirm(&f, -1);
        if (g == 0) {
            state_restart_text(&f.s, 3, text, sizeof text);
            ck_assert_str_eq(text, "restarting from the point where the program itself resumes on "
                                   "3 nodes (start 2, restart 1 of at most 3)");
        }
    }
    ck_assert_int_eq(f.s.generation, _i == 0 ? 2 : 3);
    if (_i == 0)
        said(&f, "not started again: the same rank has failed before in the same way after the "
                 "same time");
    state_fini(&f.s);
}
END_TEST

/* What has given no sign of life is started again where that is asked for, once some of it is up.
 */
START_TEST(nothing_is_seen_of_it)
{
    struct fixture f;

    begin(&f, 3);
    f.s.o.restarts_asked = true;
    arrive(&f);
    launch(&f, _i == 1 ? STATE_PHASE_START : STATE_PHASE_RUN);
    if (_i == 0)
        state_lives(&f.s, f.now_ns); /* its last words come with its end */
    if (_i == 1)
        mpirun(&f, 0, SIGKILL);
    else
        exited(&f, 1, 0, SIGKILL, false);
    confirm(&f, -1);
    ck_assert_int_eq(f.s.generation, _i == 1 ? 1 : 2);
    if (_i == 1)
        said(&f, "; not started again: none of its workers was running yet");
    state_fini(&f.s);
}
END_TEST

/* A hang is as old as its rank was when it began, however long that is waited for. */
START_TEST(blind_hangs)
{
    static const int64_t age_s[] = { 60, 300 };
    struct fixture f;

    begin(&f, 3);
    f.s.o.restarts_asked = true;
    f.s.o.hang_ns = 1800 * second;
    arrive(&f);
    for (int g = 0; g < 2; g++) {
        struct event e = event(&f, EVENT_QUIET);

        launch(&f, STATE_PHASE_RUN);
        state_lives(&f.s, f.now_ns);
        pass(&f, (age_s[_i ? g : 1] + 1800) * second);
        e.generation = f.s.generation;
        e.quiet_ns = 1800 * second;
        for (e.rank = 0; e.rank < RANKS; e.rank++)
            state_event(&f.s, f.s.rank[e.rank].agent, &e, f.now_ns);
        pass(&f, second);
        confirm(&f, -1);
    }
    ck_assert_int_eq(f.s.generation, _i ? 3 : 2);
    state_fini(&f.s);
}
END_TEST

/* The first number that is told is a step's; what comes before it is judged by ages as ever. */
START_TEST(told_numbers)
{
    char text[128];
    struct fixture f;

    begin(&f, 3);
    f.s.o.restarts_asked = _i == 2;
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    state_lives(&f.s, f.now_ns);
    told(&f, 1, _i == 1 ? 1000 : 0);
    exited(&f, 1, 0, SIGKILL, false);
    confirm(&f, -1);
    ck_assert_int_eq(f.s.generation, _i == 0 ? 1 : 2);
    if (_i == 0)
        said(&f, "; not started again: no finished step is known; set restarts, for example with "
                 "--restarts 3");
    state_restart_text(&f.s, 3, text, sizeof text);
    if (_i > 0)
        ck_assert_str_eq(text, "restarting from the point where the program itself resumes on 3 "
                               "nodes (start 2, restart 1 of at most 3)");
    state_fini(&f.s);
}
END_TEST

/* One that has ever told of steps is judged by them, also in a generation that had no time to. */
START_TEST(once_seen_is_known)
{
    struct fixture f;

    begin(&f, 3);
    f.s.o.restarts_asked = true;
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    steps(&f, 10);
    exited(&f, 1, 0, SIGKILL, false);
    confirm(&f, -1);
    launch(&f, STATE_PHASE_RUN);
    pass(&f, 200 * second);
    exited(&f, 1, 1, 0, false);
    said(&f, "not started again: no worker had finished a step");
    state_fini(&f.s);
}
END_TEST

/* ---- hangs ---- */

static void quiet(struct fixture *f, int rank, int64_t for_ns, char *where)
{
    struct event e = event(f, EVENT_QUIET);

    e.rank = rank;
    e.quiet_ns = for_ns;
    f->where[rank] = where;
    state_event(&f->s, f->s.rank[rank].agent, &e, f->now_ns);
}

/* Ranks of which no step is known hang when all that are left do nothing. */
START_TEST(quiet_hang)
{
    static char futex[] = "it waits in the kernel function futex_wait",
                asleep[] = "it waits in the kernel function nanosleep";
    struct fixture f;

    begin(&f, 0);
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    for (int r = 0; r < 4; r++)
        quiet(&f, r, 30 * second + r, _i == 1 && r == 1 ? asleep : futex);
    pass(&f, second);
    ck_assert_ptr_null(f.s.reason); /* one computes */
    if (_i == 2) {
        quiet(&f, 4, 30 * second, futex);
        quiet(&f, 2, 0, futex); /* one does again */
    } else if (_i == 3) {
        quiet(&f, 4, 30 * second, futex);
        progress(&f, 2, 2, 5, 0); /* one tells of its steps */
    } else if (_i == 4) {
        exited(&f, 4, 0, 0, false);
    } else {
        quiet(&f, 4, 30 * second, futex);
    }
    pass(&f, second);
    if (_i == 2 || _i == 3) {
        ck_assert_ptr_null(f.s.reason);
    } else {
        ck_assert_str_eq(f.s.reason, "hang");
        ck_assert_int_eq(f.s.failure.rank, _i == 1 ? 1 : 3);
        said(&f, _i == 1 ? "(node a, pid 101) has neither printed nor computed for 0:32, nor has "
                           "any other running rank (timeouts.hang is 0:30): it waits in the kernel "
                           "function nanosleep; stopping"
                         : "(node c, pid 103) has neither");
    }
    state_fini(&f.s);
}
END_TEST

/* Who has told the number of no step but 0 is among them; the first one above it is a step. */
START_TEST(quiet_after_a_number)
{
    static char futex[] = "it waits in the kernel function futex_wait";
    struct fixture f;

    begin(&f, 0);
    f.s.o.furthest = true;
    if (_i == 2)
        f.s.o.first_step_ns = 0;
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    told(&f, 0, _i == 1 ? 1000 : 0);
    for (int r = 0; r < RANKS; r++)
        quiet(&f, r, 30 * second, futex);
    pass(&f, second);
    if (_i == 1) {
        ck_assert_ptr_null(f.s.reason);
        ck_assert(f.s.rank[0].stepped);
    } else {
        ck_assert_str_eq(f.s.reason, "hang");
        said(&f, "has neither printed nor computed for 0:31");
    }
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, blind_is_alive, 0, 5);
    tcase_add_loop_test(tc, blind_ages, 0, 2);
    tcase_add_loop_test(tc, nothing_is_seen_of_it, 0, 3);
    tcase_add_loop_test(tc, blind_hangs, 0, 2);
    tcase_add_loop_test(tc, told_numbers, 0, 3);
    tcase_add_test(tc, once_seen_is_known);
    tcase_add_loop_test(tc, quiet_after_a_number, 0, 3);
    tcase_add_loop_test(tc, quiet_hang, 0, 5);
}

SUITE_MAIN("driver_blind", add_tests)
