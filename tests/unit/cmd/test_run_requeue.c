/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_requeue.c - tests of cmd/run/run_requeue.h, with a script in the place of scontrol */
#include "cmd/run/run_requeue.h"
#include "tests/unit/scratch.h"
#include "tests/unit/suite.h"

#include <string.h>

/* Says this of the job, and writes down what else it is asked for. */
static void make_scontrol(const char *state, const char *preempted)
{
    scratch_program("scontrol",
                    "case \"$*\" in\n"
                    "'-o show job 7') echo 'JobId=7 JobName=x UserId=u(1) "
                    "JobState=%s Reason=None Requeue=1 SuspendTime=None "
                    "PreemptEligibleTime=2026-11-27T10:00:00 PreemptTime=%s "
                    "NodeList=n1';;\n"
                    "*) echo \"$@\" >>%s/asked;;\n"
                    "esac",
                    state, preempted, scratch);
}

/* Of a job that Slurm preempts the time was enough: it comes back when Slurm has room for it. */
static const struct {
    const char *state, *preempted;
    enum run_requeue due;
    bool advanced, back;
} rows[] = {
    { "RUNNING", "None", RUN_REQUEUE_DUE, true, true },
    { "RUNNING", "None", RUN_REQUEUE_DUE, false, false },
    { "RUNNING", "None", RUN_REQUEUE_BY_TERM, true, false },
    { "RUNNING", "2026-11-27T10:00:10", RUN_REQUEUE_BY_TERM, true, true },
    { "RUNNING", "2026-11-27T10:00:10", RUN_REQUEUE_BY_TERM, false, true },
    { "RUNNING", "2026-11-27T10:00:10", RUN_REQUEUE_DUE, false, true },
    { "TIMEOUT", "None", RUN_REQUEUE_BY_TERM, true, true },
    { "TIMEOUT", "None", RUN_REQUEUE_BY_TERM, false, false },
    { "CANCELLED", "None", RUN_REQUEUE_BY_TERM, true, false },
    { "PREEMPTED", "2026-11-27T10:00:10", RUN_REQUEUE_BY_TERM, true, false },
};

START_TEST(put_back)
{
    const struct slurm_batch b = { .job = "7", .name = "slurm-c-7", .newest = 10 };
    cleanup_free char *asked = NULL;

    make_scontrol(rows[_i].state, rows[_i].preempted);
    run_requeue(&b, rows[_i].due, rows[_i].advanced, false);
    asked = scratch_content("asked");
    if (rows[_i].back)
        ck_assert_str_eq(asked, "requeue 7\n");
    else
        ck_assert_ptr_null(asked);
}
END_TEST

static const struct {
    const char *message;
    enum run_requeue due;
} stops[] = {
    { "stopped by SIGTERM on n1 at step 7", RUN_REQUEUE_BY_TERM },
    { "stopped by Slurm's time limit (SIGTERM on n1) at step 7", RUN_REQUEUE_BY_TERM },
    { "stopped by Slurm's time limit (SIGUSR1) at step 7", RUN_REQUEUE_DUE },
    { "stopped by SIGUSR1 at step 7", RUN_REQUEUE_DUE },
};

START_TEST(due)
{
    struct job_status s;

    job_status_init(&s);
    (void)snprintf(s.reason, sizeof s.reason, "preempted");
    (void)snprintf(s.message, sizeof s.message, "%s", stops[_i].message);
    ck_assert_int_eq(run_requeue_due(&s, 75), stops[_i].due);
    ck_assert_int_eq(run_requeue_due(&s, 143), RUN_REQUEUE_NOT);
    job_status_fini(&s);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_loop_test(tc, put_back, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, due, 0, sizeof stops / sizeof *stops);
}

SUITE_MAIN("run_requeue", add_tests)
