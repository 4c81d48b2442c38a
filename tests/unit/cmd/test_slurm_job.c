/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_job.c - tests of cmd/slurm/slurm_job.h */
#include "cmd/slurm/slurm_job.h"

#include "suite.h"

#include <string.h>

#define LINE(state, reason, code)                                                                  \
    "JobId=17 HetJobId=17 JobName=x UserId=ada(1000) JobState=" state " Reason=" reason            \
    " Dependency=(null) Requeue=1 ExitCode=" code " StartTime=2026-11-24T13:52:52 "                \
    "ReqNodeList=(null) NodeList=node[1-4] BatchHost=node1 StdErr=/e StdOut=/home/a b/o-17 Power=" \
    "\nJobId=18 JobState=OTHER ExitCode=9:9\n"

START_TEST(parse)
{
    struct slurm_job j = { .code = 5 };

    ck_assert(!slurm_job_parse("", &j));
    ck_assert(!slurm_job_parse("slurm_load_jobs error: Invalid job id specified\n", &j));
    ck_assert_int_eq(j.code, 5);
    ck_assert(slurm_job_parse(LINE("RUNNING", "None", "0:0"), &j));
    ck_assert_str_eq(j.state, "RUNNING");
    ck_assert_str_eq(j.reason, "None");
    ck_assert_str_eq(j.nodes, "node[1-4]"); /* not those it asks for */
    ck_assert_str_eq(j.out, "/home/a b/o-17");
    ck_assert_str_eq(j.start, "2026-11-24T13:52:52");
    ck_assert(slurm_job_parse(" JobState=RUNNING StdOut=/a b/o TresPerTask=cpu=1", &j));
    ck_assert_str_eq(j.out, "/a b/o"); /* newer ones end otherwise */
    ck_assert(slurm_job_parse(" JobState=RUNNING StdOut=/a b/o \n", &j));
    ck_assert_str_eq(j.out, "/a b/o");
    ck_assert(slurm_job_parse(" JobState=PENDING", &j));
    ck_assert_str_eq(j.out, "");
    ck_assert_int_eq(j.code, 0);
}
END_TEST

static const struct {
    const char *text;
    bool waits, over;
    int code;
} rows[] = {
    { LINE("PENDING", "Resources", "0:0"), true, false, 0 },
    { LINE("RUNNING", "None", "0:0"), false, false, 0 },
    { LINE("COMPLETING", "None", "0:0"), false, false, 0 },
    { LINE("COMPLETED", "None", "0:0"), false, true, 0 },
    { LINE("FAILED", "NonZeroExitCode", "7:0"), false, true, 7 },
    { LINE("FAILED", "NonZeroExitCode", "75:0"), false, true, 75 },
    { LINE("FAILED", "RaisedSignal:9(Killed)", "0:9"), false, true, 137 },
    { LINE("CANCELLED", "None", "0:0"), false, true, 143 },
    { LINE("CANCELLED", "None", "0:15"), false, true, 143 },
    { LINE("CANCELLED", "None", "75:0"), false, true, 75 },
    { LINE("TIMEOUT", "TimeLimit", "0:15"), false, true, 124 },
    { LINE("OUT_OF_MEMORY", "OutOfMemory", "0:125"), false, true, 137 },
    { LINE("NODE_FAIL", "NodeDown", "0:0"), false, true, 1 },
    { LINE("PREEMPTED", "None", "0:0"), false, true, 143 },
};

START_TEST(ends)
{
    struct slurm_job j;

    ck_assert(slurm_job_parse(rows[_i].text, &j));
    ck_assert_int_eq(slurm_job_waits(&j), rows[_i].waits);
    ck_assert_int_eq(slurm_job_is_over(&j), rows[_i].over);
    if (rows[_i].over)
        ck_assert_int_eq(slurm_job_code(&j), rows[_i].code);
}
END_TEST

START_TEST(why)
{
    struct slurm_job j;
    char text[300];

    ck_assert(slurm_job_parse(LINE("PENDING", "Resources", "0:0"), &j));
    ck_assert_str_eq(slurm_job_why(&j, text, sizeof text),
                     "its nodes are busy (Resources), to start at about 2026-11-24T13:52:52");
    ck_assert(slurm_job_parse(" JobState=PENDING Reason=QOSMaxGRESPerUser StartTime=Unknown", &j));
    ck_assert_str_eq(slurm_job_why(&j, text, sizeof text), "QOSMaxGRESPerUser");
    ck_assert(slurm_job_parse(" JobState=PENDING Reason=ReqNodeNotAvail,_Reserved", &j));
    ck_assert_str_eq(slurm_job_why(&j, text, sizeof text),
                     "nodes that it needs are down or reserved (ReqNodeNotAvail,_Reserved)");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, parse);
    tcase_add_loop_test(tc, ends, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, why);
}

SUITE_MAIN("slurm_job", add_tests)
