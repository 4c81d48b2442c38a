/* SPDX-License-Identifier: Apache-2.0 */
/* test_status_fetch.c - tests of agents/job/status_fetch.h */
#include "suite.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stack_scan.h"

#include "agents/job/status_fetch.h"

#include "lib/base/file.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENDING = 1000 }; /* the step from which the driver knows how it will end */

static struct job_folder f;
static struct eddis_error err;

static void set_up(void)
{
    setenv("XDG_STATE_HOME", scratch, 1);
    ck_assert_int_eq(job_folder_make("digits", NULL, &f, NULL), 0);
}

static void write_file(const char *name, const char *text, size_t n)
{
    char *path = file_join(f.path, "%s", name);

    ck_assert_int_eq(file_append(path, text, n, 0600, NULL), 0);
    free(path);
}

/* A status at this step, as text. */
static char *text_at(int64_t step, enum job_state now, bool one_line)
{
    struct job_status s;
    char *text;

    job_status_init(&s);
    strcpy(s.job, f.id);
    strcpy(s.name, "digits");
    s.state = now;
    strcpy(s.reason, step == ENDING ? "ok" : "");
    s.exit_code = step == ENDING ? 0 : -1;
    s.steps_done = step;
    s.wall_s = (double)step;
    text = one_line ? job_status_line(&s, NULL, 0) : job_status_text(&s);
    job_status_fini(&s);
    return text;
}

static void add_line(char *line)
{
    write_file("metrics.jsonl", line, strlen(line));
    write_file("metrics.jsonl", "\n", 1);
    free(line);
}

static void add_metrics_of(int64_t step, enum job_state now)
{
    add_line(text_at(step, now, true));
}

static void add_metrics(int64_t step)
{
    add_metrics_of(step, JOB_RUNNING);
}

static void found(enum job_state now, int64_t step)
{
    struct job_status s;

    ck_assert_msg(status_from_files(&f, &s, &err) == 0, "%s", err.text);
    ck_assert_int_eq(s.state, now);
    ck_assert_int_eq(s.steps_done, step);
    ck_assert_str_eq(s.job, f.id);
    ck_assert_str_eq(s.name, "digits");
    job_status_fini(&s);
}

START_TEST(files)
{
    struct job_status s;
    char *summary;

    found(JOB_LOST, 0); /* an empty folder of a job's name */
    struct job_folder any = f;

    strcpy(any.id, "photos"); /* and one that may be anything */
    ck_assert_int_eq(status_fetch(&any, &s, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "not a job's folder"));
    write_file("job.yaml", "name: x\n", 8);
    ck_assert_int_eq(status_fetch(&any, &s, &err), 0);
    ck_assert_int_eq(s.state, JOB_LOST);
    job_status_fini(&s);
    write_file("metrics.jsonl", "{\"schema", 9);
    found(JOB_LOST, 0); /* not one whole line */
    write_file("metrics.jsonl", "\n", 1);
    add_metrics(1);
    add_metrics(2);
    found(JOB_LOST, 2);
    write_file("metrics.jsonl", "{\"half a line", 13);
    found(JOB_LOST, 2);
    write_file("metrics.jsonl", "\n\n\n", 3);
    found(JOB_LOST, 2);
    for (int64_t i = 3; i < 400; i++) /* more than is looked at */
        add_metrics(i);
    found(JOB_LOST, 399);
    ck_assert_int_eq(status_glance(&f, &s, NULL), 0);
    ck_assert_int_eq(s.state, JOB_LOST);
    job_status_fini(&s);
    summary = text_at(500, JOB_ENDED, false);
    write_file("summary.json", summary, strlen(summary));
    found(JOB_ENDED, 500);
    ck_assert_int_eq(status_fetch(&f, &s, &err), 0);
    ck_assert_int_eq(s.state, JOB_ENDED);
    job_status_fini(&s);
    free(summary);
    write_file("summary.json", "x", 1);
    ck_assert_int_eq(status_from_files(&f, &s, &err), -EINVAL);
}
END_TEST

/* Without a summary the last metrics tell whether the job has ended, not only how it should. */
START_TEST(no_summary)
{
    struct job_status s;

    add_metrics(ENDING);
    found(JOB_LOST, ENDING);
    ck_assert_int_eq(status_from_files(&f, &s, &err), 0);
    ck_assert_str_eq(s.reason, "");
    ck_assert_int_eq(s.exit_code, -1);
    job_status_fini(&s);
    add_metrics_of(ENDING, JOB_ENDED);
    found(JOB_ENDED, ENDING);
    ck_assert_int_eq(status_from_files(&f, &s, &err), 0);
    ck_assert_str_eq(s.reason, "ok");
    ck_assert_str_eq(s.message, "");
    job_status_fini(&s);
}
END_TEST

