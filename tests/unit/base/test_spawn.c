/* SPDX-License-Identifier: Apache-2.0 */
/* test_spawn.c - tests of lib/base/spawn.h */
#include "lib/base/spawn.h"

#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What children ask for in between: the last pid of PR_SET_PTRACER, in memory that is shared. */
static long *ptracer;

int prctl(int option, ...)
{
    unsigned long arg[4];
    va_list rest;

    va_start(rest, option);
    for (size_t i = 0; i < sizeof arg / sizeof *arg; i++)
        arg[i] = va_arg(rest, unsigned long);
    va_end(rest);
    if (ptracer && option == PR_SET_PTRACER)
        *ptracer = (long)arg[0];
    return (int)syscall(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3]);
}

static pid_t start(const char *script)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    struct spawn s = { .argv = argv, .in = -1, .out = -1, .err = 2, .own_group = true };
    pid_t pid = -1;

    ck_assert_int_eq(spawn_start(&s, &pid, NULL), 0);
    return pid;
}

static int finish(pid_t pid)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return spawn_exit_code(status);
}

START_TEST(exit_codes)
{
    ck_assert_int_eq(finish(start("exit 7")), 7);
    ck_assert_int_eq(finish(start("kill -SEGV $$")), 139);
}
END_TEST

/* What this process blocks is not blocked in the program, unless it was asked for. */
START_TEST(blocked)
{
    static const int both[] = { SIGTERM, SIGUSR1, 0 };
    static const char *const want[] = { "SigBlk:.0000000000000000", "SigBlk:.0000000000004200" };
    sigset_t set, before;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, &before);
    for (int i = 0; i < 2; i++) {
        const char *argv[] = { "grep", "-q", want[i], "/proc/self/status", NULL };
        struct spawn s = {
            .argv = argv, .in = -1, .out = -1, .err = 2, .blocked = i ? both : NULL
        };
        pid_t pid = -1;

        ck_assert_int_eq(spawn_start(&s, &pid, NULL), 0);
        ck_assert_int_eq(finish(pid), 0);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}
END_TEST

START_TEST(cannot_start)
{
    const char *missing[] = { "no-such-program-at-all", NULL };
    const char *folder[] = { "/tmp", NULL };
    const char *true_[] = { "true", NULL };
    struct spawn s = { .argv = missing, .in = -1, .out = -1, .err = -1 };
    struct eddis_error err = { 0 };
    pid_t pid = -1;

    ck_assert_int_eq(spawn_start(&s, &pid, &err), -ENOENT);
    ck_assert_str_eq(err.text, "no program 'no-such-program-at-all' in PATH");
    s.argv = folder;
    ck_assert_int_eq(spawn_start(&s, &pid, &err), -EACCES);
    s.argv = true_;
    s.dir = "/no/such/folder";
    ck_assert_int_eq(spawn_start(&s, &pid, &err), -ENOENT);
    ck_assert_int_eq(pid, -1);
}
END_TEST

/* The child has its three descriptors and no other but what it is given, although this process
 * holds some. */
START_TEST(descriptors)
{
    int fds[2];
    char got[256] = "";
    const char *argv[] = { "sh", "-c", "ls -v /proc/self/fd | tr '\\n' ' '", NULL };
    struct spawn s = { .argv = argv, .in = -1, .err = -1 };
    pid_t pid;

    ck_assert_int_eq(pipe(fds), 0); /* not close-on-exec on purpose */
    s.out = dup(fds[1]);
    close(fds[1]);
    ck_assert_int_eq(spawn_start(&s, &pid, NULL), 0);
    close(s.out);
    ck_assert_int_eq(finish(pid), 0);
    ck_assert_int_gt(read(fds[0], got, sizeof got - 1), 0);
    ck_assert_str_eq(got, "0 1 2 3 "); /* the last is ls's own */
    close(fds[0]);
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    s.also = fcntl(fds[0], F_DUPFD_CLOEXEC, 60);
    s.out = fds[1];
    ck_assert_int_eq(s.also, 60);
    ck_assert_int_eq(spawn_start(&s, &pid, NULL), 0);
    ck_assert_int_eq(finish(pid), 0);
    memset(got, 0, sizeof got);
    ck_assert_int_gt(read(fds[0], got, sizeof got - 1), 0);
    ck_assert_str_eq(got, "0 1 2 3 60 ");
    close(s.also);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

/* Wherever descriptors run out, the caller hears it: the program ran, or -EMFILE, never a bare 127.
 */
START_TEST(few_descriptors)
{
    const char *argv[] = { "true", NULL };
    struct spawn s = { .argv = argv, .in = -1, .out = -1, .err = -1 };
    struct rlimit limit;
    int first = dup(0), refused = 0, ran = 0;

    close(first);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int n = first; n < first + 10; n++) {
        struct eddis_error err = { 0 };
        pid_t pid;

        limit.rlim_cur = (rlim_t)n;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        if (spawn_start(&s, &pid, &err) < 0) {
            ck_assert_ptr_nonnull(strstr(err.text, "Too many open files"));
            refused++;
            continue;
        }
        ck_assert_int_eq(finish(pid), 0);
        ran++;
    }
    ck_assert(refused > 0 && ran > 0);
}
END_TEST

