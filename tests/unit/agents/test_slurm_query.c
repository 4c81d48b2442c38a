/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_query.c - tests of agents/driver/report/slurm_query.h: what Slurm prints of an end and
 * of nodes
 */
#include "agents/driver/report/slurm_query.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/slurm/slurm.h"

#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
    ck_assert_int_eq(slurm_query_is_limit(record, 1800000000, rows[_i].warned_s), rows[_i].is);
}
END_TEST

/* No limit, and no answer that is understood. */
START_TEST(no_limit)
{
    ck_assert(!slurm_query_is_limit(
        " JobState=RUNNING Reason=None EndTime=Unknown PreemptTime=None", 1800000000, 220));
    ck_assert(!slurm_query_is_limit("slurm_load_jobs error: Invalid job id specified", 0, 220));
    ck_assert(!slurm_query_is_limit("", 0, 220));
}
END_TEST

START_TEST(down)
{
    static const char table[] = "n1   idle   \nn2   down*   \nn22  mixed   \nn3   mixed+drain   \n"
                                "n4   down   \nn4   down   \nn5   down+drain   \n"
                                "n6   idle+not_responding+down*\nn7   idle+powered_down\n";

    ck_assert(!slurm_query_is_down(table, "n1"));
    ck_assert(slurm_query_is_down(table, "n2"));
    ck_assert(!slurm_query_is_down(table, "n22"));
    ck_assert(!slurm_query_is_down(table, "n"));
    ck_assert(!slurm_query_is_down(table, "n3")); /* its jobs run on */
    ck_assert(slurm_query_is_down(table, "n4"));
    ck_assert(slurm_query_is_down(table, "n5"));
    ck_assert(slurm_query_is_down(table, "n6"));
    ck_assert(!slurm_query_is_down(table, "n7"));
    ck_assert(!slurm_query_is_down("", "n1"));
}
END_TEST

static struct state_agent silent;
static struct job job;
static struct driver_options options;
static struct job_run run;
static struct slurm_query query;

/* Watch a node with Slurm's programs in PATH, which do this. */
static void begin(const char *does)
{
    static const struct slurm_allocation allocation = { .job = "7" };
    static const char *const names[] = { "scontrol", "sinfo" };
    char script[64];
    int n = snprintf(script, sizeof script, "#!/bin/sh\n%s\n", does);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path = file_join(scratch, "%s", names[i]);

        ck_assert_int_eq(file_write_atomic(path, script, (size_t)n, 0700, NULL), 0);
    }
    ck_assert_int_eq(setenv("PATH", scratch, 1), 0);
    silent = (struct state_agent){ .registered = true, .host = "n1" };
    job = (struct job){ .timeouts.heartbeat_ns = CLOCK_S };
    options = (struct driver_options){ .slurm = &allocation, .job = &job };
    run = (struct job_run){ .o = &options, .n_agents = 1, .state.agent = &silent };
    query = (struct slurm_query){ .run = &run };
    ck_assert_int_eq(slurm_query_open(&query, NULL), 0);
}

static void end(void)
{
    slurm_query_close(&query);
    (void)unsetenv("PATH");
}

/* Whatever Slurm's controller does, nothing of what was started for it is left at the end. */
START_TEST(stuck)
{
    begin("exec /bin/sleep 1000"); /* the controller does not answer */
    slurm_query_turn(&query, clock_now_ns());
    ck_assert(query.asking_nodes);
    run.state.outcome = STATE_OUTCOME_PREEMPTED;
    run.state.preempt_signal = SIGTERM;
    run.state.preempt_count = 1;
    slurm_query_turn(&query, clock_now_ns());
    ck_assert(query.asking_limit);
    slurm_query_settle(&query);
    ck_assert(!query.asking_nodes && !query.asking_limit && !run.state.at_limit);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    end();
}
END_TEST

/* A node may be silent for an hour and up: Slurm is asked less and less often, and at once again of
 * the next one.
 */
START_TEST(less_often)
{
    static const int64_t again_s[] = { 2, 4, 8, 16, 30, 30 };

    begin("echo 'n1 idle'");
    for (size_t i = 0; i < sizeof again_s / sizeof *again_s; i++) {
        struct pollfd fd = { .fd = slurm_query_fd(&query), .events = POLLIN };
        int64_t asked_ns = query.nodes_ns;

        slurm_query_turn(&query, asked_ns - 1);
        ck_assert(i == 0 || !query.asking_nodes);
        slurm_query_turn(&query, clock_after_ns(clock_now_ns(), asked_ns));
        while (query.asking_nodes) {
            ck_assert_int_eq(poll(&fd, 1, 60000), 1);
            slurm_query_turn(&query, clock_now_ns());
        }
        ck_assert_int_eq(query.again_s, again_s[i]);
        ck_assert_int_ge(query.nodes_ns, clock_now_ns() + (again_s[i] - 1) * CLOCK_S);
    }
    silent.heard_ns = clock_now_ns();
    slurm_query_turn(&query, clock_now_ns());
    ck_assert(query.again_s == 0 && query.nodes_ns == 0);
    end();
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_loop_test(tc, limit, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, no_limit);
    tcase_add_test(tc, down);
    tcase_add_test(tc, stuck);
    tcase_add_test(tc, less_often);
}

SUITE_MAIN("slurm_ask", add_tests)
