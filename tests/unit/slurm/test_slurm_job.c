/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_job.c - tests of lib/slurm/slurm_job.h */
#include "lib/slurm/slurm_job.h"

#include "suite.h"

#include <string.h>

#define LINE(state, reason, code)                                                                  \
    "JobId=17 HetJobId=17 JobName=x UserId=ada(1000) JobState=" state " Reason=" reason            \
    " Dependency=(null) Requeue=1 ExitCode=" code " StartTime=2026-11-24T13:52:52 "                \
    "ReqNodeList=(null) NodeList=node[1-4] BatchHost=node1 StdErr=/e StdOut=/home/a b/o-17 Power=" \
    "\nJobId=18 JobState=OTHER ExitCode=9:9\n"

/* As scontrol prints it without -o. */
#define RECORD(head, state, reason, code)                                                          \
    head                                                                                           \
        "\n   UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A\n   Priority=1 Nice=0 QOS=(null)\n" \
        "   JobState=" state " Reason=" reason " Dependency=(null)\n"                              \
        "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=" code "\n"                         \
        "   StartTime=2026-11-24T13:52:52 EndTime=Unknown Deadline=N/A\n"                          \
        "   Partition=main AllocNode:Sid=login:13024\n   ReqNodeList=n9 ExcNodeList=(null)\n"      \
        "   NodeList=node[1-4]\n   BatchHost=node1\n   WorkDir=/w JobState=BAD StdOut=/no\n"       \
        "   Comment= JobState=WORSE\n   StdErr=/e\n   StdOut=/a b=c JobState=x/o-17\n   Power=\n " \
        "  \n\n"

START_TEST(records)
{
    const char *text =
        RECORD("JobId=17 JobName=x JobState=FAILED Reason=y ExitCode=9:9", "RUNNING", "None", "0:0")
            RECORD("JobId=18 ArrayJobId=12 ArrayTaskId=3 JobName=a HetJobId=8", "PENDING",
                   "Resources", "0:0")
                RECORD("JobId=20 HetJobId=19 HetJobOffset=1 JobName=b\n   HetJobIdSet=19-20",
                       "FAILED", "NonZeroExitCode", "7:0");
    struct slurm_job j;

    ck_assert(slurm_job_parse(text, &j));
    ck_assert_str_eq(j.id, "17");
    ck_assert_str_eq(j.array, "");
    ck_assert_str_eq(j.het, "");
    ck_assert_str_eq(j.state, "RUNNING");
    ck_assert_str_eq(j.reason, "None");
    ck_assert_str_eq(j.nodes, "node[1-4]");
    ck_assert_str_eq(j.first, "node1");
    ck_assert_str_eq(j.out, "/a b=c JobState=x/o-17");
    ck_assert_int_eq(j.code, 0);
    ck_assert(slurm_job_next(&text, &j));
    ck_assert(slurm_job_next(&text, &j));
    ck_assert_str_eq(j.id, "18");
    ck_assert_str_eq(j.array, "12");
    ck_assert_str_eq(j.task, "3");
    ck_assert_str_eq(j.het, "");
    ck_assert_str_eq(j.state, "PENDING");
    ck_assert(slurm_job_next(&text, &j));
    ck_assert_str_eq(j.id, "20");
    ck_assert_str_eq(j.het, "19");
    ck_assert_int_eq(j.component, 1);
    ck_assert_int_eq(j.code, 7);
    ck_assert(!slurm_job_next(&text, &j));
    ck_assert(slurm_job_is_unknown("slurm_load_jobs error: Invalid job id specified\n"));
    ck_assert(slurm_job_is_unknown("Job 12_9 not found\n"));
    ck_assert(slurm_job_is_unknown("welcome\nslurm_load_jobs error: Invalid job id specified\n"));
    ck_assert(!slurm_job_is_unknown("scontrol: line 3: module: command not found\n"));
    ck_assert(!slurm_job_is_unknown("slurm_load_jobs error: Unable to contact slurm controller\n"));
}
END_TEST

/* With -o a name may hold anything as well, but it stands in front. */
START_TEST(one_line)
{
    struct slurm_job j;

    ck_assert(slurm_job_parse("JobId=17 JobName=x JobState=FAILED y UserId=ada(1000) "
                              "JobState=RUNNING Reason=None ExitCode=0:0",
                              &j));
    ck_assert_str_eq(j.id, "17");
    ck_assert_str_eq(j.state, "RUNNING");
}
END_TEST

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
    int code; /* -1: it has not ended */
} rows[] = {
    { LINE("PENDING", "Resources", "0:0"), true, false, -1 },
    { LINE("RUNNING", "None", "0:0"), false, false, -1 },
    { LINE("COMPLETING", "None", "0:0"), false, false, -1 },
    { LINE("COMPLETING", "NonZeroExitCode", "130:0"), false, false, 130 },
    { LINE("COMPLETING", "RaisedSignal:9(Killed)", "0:9"), false, false, 137 },
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
    ck_assert_int_eq(slurm_job_has_ended(&j), rows[_i].code >= 0);
    if (rows[_i].code >= 0)
        ck_assert_int_eq(slurm_job_code(&j), rows[_i].code);
}
END_TEST

/* A job that Slurm sends a signal this moment runs. */
START_TEST(signaling)
{
    struct slurm_job j;

    ck_assert(slurm_job_parse(LINE("SIGNALING", "None", "0:0"), &j));
    ck_assert_str_eq(j.state, "RUNNING");
    ck_assert(slurm_job_parse("JobId=12 JobName=x\n   JobState=SIGNALING Reason=None\n", &j));
    ck_assert_str_eq(j.state, "RUNNING");
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
    ck_assert_str_eq(
        slurm_job_why(&j, text, sizeof text),
        "nodes that it needs are down, drained or reserved (ReqNodeNotAvail,_Reserved)");
    ck_assert(
        slurm_job_parse(" JobState=PENDING Reason=Nodes_required_for_job_are_DOWN,_DRAINED", &j));
    ck_assert_str_eq(slurm_job_why(&j, text, sizeof text),
                     "nodes that it needs are down, drained or reserved");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, records);
    tcase_add_test(tc, one_line);
    tcase_add_test(tc, parse);
    tcase_add_loop_test(tc, ends, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, why);
    tcase_add_test(tc, signaling);
}

SUITE_MAIN("slurm_job", add_tests)
