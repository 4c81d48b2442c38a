/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_ask.c - tests of agents/driver/slurm_ask.h: what Slurm prints of an end and of nodes
 */
#include "agents/driver/slurm_ask.h"

#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A record as "scontrol -o show job" prints it, whose time ends after so many seconds. */
static void make_record(const char *state, const char *reason, const char *preempted, int left_s,
                        char *ret, size_t size)
{
    time_t end = 1800000000 + left_s;
    char text[40];
    struct tm tm;

    ck_assert_ptr_nonnull(localtime_r(&end, &tm));
    ck_assert_uint_gt(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm), 0);
    (void)snprintf(ret, size,
                   "JobId=7 JobName=a Reason=TimeLimit b UserId=ada(1000) JobState=%s Reason=%s "
                   "Dependency=(null) TimeLimit=00:05:00 StartTime=2027-01-15T08:00:00 EndTime=%s "
                   "Deadline=N/A PreemptEligibleTime=2027-01-15T08:00:00 PreemptTime=%s\n",
                   state, reason, text, preempted);
}

static const struct {
    const char *state, *reason, *preempted;
    int left_s, warned_s;
    bool is;
} rows[] = {
    { "RUNNING", "None", "None", 130, 220, true },   /* the warning of --signal */
    { "SIGNALING", "None", "None", 130, 220, true }, /* all nodes do not have it yet */
    { "RUNNING", "None", "None", 221, 220, false },  /* somebody's own */
    { "RUNNING", "None", "None", 100, 0, false },    /* SIGTERM, long before */
    { "RUNNING", "None", "None", 0, 0, true },       /* and at the limit */
    { "RUNNING", "None", "2027-01-15T08:00:00", 100, 220, false },
    { "TIMEOUT", "None", "None", 500, 0, true },
    { "COMPLETING", "TimeLimit", "None", 500, 0, true },
    { "CANCELLED", "None", "None", 100, 220, false },
    { "PREEMPTED", "None", "2027-01-15T08:00:00", 0, 220, false },
};

START_TEST(limit)
{
    char record[600];

    make_record(rows[_i].state, rows[_i].reason, rows[_i].preempted, rows[_i].left_s, record,
                sizeof record);
    ck_assert_int_eq(slurm_ask_is_limit(record, 1800000000, rows[_i].warned_s), rows[_i].is);
}
END_TEST

/* No limit, and no answer that is understood. */
START_TEST(no_limit)
{
    ck_assert(!slurm_ask_is_limit(" JobState=RUNNING Reason=None EndTime=Unknown PreemptTime=None",
                                  1800000000, 220));
    ck_assert(!slurm_ask_is_limit("slurm_load_jobs error: Invalid job id specified", 0, 220));
    ck_assert(!slurm_ask_is_limit("", 0, 220));
}
END_TEST

START_TEST(down)
{
    static const char table[] = "n1|idle\nn2|down*\nn22|mixed\nn3|drained\nn4|down\nn4|down\n";

    ck_assert(!slurm_ask_is_down(table, "n1"));
    ck_assert(slurm_ask_is_down(table, "n2"));
    ck_assert(!slurm_ask_is_down(table, "n22"));
    ck_assert(!slurm_ask_is_down(table, "n"));
    ck_assert(!slurm_ask_is_down(table, "n3")); /* its jobs run on */
    ck_assert(slurm_ask_is_down(table, "n4"));
    ck_assert(!slurm_ask_is_down("", "n1"));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, limit, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, no_limit);
    tcase_add_test(tc, down);
}

SUITE_MAIN("slurm_ask", add_tests)
