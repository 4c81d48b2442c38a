/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_signals.c - tests of lib/worker/slurm_signals.h */
#include "lib/worker/slurm_signals.h"

#include "lib/eddis.h"
#include "suite.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passing[] = { SIGTERM, SIGUSR1 };

enum { PASSING = 2 };

/* Check has handlers of its own. */
static void set_up(void)
{
    for (int i = 0; i < PASSING; i++)
        (void)signal(passing[i], SIG_DFL);
}

static int finish(pid_t pid)
{
    int status = 0;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* A process that sends both signals to its parent, when that lets it by closing the pipe. */
static pid_t sender(int wait[2])
{
    pid_t parent = getpid(), pid = fork();
    char byte;

    ck_assert_int_ge(pid, 0);
    if (pid > 0) {
        (void)close(wait[0]);
        return pid;
    }
    (void)close(wait[1]);
    (void)!read(wait[0], &byte, 1);
    for (int i = 0; i < PASSING; i++)
        (void)kill(parent, passing[i]);
    _exit(0);
}

START_TEST(of_slurm)
{
    int wait[2];
    pid_t pid;

    ck_assert_int_eq(pipe(wait), 0);
    pid = sender(wait);
    slurm_signals_start(pid);
    (void)close(wait[1]);
    ck_assert_int_eq(finish(pid), 0);
    slurm_signals_stop();
}
END_TEST

/* Who stands in Slurm's place here is not the one who sends: what waits for a signal ends by it. */
static pid_t waiting(void (*before)(void))
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    if (before)
        before();
    for (;;)
        (void)pause();
}

START_TEST(of_others)
{
    pid_t pid;

    slurm_signals_start(1);
    pid = waiting(NULL);
    ck_assert_int_eq(kill(pid, passing[_i]), 0);
    ck_assert_int_eq(finish(pid), passing[_i]);
    slurm_signals_stop();
}
END_TEST

static void raise_term(void)
{
    (void)raise(SIGTERM);
}

START_TEST(of_itself)
{
    slurm_signals_start(1);
    ck_assert_int_eq(finish(waiting(raise_term)), SIGTERM);
    slurm_signals_stop();
}
END_TEST

static void own(int sig)
{
    (void)sig;
}

static void check(int sig, void (*handler)(int))
{
    struct sigaction now;

    ck_assert_int_eq(sigaction(sig, NULL, &now), 0);
    ck_assert(!(now.sa_flags & SA_SIGINFO) && now.sa_handler == handler);
}

/* What the program has set before, or sets meanwhile, stays. */
START_TEST(of_the_program)
{
    (void)signal(SIGTERM, own);
    (void)signal(SIGUSR1, SIG_IGN);
    slurm_signals_start(1);
    check(SIGTERM, own);
    check(SIGUSR1, SIG_IGN);
    slurm_signals_stop();
    check(SIGTERM, own);
    check(SIGUSR1, SIG_IGN);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGUSR1, SIG_DFL);
    slurm_signals_start(1);
    (void)signal(SIGUSR1, own);
    slurm_signals_stop();
    check(SIGTERM, SIG_DFL);
    check(SIGUSR1, own);
}
END_TEST

static void leave(int sig)
{
    (void)sig;
    _exit(7);
}

/* In a process that the worker has made a runtime has SIGTERM from others as before. */
START_TEST(of_a_runtime)
{
    int status = 0, ready[2];
    pid_t pid;
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)signal(SIGTERM, leave);
        slurm_signals_take(getpid());
        slurm_signals_take(getpid());
        (void)kill(getpid(), SIGTERM); /* it stands in Slurm's place itself */
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    (void)close(ready[0]);
    (void)close(ready[1]);
}
END_TEST

START_TEST(counted)
{
    struct sigaction now;

    slurm_signals_start(1);
    slurm_signals_start(1);
    slurm_signals_stop();
    ck_assert_int_eq(sigaction(SIGTERM, NULL, &now), 0);
    ck_assert(now.sa_flags & SA_SIGINFO);
    slurm_signals_stop();
    check(SIGTERM, SIG_DFL);
    check(SIGUSR1, SIG_DFL);
}
END_TEST

/* As eddis_open reads it from what the agent has set. */
START_TEST(of_a_worker)
{
    const struct eddis_options o = { .size = sizeof o };
    struct sigaction now;
    struct eddis *e;

    ck_assert_int_eq(setenv("EDDIS_SLURM_PID", "1", 1), 0);
    ck_assert_int_eq(eddis_open(&o, &e, NULL), 0);
    for (int i = 0; i < PASSING; i++) {
        ck_assert_int_eq(sigaction(passing[i], NULL, &now), 0);
        ck_assert(now.sa_flags & SA_SIGINFO);
    }
    ck_assert_int_eq(eddis_close(e, NULL), 0);
    check(SIGTERM, SIG_DFL);
    check(SIGUSR1, SIG_DFL);
    ck_assert_int_eq(unsetenv("EDDIS_SLURM_PID"), 0); /* not under Slurm */
    ck_assert_int_eq(eddis_open(&o, &e, NULL), 0);
    check(SIGTERM, SIG_DFL);
    check(SIGUSR1, SIG_DFL);
    ck_assert_int_eq(eddis_close(e, NULL), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, of_slurm);
    tcase_add_loop_test(tc, of_others, 0, PASSING);
    tcase_add_test(tc, of_itself);
    tcase_add_test(tc, of_the_program);
    tcase_add_test(tc, of_a_runtime);
    tcase_add_test(tc, counted);
    tcase_add_test(tc, of_a_worker);
}

SUITE_MAIN("slurm_signals", add_tests)
