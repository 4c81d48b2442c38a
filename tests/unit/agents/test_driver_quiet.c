/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_quiet.c - the driver's state machine: which rank is to blame for a hang, by where
 * they stand */
#include "driver_run.h"

static void quiet_at(struct fixture *f, int rank, int64_t for_ns, int code, const char *where)
{
    struct event e = event(f, EVENT_QUIET);

    e.rank = rank;
    e.quiet_ns = for_ns;
    f->place[rank] = code;
    f->where[rank] = where;
    state_event(&f->s, f->s.rank[rank].agent, &e, f->now_ns);
}

/* One that is elsewhere than in a collective operation in which others wait hangs, though they have
 * waited for longer.  Of two ranks, too; without such knowledge the longest.
 */
START_TEST(elsewhere)
{
    static const char all[] = "it waits in all_reduce (d.py:41), called in main (train.py:40)",
                      load[] = "it is in load (train.py:33)",
                      barrier[] = "it waits in barrier (d.py:52), called in main (train.py:44)";
    static const struct {
        int code[RANKS]; /* -1: it has exited */
        const char *where[RANKS];
        int rank;
        const char *text;
    } row[] = {
        { { 1, 1, 2, 1, 1 },
          { all, all, load, all, all },
          2,
          "timeouts.hang is 0:30): it is in load (train.py:33); rank 0 waits in all_reduce "
          "(d.py:41), "
          "called in main (train.py:40); stopping 5 ranks" },
        { { 1, 2, -1, -1, -1 },
          { all, load },
          1,
          ": it is in load (train.py:33); rank 0 waits in" },
        { { 1, 2, 1, 2, 1 }, { all, load, all, load, all }, 1, ": it is in load (train.py:33); " },
        { { 1, 1, 1, 1, 1 },
          { all, all, all, barrier, all },
          3,
          ": it waits in barrier (d.py:52)" },
        { { 0, 1, 1, 1, 1 }, { "", all, all, all, all }, 0, "timeouts.hang is 0:30); stopping" },
        { { 1, 1, -1, -1, -1 }, { all, barrier }, 0, ": it waits in all_reduce (d.py:41), called" },
        { { 2, 2, 2, 2, 2 },
          { load, load, load, load, load },
          0,
          ": it is in load (train.py:33); st" },
    };
    struct fixture f;

    begin(&f, 0);
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    for (int r = 0; r < RANKS; r++)
        if (row[_i].code[r] < 0)
            exited(&f, r, 0, 0, false);
        else
            quiet_at(&f, r, 30 * second + RANKS - r, row[_i].code[r], row[_i].where[r]);
    pass(&f, second);
    ck_assert_str_eq(f.s.reason, "hang");
    ck_assert_int_eq(f.s.failure.rank, row[_i].rank);
    said(&f, row[_i].text);
    state_fini(&f.s);
}
END_TEST

/* Of a hang that steps tell of their places are asked, too: rank 1 alone prints, and waits for rank
 * 3, of which nothing is known but that.  Without answers, which are not waited for without end,
 * and where an agent is lost meanwhile, it is the one that stands.
 */
START_TEST(hang_elsewhere)
{
    static const char all[] = "it waits in all_reduce (d.py:41), called in main (train.py:40)",
                      load[] = "it is in load (train.py:33)";
    static const struct {
        int place[RANKS], rank;
        const char *text;
    } row[] = {
        { { 1, 1, 1, 2, 1 },
          3,
          "rank 3 (node c, pid 103) keeps others from their steps for 0:30 (timeouts.hang is "
          "0:30); last step 19: it is in load (train.py:33); rank 0 waits in all_reduce (d.py:41), "
          "called in main (train.py:40); stopping" },
        { { 1, 2, 1, 1, 1 },
          1,
          "rank 1 (node a, pid 101) has made no step for 0:30 (timeouts.hang is 0:30); last step "
          "19: it is in load (train.py:33); rank 0 waits in all_reduce (d.py:41)" },
        { { 1, 1, 1, 1, 1 }, 1, "last step 19: it waits in all_reduce (d.py:41), called in main" },
        { { 0, 0, 0, 0, 0 }, 1, "last step 19, computing; stopping" },
    };
    struct fixture f;

    begin(&f, 0);
    f.s.o.furthest = true;
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    told(&f, 1, 20);
    for (int r = 0; r < RANKS; r++) {
        f.place[r] = row[_i].place[r];
        f.where[r] = f.place[r] == 2 ? load : f.place[r] ? all : NULL;
    }
    f.s.rank[1].still_ns = 30 * second;
    pass(&f, second);
    ck_assert_int_eq(f.ordered[ACTION_LOOK], 1);
    ck_assert_str_eq(f.s.reason, "hang");
    ck_assert_int_eq(f.s.failure.rank, row[_i].rank);
    ck_assert_int_eq(f.s.failure.step, 20);
    said(&f, row[_i].text);
    state_fini(&f.s);
}
END_TEST

/* Of ranks that say what they do, and for whom they wait, the source's line is told, and who is
 * named stays; what the kernel calls it is no news.
 */
