/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_quiet.c - the driver's state machine: which of ranks that do nothing is to blame */
#include "driver_run.h"

static void quiet_at(struct fixture *f, int rank, int64_t for_ns, int code, const char *where)
{
    struct event e = event(f, EVENT_QUIET);

    e.rank = rank;
    e.step = for_ns;
    e.code = code;
    e.text = (char *)(uintptr_t)where;
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
          "timeouts.hang is 0:30: it is in load (train.py:33); rank 0 waits in all_reduce "
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
        { { 0, 1, 1, 1, 1 }, { "", all, all, all, all }, 0, "timeouts.hang is 0:30; stopping" },
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

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, elsewhere, 0, 7);
}

SUITE_MAIN("driver_quiet", add_tests)