/* The driver's process lives but nobody listens at its address: the folder is shown, and why. */
START_TEST(driver_does_not_answer)
{
    struct job_driver d = { .url = "http://127.0.0.1:9", .token = "t" };
    struct job_status s;

    ck_assert_int_eq(job_driver_write(&f, &d, NULL), 0);
    ck_assert_int_eq(status_fetch(&f, &s, &err), 2);
    ck_assert_int_ne(strlen(err.text), 0);
    job_status_fini(&s);
    ck_assert_int_eq(status_glance(&f, &s, NULL), 0);
    ck_assert_int_eq(s.state, JOB_STARTING);
    job_status_fini(&s);
    add_metrics(7);
    ck_assert_int_eq(status_glance(&f, &s, NULL), 0);
    ck_assert_int_eq(s.state, JOB_RUNNING);
    job_status_fini(&s);
}
END_TEST

/* A line of metrics.jsonl with the rows of these two workers of a generation. */
static void add_rows(int64_t step, int64_t generation, int one, int other)
{
    struct job_status s;

    job_status_init(&s);
    ck_assert_int_eq(job_status_resize(&s, 5, NULL), 0);
    strcpy(s.job, f.id);
    strcpy(s.name, "digits");
    s.state = JOB_RUNNING;
    s.generation = generation;
    s.steps_done = step;
    s.start_s = (double)time(NULL) - 100;
    s.wall_s = (double)step;
    for (int i = 0; i < 5; i++)
        s.worker[i].steps_done = step;
    add_line(job_status_line(&s, (const int[]){ one, other }, 2));
    job_status_fini(&s);
}

/* The last table of a driver that is stopped: the newest row of each worker, and how old it is. */
START_TEST(driver_is_stopped)
{
    static const int64_t newest[] = { 14, 13, 14, 13 };
    struct job_status s;
    struct job_driver d = { .url = "http://127.0.0.1:9", .token = "t" };
    pid_t pid = fork();
    int status;

    if (pid == 0) { /* the driver */
        ck_assert_int_eq(job_driver_write(&f, &d, NULL), 0);
        (void)raise(SIGSTOP);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    add_rows(11, 1, 0, 4); /* of an earlier generation, which had a worker more */
    add_rows(12, 2, 0, 1);
    add_rows(13, 2, 3, 1);
    add_rows(14, 2, 0, 2);
    write_file("metrics.jsonl", "{\"half a line", 13);
    ck_assert_int_eq(status_fetch(&f, &s, &err), 2);
    ck_assert_msg(strstr(err.text, "is suspended; run kill -CONT") != NULL, "%s", err.text);
    ck_assert_msg(strstr(err.text, " s old") != NULL, "%s", err.text);
    ck_assert_int_eq(s.steps_done, 14);
    ck_assert(status_age_s(&s) >= 85);
    ck_assert_int_eq(s.n_workers, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(s.worker[i].rank, i);
        ck_assert_int_eq(s.worker[i].steps_done, newest[i]);
    }
    job_status_fini(&s);
    ck_assert_int_eq(status_glance(&f, &s, NULL), 0);
    ck_assert_int_eq(s.n_workers, 0);
    job_status_fini(&s);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
}
END_TEST

static struct job_status looked;
static struct job_folder newest;
static int look_rc;

static void fetch(void)
{
    look_rc = status_fetch(&f, &looked, NULL);
}

static void glance(void)
{
    look_rc = status_glance(&f, &looked, NULL);
}

static void find_newest(void)
{
    look_rc = status_newest(&newest, NULL);
}

static const struct {
    void (*fn)(void);
    int rc;
} look_rows[] = { { fetch, 2 }, { glance, 0 }, { find_newest, 0 } };

/* Neither who asks a driver nor who looks whether it runs leaves its tokens on the stack. */
START_TEST(tokens_are_wiped)
{
    static const char *const secrets[] = { "first-secret", "second-secret" };
    const struct job_driver d = { .url = "http://127.0.0.1:9",
                                  .token = "first-secret",
                                  .owner = "second-secret" };

    ck_assert_int_eq(job_driver_write(&f, &d, NULL), 0);
    for (int i = 0; i < 2; i++) {
        job_status_init(&looked);
        ck_assert(!stack_scan_finds(look_rows[_i].fn, secrets[i]));
        ck_assert_int_eq(look_rc, look_rows[_i].rc);
        job_status_fini(&looked);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, files);
    tcase_add_test(tc, no_summary);
    tcase_add_test(tc, driver_does_not_answer);
    tcase_add_test(tc, driver_is_stopped);
    tcase_add_loop_test(tc, tokens_are_wiped, 0, sizeof look_rows / sizeof *look_rows);
}

SUITE_MAIN("status_fetch", add_tests)