START_TEST(hang_of_a_page)
{
    static const char load[] = "it is in load (train.py:33)",
                      all[] = "it waits in all_reduce (d.py:41)",
                      nap[] = "it waits in the kernel function nanosleep";
    static const struct {
        int place[RANKS];
        const char *where;
        const char *text;
    } row[] = {
        { { 0, 0, 2, 0, 0 },
          load,
          "last step 9, computing; ranks 0, 1, 3, 4 wait for it: it is in load (train.py:33); "
          "stop" },
        { { 0, 2, 1, 0, 0 }, all, "wait for it: it waits in all_reduce (d.py:41); stopping" },
        { { 0, 0, 0, 0, 0 },
          nap,
          "last step 9, computing; ranks 0, 1, 3, 4 wait for it; stopping" },
    };
    struct fixture f;

    run(&f, 0);
    for (int r = 0; r < RANKS; r++) {
        progress(&f, r, r == 2 ? 2 : 3, 10, 30 * second);
        f.place[r] = row[_i].place[r];
    }
    f.where[2] = row[_i].where;
    f.where[1] = load;
    pass(&f, second / 2);
    ck_assert_str_eq(f.s.reason, "hang");
    ck_assert_int_eq(f.s.failure.rank, 2);
    said(&f, row[_i].text);
    state_fini(&f.s);
}
END_TEST

/* Agents that do not answer are not waited for without end, one that is lost not at all; and what
 * goes on meanwhile does not hang.
 */
START_TEST(hang_unanswered)
{
    struct fixture f;

    begin(&f, 0);
    arrive(&f);
    launch(&f, STATE_PHASE_RUN);
    for (int r = 0; r < RANKS; r++)
        told(&f, r, 20);
    f.s.rank[1].still_ns = 30 * second;
    f.silent[2] = true;
    pass(&f, 7 * second);
    ck_assert_ptr_null(f.s.reason);
    if (_i == 0) {
        told(&f, 1, 21);
        pass(&f, 6 * second);
        ck_assert_ptr_null(f.s.reason);
        state_fini(&f.s);
        return;
    }
    if (_i == 1)
        pass(&f, 2 * second);
    if (_i == 2) {
        exited(&f, 3, 0, 0, false);
        exited(&f, 4, 0, 0, false);
        pass(&f, second / 2);
    }
    ck_assert_int_eq(f.ordered[ACTION_LOOK], 1);
    ck_assert_str_eq(f.s.reason, "hang");
    ck_assert_int_eq(f.s.failure.rank, 1);
    state_fini(&f.s);
}
END_TEST

static void show(struct fixture *f, const struct progress *like, int rank, int64_t still_ns)
{
    struct progress p = *like;

    p.rank = rank;
    p.steps_here = p.steps_done;
    p.page_age_ns = p.phase_age_ns = still_ns;
    state_progress(&f->s, &p, f->now_ns);
}

/* A rank that has left its loop is waited for by one in the next step, of which no end is seen; not
 * where others have their steps still to do, have ended theirs, too, compute, or wait for those.
 */
START_TEST(ended_alone)
{
    static const struct {
        int64_t later_s;
        struct progress other;
        bool fails;
    } row[] = {
        { 10, { .phase = 3, .steps_done = 1042, .waits_for = 1 }, true },
        { 10, { .phase = 3, .steps_done = 1042, .waits_for = -1 }, true },
        { 9, { .phase = 3, .steps_done = 1042, .waits_for = 1 }, false },
        { 10, { .phase = 3, .steps_done = 1041, .waits_for = 1 }, false },
        { 10, { .phase = 3, .steps_done = 1042, .waits_for = 4 }, false },
        { 10, { .phase = 2, .steps_done = 1042, .waits_for = -1 }, false },
        { 10, { .phase = 4, .steps_done = 1042, .waits_for = -1 }, false },
        { 10, { .phase = 6, .steps_done = 1042, .waits_for = 1 }, false },
    };
    static const struct progress ended = {
        .phase = 3, .steps_done = 1042, .ended = true, .waits_for = 0
    };
    struct fixture f;

    run(&f, 0);
    for (int k = 0; k < 2; k++) { /* what came with the first pages may be as old as the lease */
        for (int r = 1; r < 4; r++)
            show(&f, &ended, r, 6 * second);
        progress(&f, 4, 2, 1042, second);
        show(&f, &row[_i].other, 0, 6 * second);
        ck_assert(!state_is_ending(&f.s));
        pass(&f, k ? second : row[_i].later_s * second);
    }
    ck_assert(state_is_ending(&f.s) == row[_i].fails);
    if (row[_i].fails) {
        said(&f, "rank 1 (node ");
        said(&f, " has ended its steps with step 1041, but rank 0 waits for it in the next step: "
                 "leave the loop on all ranks at the same step");
        ck_assert_str_eq(f.s.reason, "hang");
        ck_assert_int_eq(f.s.failure.rank, 1);
        wind_up(&f);
    }
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, ended_alone, 0, 8);
    tcase_add_loop_test(tc, elsewhere, 0, 7);
    tcase_add_loop_test(tc, hang_elsewhere, 0, 4);
    tcase_add_loop_test(tc, hang_of_a_page, 0, 3);
    tcase_add_loop_test(tc, hang_unanswered, 0, 3);
}

SUITE_MAIN("driver_quiet", add_tests)