START_TEST(stop_ladder)
{
    static const struct spawn_rung rungs[] = {
        { SIGTERM, 200 * CLOCK_MS },
        { SIGKILL, 5 * CLOCK_S },
    };
    int status = 0;
    pid_t deaf = start("trap '' TERM; kill -STOP $$; while :; do sleep 0.05; done");
    pid_t good = start("sleep 1000");

    ck_assert_int_eq(waitpid(deaf, &status, WUNTRACED), deaf);
    ck_assert(WIFSTOPPED(status));
    ck_assert_int_eq(kill(deaf, SIGCONT), 0);
    ck_assert_int_eq(spawn_stop(-deaf, rungs, 2, &status, NULL), 0);
    ck_assert_int_eq(spawn_exit_code(status), 128 + SIGKILL);
    ck_assert_int_eq(spawn_stop(-good, rungs, 2, &status, NULL), 0);
    ck_assert_int_eq(spawn_exit_code(status), 128 + SIGTERM);
    good = start("sleep 1000");
    ck_assert_int_eq(spawn_stop(good, NULL, 0, &status, NULL), -ETIMEDOUT);
    ck_assert_int_eq(spawn_stop(-good, rungs + 1, 1, &status, NULL), 0);
}
END_TEST

/* Double fork, own session: an orphan comes to the subreaper and is found there. */
START_TEST(whole_tree)
{
    struct proctree_process *all = NULL;
    int n;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    start("setsid sh -c 'sleep 100 & sleep 100 & exit' & sleep 100");
    for (int i = 0; i < 6000; i++) {
        n = proctree_list(getpid(), &all, NULL);
        free(all);
        if (n >= 4)
            break;
        clock_sleep_until_ns(clock_now_ns() + 10 * CLOCK_MS);
    }
    ck_assert_int_ge(n, 4);
    ck_assert_int_eq(proctree_kill_all(clock_now_ns() + 60 * CLOCK_S, NULL), 0);
    ck_assert_int_eq(proctree_list(getpid(), &all, NULL), 0);
    ck_assert_ptr_null(all);
}
END_TEST

/* A name is the process's own choice, and hides it from nobody. */
START_TEST(strange_names)
{
    static const char *const names[] = { "a\nb", "x) Z 1 (", "\n", ") R 1\n", "" };
    struct proctree_process *all = NULL;
    int64_t switches;
    int ready[2];
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            prctl(PR_SET_NAME, names[i]);
            (void)!write(ready[1], "", 1);
            for (;;)
                pause();
        }
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        ck_assert_int_eq(proctree_list(getpid(), &all, NULL), 1);
        ck_assert_int_eq(all[0].pid, pid);
        free(all);
        ck_assert_int_eq(kill(pid, SIGSTOP), 0);
        ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
        ck_assert_int_eq(proctree_state(pid), 'T');
        switches = proctree_switches(pid);
        ck_assert_int_gt(switches, 0);
        ck_assert_int_eq(kill(pid, SIGCONT), 0);
        ck_assert_int_eq(waitpid(pid, NULL, WCONTINUED), pid);
        ck_assert_int_eq(kill(pid, SIGSTOP), 0);
        ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
        /* Who waits hears of it a moment before the processor is given up. */
        for (int64_t end = clock_now_ns() + 60 * CLOCK_S; proctree_switches(pid) <= switches;)
            ck_assert_int_lt(clock_now_ns(), end);
        ck_assert_int_eq(proctree_kill_all(clock_now_ns() + 60 * CLOCK_S, NULL), 0);
        ck_assert_int_eq(proctree_state(pid), 0);
        ck_assert_int_eq(proctree_switches(pid), -1);
    }
    close(ready[0]);
    close(ready[1]);
}
END_TEST

START_TEST(signal_except)
{
    pid_t spared = start("sleep 100 & kill -STOP $$; wait"), other = start("exec sleep 100");

    ck_assert_int_eq(waitpid(spared, NULL, WUNTRACED), spared);
    ck_assert_int_eq(proctree_signal(getpid(), SIGKILL, spared, NULL), 1);
    ck_assert_int_eq(finish(other), 128 + SIGKILL);
    ck_assert_int_eq(waitpid(spared, NULL, WNOHANG), 0);
    ck_assert_int_eq(proctree_kill_all(clock_now_ns() + 60 * CLOCK_S, NULL), 0);
}
END_TEST

/* A child names who may look into it, itself and before the program: the kernel keeps that over
 * exec and not over fork.  That is nothing to fail for where there is no Yama.
 */
START_TEST(may_be_looked_at)
{
    const char *argv[] = { "true", NULL };
    struct spawn s = { .argv = argv, .in = -1, .out = -1, .err = 2, .ptracer = _i ? getpid() : 0 };
    pid_t pid = -1;

    ptracer =
        mmap(NULL, sizeof *ptracer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(ptracer, MAP_FAILED);
    ck_assert_int_eq(spawn_start(&s, &pid, NULL), 0);
    ck_assert_int_eq(finish(pid), 0);
    ck_assert_int_eq(*ptracer, s.ptracer);
    (void)munmap(ptracer, sizeof *ptracer);
    ptracer = NULL;
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, exit_codes);
    tcase_add_test(tc, blocked);
    tcase_add_test(tc, cannot_start);
    tcase_add_test(tc, descriptors);
    tcase_add_test(tc, few_descriptors);
    tcase_add_test(tc, stop_ladder);
    tcase_add_test(tc, whole_tree);
    tcase_add_test(tc, strange_names);
    tcase_add_test(tc, signal_except);
    tcase_add_loop_test(tc, may_be_looked_at, 0, 2);
}

SUITE_MAIN("spawn", add_tests)
