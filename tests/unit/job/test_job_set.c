/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_set.c - jobs of the command line: a command alone, and flags over a file's keys */
#include "lib/model/job.h"
#include "suite.h"

#include "tests/unit/jobs.h"

/* Also where it is the group that is misspelt. */
START_TEST(misspelt)
{
    read_job("command: a\n");
    ck_assert_int_eq(job_set(job, "bacth.global", "3", "--set", &err), -EINVAL);
    ck_assert_str_eq(err.text, "--set: unknown key \"bacth.global\" in the job; did you mean "
                               "\"batch.global\"?");
}
END_TEST

/* A job that is resumed in another mode: its file has keys of the one before, and stays as it is.
 */
START_TEST(overruled)
{
    read_job("command: a\nsync: {mode: hybrid, groups: 2, period: 4, momentum: 0.9}\n");
    ck_assert_int_eq(job_set(job, "sync.mode", "sync", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), -EINVAL);
    ck_assert_str_eq(
        err.text,
        "train.yaml:2:33: \"sync.period\" is 4 and \"sync.mode\" is sync; synchronous training has "
        "one model, so nothing is averaged; add --set sync.period=auto --set sync.momentum=0 --set "
        "sync.groups=auto");
    ck_assert_int_eq(job_set(job, "sync.period", "auto", "--set", &err), 0);
    ck_assert_int_eq(job_set(job, "sync.momentum", "0", "--set", &err), 0);
    ck_assert_int_eq(job_set(job, "sync.groups", "auto", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), 0);
    ck_assert_int_eq(job_set(job, "sync.period", "4", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, "averaged; remove it") != NULL, "%s", err.text);
    read_job("command: a\nsync: {algorithm: hsgd}\n");
    ck_assert_int_eq(job_set(job, "sync.mode", "sync", "--set", &err), 0);
    ck_assert_int_eq(job_check(job, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, "; add --set sync.algorithm=auto") != NULL, "%s", err.text);
}
END_TEST

START_TEST(from_command)
{
    const char *const words[] = { "python3", "train me.py", NULL };
    const char *const nothing[] = { NULL };
    const char *const binary[] = { "a", "\xff", NULL };
    char text[64];

    ck_assert_int_eq(job_from_command(words, "/home/me/my job!", &job, NULL), 0);
    ck_assert_str_eq(job->name, "my-job-");
    ck_assert_ptr_null(job->file);
    job_value_text(job, "command", text, sizeof text);
    ck_assert_str_eq(text, "[python3, \"train me.py\"]");
    job_origin_text(job, "command", text, sizeof text);
    ck_assert_str_eq(text, "command line");
    /* Whole numbers are written as such. */
    ck_assert_int_eq(
        job_set(job, "profile.emulate", "[{rate: 100, a_ms: 20, c_ms: 0.5}]", "", NULL), 0);
    job_value_text(job, "profile.emulate", text, sizeof text);
    ck_assert_str_eq(text, "[{rate: 100, a_ms: 20, c_ms: 0.5}]");
    ck_assert_int_eq(job_from_command(nothing, "/", &job, NULL), -EINVAL);
    ck_assert_int_eq(job_from_command(binary, "/", &job, NULL), -EINVAL);
    ck_assert_int_eq(job_from_command(words, "relative", &job, NULL), -EINVAL);
}
END_TEST

/* A flag sets a map as a whole. */
START_TEST(inside)
{
    static const char *const rows[][2] = { { "env.HOME", "env" }, { "mpi.mca.a", "mpi.mca" } };
    char all[64];

    read_job("command: a\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(all, sizeof all, "; set \"%s\" as a whole, since it is one key", rows[i][1]);
        ck_assert_int_eq(job_set(job, rows[i][0], "b", "--set", &err), -EINVAL);
        ck_assert_msg(strstr(err.text, all) != NULL, "%s", err.text);
    }
    ck_assert_int_eq(job_set(job, "env", "{HOME: b}", "--set", &err), 0);
}
END_TEST

/* What nobody has asked for is not asked for by who reads the job's own description; values are as
 * they were.  In somebody else's file a comment says nothing.
 */
START_TEST(defaults_again)
{
    struct job *again = NULL;
    char *text;

    read_job("command: [a]\nrestarts: 2\n");
    text = job_text(job);
    ck_assert_int_eq(job_parse(text, strlen(text), "job.yaml", "/", &again, NULL), 0);
    ck_assert_int_eq(job_origin(again, "restarts").kind, JOB_FILE);
    ck_assert_int_eq(job_origin(again, "timeouts.hang").kind, JOB_DEFAULT);
    ck_assert_int_eq(again->timeouts.hang_ns, job->timeouts.hang_ns);
    ck_assert_int_eq(again->restarts, 2);
    job_free(again);
    text[2] = 'T';
    ck_assert_int_eq(job_parse(text, strlen(text), "job.yaml", "/", &again, NULL), 0);
    ck_assert_int_eq(job_origin(again, "timeouts.hang").kind, JOB_FILE);
    job_free(again);
    free(text);
}
END_TEST

static void add_tests(TCase *tc)
{
    jobs_add(tc);
    tcase_add_test(tc, inside);
    tcase_add_test(tc, defaults_again);
    tcase_add_test(tc, misspelt);
    tcase_add_test(tc, overruled);
    tcase_add_test(tc, from_command);
}

SUITE_MAIN("job_set", add_tests)
