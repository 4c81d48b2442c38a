/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_time.c - tests of lib/slurm/slurm_time.h */
#include "lib/slurm/slurm_time.h"

#include "lib/base/clock.h"
#include "suite.h"

static const struct {
    const char *text;
    int64_t s; /* -1: none; 0: no limit */
} times[] = {
    { "90", 5400 },
    { "1:30", 90 },
    { "01:00:05", 3605 },
    { "2-3", 183600 },
    { "1-0:30", 88200 },
    { "1-0:0:1", 86401 },
    { "infinite", 0 },
    { "UNLIMITED", 0 },
    { "0", 0 },
    { "0-0", 0 },
    { "00:00:00", 0 },
    { "9999999:00:00", 0 }, /* beyond what ns can say */
    { "99999-0", 99999 * INT64_C(86400) },
    { "", -1 },
    { "n/a", -1 },
    { "-1", -1 },
    { "1:", -1 },
    { "1:2:3:4", -1 },
    { "1-", -1 },
    { "1-2-3", -1 },
    { " 1", -1 },
    { "1h", -1 },
    { "1: 2", -1 },
    { "+1", -1 },
    { "99999999999999", -1 },
    { "NOT_SET", -1 },
};

START_TEST(limit)
{
    int64_t s = times[_i].s;

    ck_assert_int_eq(slurm_time_limit_ns(times[_i].text), s > 0 ? s * CLOCK_S
                                                          : s   ? -1
                                                                : CLOCK_NEVER);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, limit, 0, sizeof times / sizeof *times);
}

SUITE_MAIN("slurm_time", add_tests)
