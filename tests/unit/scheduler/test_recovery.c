/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/recovery.h"

#include "suite.h"

#include <string.h>

#define NOBODY                                                                                     \
    {                                                                                              \
        -1, -1, false                                                                              \
    }

/* One row for every sentence of eddis-run(1), RECOVERY. */
static const struct {
    struct recovery_case c;
    enum recovery then;
} rows[] = {
    /* recoverable */
    { { CAUSE_NODE, 0, 1, true, NOBODY, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_HANG, 0, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_OOM, 0, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 255, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    { { CAUSE_MPIRUN, 0, 1, true, NOBODY, NOBODY, 0, 3 }, RECOVERY_RESTART },
    /* before the first step of generation 1 nothing is */
    { { CAUSE_NODE, 0, 1, false, NOBODY, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_SIGNAL, 0, 1, false, { 5, 0, false }, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_OOM, 0, 1, false, { 5, 0, false }, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_EXIT, 1, 1, false, { 5, 0, false }, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_MPIRUN, 0, 1, false, NOBODY, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_LAUNCH, 0, 1, false, NOBODY, NOBODY, 0, 3 }, RECOVERY_NO_STEP },
    /* a later generation is gone on with, unless its program says no by itself */
    { { CAUSE_NODE, 0, 2, false, NOBODY, NOBODY, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 2, false, { 5, -1, false }, NOBODY, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_LAUNCH, 0, 2, false, NOBODY, NOBODY, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_MPIRUN, 0, 2, false, NOBODY, NOBODY, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_EXIT, 1, 2, false, { 5, -1, false }, NOBODY, 1, 3 }, RECOVERY_NO_STEP },
    { { CAUSE_EXIT, 1, 2, true, { 5, 20, true }, { 5, 9, true }, 1, 3 }, RECOVERY_RESTART },
    /* codes that will not change */
    { { CAUSE_EXIT, 2, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_NEVER },
    { { CAUSE_EXIT, 126, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_NEVER },
    { { CAUSE_EXIT, 127, 3, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_NEVER },
    { { CAUSE_SIGNAL, 2, 1, true, { 5, 9, true }, NOBODY, 0, 3 }, RECOVERY_RESTART },
    /* the same rank at the same step twice running */
    { { CAUSE_EXIT, 1, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_SIGNAL, 0, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_OOM, 0, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_HANG, 0, 2, true, { 5, 9, true }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_SIGNAL, 0, 2, false, { 5, 9, false }, { 5, 9, true }, 1, 3 }, RECOVERY_SAME_STEP },
    { { CAUSE_SIGNAL, 0, 2, true, { 5, 9, true }, { 4, 9, true }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 2, true, { 5, 9, true }, { 5, 8, true }, 1, 3 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 3, false, { 5, 9, false }, { 5, 9, false }, 2, 9 }, RECOVERY_RESTART },
    { { CAUSE_SIGNAL, 0, 3, false, { 5, -1, false }, { 5, -1, false }, 2, 9 }, RECOVERY_RESTART },
    { { CAUSE_NODE, 0, 3, true, NOBODY, NOBODY, 2, 9 }, RECOVERY_RESTART },
    /* how often */
    { { CAUSE_SIGNAL, 0, 1, true, { 5, 9, true }, NOBODY, 0, 0 }, RECOVERY_USED_UP },
    { { CAUSE_SIGNAL, 0, 4, true, { 5, 99, true }, { 1, 9, true }, 3, 3 }, RECOVERY_USED_UP },
    { { CAUSE_SIGNAL, 0, 3, true, { 5, 99, true }, { 1, 9, true }, 2, 3 }, RECOVERY_RESTART },
};

START_TEST(row)
{
    ck_assert_int_eq(recovery_decide(&rows[_i].c), rows[_i].then);
}
END_TEST

/* Whatever failed: never without a step in generation 1, never beyond the limit. */
START_TEST(every_case)
{
    for (int cause = 0; cause < CAUSES; cause++)
        for (int code = 0; code < 256; code++)
            for (int k = 0; k < 64; k++) {
                struct recovery_case c = { (enum recovery_cause)cause,
                                           code,
                                           1 + (k & 1),
                                           (k & 2) != 0,
                                           { k & 4 ? 1 : -1, 7, (k & 8) != 0 },
                                           { k & 16 ? 1 : -1, 7, true },
                                           1,
                                           k & 32 ? 2 : 1 };
                enum recovery r = recovery_decide(&c);

                if (r != RECOVERY_RESTART)
                    continue;
                ck_assert(c.generation > 1 || c.any_step);
                ck_assert(c.restarts_done < c.restarts);
                ck_assert(cause != CAUSE_EXIT || (code != 2 && code != 126 && code != 127));
                ck_assert(c.now.rank < 0 || c.now.rank != c.before.rank);
            }
}
END_TEST

START_TEST(words)
{
    ck_assert_str_eq(recovery_words(RECOVERY_RESTART), "");
    for (int r = RECOVERY_RESTART + 1; r < RECOVERIES; r++)
        ck_assert_int_gt(strlen(recovery_words((enum recovery)r)), 0);
    ck_assert_str_eq(recovery_words(RECOVERY_USED_UP), "all restarts are used up");
    ck_assert_str_eq(recovery_words(RECOVERIES), "");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, row, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, every_case);
    tcase_add_test(tc, words);
}

SUITE_MAIN("recovery", add_tests)
