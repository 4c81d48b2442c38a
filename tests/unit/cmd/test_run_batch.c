/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_batch.c - tests of cmd/run/request/run_batch.h */
#include "cmd/run/request/run_batch.h"
#include "lib/job/job_read.h"
#include "tests/unit/scratch.h"
#include "tests/unit/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void save(const char *step)
{
    cleanup_free char *folder = file_join(scratch, "slurm-c-7/%s", step);
    cleanup_free char *inside = file_join(folder, "MANIFEST");

    ck_assert_int_eq(file_mkdirs(folder, 0700, NULL), 0);
    ck_assert_int_eq(file_write_atomic(inside, "x", 1, 0600, NULL), 0);
}

/* What it went on from is nothing that it has saved itself: else it would come back for ever. */
START_TEST(advances)
{
    static const char *const command[] = { "true", NULL };
    struct slurm_batch b = { .job = "7", .name = "slurm-c-7", .newest = -1 };
    struct job *job = NULL;

    ck_assert_int_eq(job_from_command(command, "/", &job, NULL), 0);
    ck_assert_int_eq(job_set_text(job, "checkpoint.dir", scratch, "--set", NULL), 0);
    ck_assert(!run_batch_advanced(job, &b)); /* no folder even */
    save("step-00000010");
    ck_assert(run_batch_advanced(job, &b));
    b.newest = 10;
    ck_assert(!run_batch_advanced(job, &b));
    save("step-00000030.g1.part");
    ck_assert(!run_batch_advanced(job, &b));
    save("step-00000011");
    ck_assert(run_batch_advanced(job, &b));
    job_free(job);
}
END_TEST

static void on_term(int sig)
{
    (void)sig;
}

/* A batch script that does this with SIGTERM, and this process below it. */
static bool is_exposed_below(void (*handler)(int))
{
    char pid[24], byte;
    int ends[2];
    pid_t script;
    bool exposed;

    ck_assert_int_eq(pipe(ends), 0);
    script = fork();
    ck_assert_int_ge(script, 0);
    if (script == 0) {
        (void)signal(SIGTERM, handler);
        (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer's */
        _exit(write(ends[1], "", 1) == 1 && pause());
    }
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    (void)snprintf(pid, sizeof pid, "%d", (int)script);
    ck_assert_int_eq(setenv("SLURM_TASK_PID", pid, 1), 0);
    exposed = run_batch_is_exposed();
    ck_assert_int_eq(kill(script, SIGKILL), 0);
    return exposed;
}

/* A script of bash that says when its trap is there, and this process below it. */
static bool is_exposed_below_bash(const char *trap)
{
    cleanup_free char *text = NULL;
    char pid[24], byte;
    int ends[2], silence[2]; /* nobody writes to the second one */
    pid_t script;
    bool exposed;

    ck_assert_int_ge(asprintf(&text, "%s; echo; read -r line", trap), 0);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(pipe(silence), 0);
    script = fork();
    ck_assert_int_ge(script, 0);
    if (script == 0) {
        (void)dup2(ends[1], 1);
        (void)dup2(silence[0], 0);
        (void)execlp("bash", "bash", "-c", text, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    (void)snprintf(pid, sizeof pid, "%d", (int)script);
    ck_assert_int_eq(setenv("SLURM_TASK_PID", pid, 1), 0);
    exposed = run_batch_is_exposed();
    ck_assert_int_eq(kill(script, SIGKILL), 0);
    ck_assert_int_eq(waitpid(script, NULL, 0), script);
    return exposed;
}

/* Slurm's signals end a script that neither handles nor ignores them; in a step, or as the script's
 * own process, there is no such script.
 */
START_TEST(exposed)
{
    char own[24];

    ck_assert(!run_batch_is_exposed());
    ck_assert_int_eq(setenv("SLURM_JOB_ID", "7", 1), 0);
    ck_assert(is_exposed_below(SIG_DFL));
    ck_assert(!is_exposed_below(SIG_IGN));
    ck_assert(!is_exposed_below(on_term));
    ck_assert(is_exposed_below_bash("true"));
    ck_assert(is_exposed_below_bash("trap : EXIT"));
    ck_assert(!is_exposed_below_bash("trap '' TERM USR1; trap : EXIT"));
    ck_assert(!is_exposed_below_bash("trap : TERM USR1"));
    (void)snprintf(own, sizeof own, "%d", (int)getpid());
    ck_assert_int_eq(setenv("SLURM_TASK_PID", own, 1), 0);
    ck_assert(!run_batch_is_exposed());
    ck_assert_int_eq(setenv("SLURM_STEP_ID", "0", 1), 0);
    ck_assert(!is_exposed_below(SIG_DFL));
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, exposed);
    tcase_add_test(tc, advances);
}

SUITE_MAIN("run_batch", add_tests)
