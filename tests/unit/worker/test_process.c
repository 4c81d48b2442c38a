/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - the last words of a process that eddis_abort ends */
#include "lib/eddis.h"
#include "suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE = 7 };

/* A child whose standard output is the write end of a pipe, and fully buffered, does `end`. */
static pid_t child(int out, void (*end)(void))
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        static char buffer[BUFSIZ];

        (void)alarm(60); /* which the library may set anew */
        (void)dup2(out, STDOUT_FILENO);
        (void)setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
        end();
        _exit(1);
    }
    return pid;
}

static int code_of(pid_t pid)
{
    int status = 0;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void speak(void)
{
    (void)fputs("last words", stdout);
    eddis_abort(NULL, CODE);
}

static void *hold(void *arg)
{
    flockfile(arg);
    (void)pause();
    return NULL;
}

/* Another thread is amidst a write that does not end. */
static void speak_in_vain(void)
{
    pthread_t thread;

    (void)fputs("last words", stdout);
    ck_assert_int_eq(pthread_create(&thread, NULL, hold, stdout), 0);
    while (ftrylockfile(stdout) == 0) {
        funlockfile(stdout);
        (void)usleep(1000);
    }
    eddis_abort(NULL, CODE);
}

START_TEST(test_words_are_kept)
{
    char said[32] = "";
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(code_of(child(ends[1], speak)), CODE);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(read(ends[0], said, sizeof said - 1), 10);
    ck_assert_str_eq(said, "last words");
    (void)close(ends[0]);
    (void)close(ends[1]);
}
END_TEST

/* Nobody reads, or the buffer's lock is held: the end comes all the same, with the same code.  A
 * signal that the program has blocked or handles is no hindrance.
 */
START_TEST(test_no_wait_without_end)
{
    char page[4096] = "";
    sigset_t all, old;
    pid_t unread, locked;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], page, sizeof page) > 0)
        ;
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, 0), 0);
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &old);
    unread = child(ends[1], speak);
    locked = child(ends[1], speak_in_vain);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    ck_assert_int_eq(code_of(unread), CODE);
    ck_assert_int_eq(code_of(locked), CODE);
    (void)close(ends[0]);
    (void)close(ends[1]);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, test_words_are_kept);
    tcase_add_test(tc, test_no_wait_without_end);
}

SUITE_MAIN("process", add_tests)
