/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_fd.c - tests of lib/base/process_fd.h, with the kernel's call and without it */
#include "lib/base/process_fd.h"

#include "lib/base/cleanup.h"
#include "lib/base/pidfd_call.h"
#include "lib/base/proctree.h"
#include "suite.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

/* From here on the kernel answers with this to the two calls; 0: as it is.  Returns false where no
 * filter can be had.
 */
static bool refuse(int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = sizeof code / sizeof *code, .filter = code };

    return !error || (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
                      pidfd_call_open(getpid()) == -error);
}

static const int errors[] = { 0, ENOSYS, EPERM };

static pid_t sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    ck_assert_int_gt(pid, 0);
    return pid;
}

static int shows(int fd, int wait_ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, wait_ms);
}

/* It ends, and waits to be reaped; from then on no signal reaches whoever has its number. */
START_TEST(end)
{
    pid_t pid = sleeper(), other = sleeper();
    cleanup_fd int fd = -1, second = -1, others = -1;

    if (!refuse(errors[_i]))
        return;
    fd = process_fd_open(pid);
    second = process_fd_open(pid);
    others = process_fd_open(other);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_ge(second, 0);
    ck_assert_int_eq(shows(fd, 0), 0);
    ck_assert_int_eq(process_fd_signal(fd, pid, SIGSTOP), 0);
    ck_assert_int_eq(process_fd_signal(fd, pid, SIGCONT), 0);
    ck_assert_int_eq(process_fd_signal(fd, pid, 0), 0);
    ck_assert_int_eq(shows(fd, 120), 0);
    ck_assert_int_eq(process_fd_signal(fd, pid, SIGKILL), 0);
    ck_assert_int_eq(shows(fd, PATIENCE_MS), 1);
    ck_assert_int_eq(shows(second, PATIENCE_MS), 1);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(process_fd_signal(fd, errors[_i] ? other : pid, SIGKILL), -ESRCH);
    ck_assert_int_eq(shows(others, 120), 0);
    ck_assert_int_eq(shows(fd, 0), 1); /* still */
    ck_assert_int_eq(process_fd_open(pid), -1);
    ck_assert_int_eq(errno, ESRCH);
    ck_assert_int_eq(process_fd_signal(-1, other, SIGKILL), -ESRCH);
    ck_assert_int_eq(kill(other, SIGKILL), 0);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
}
END_TEST

/* A child that waits to be reaped is there, and its end shows at once. */
START_TEST(ended_before)
{
    pid_t pid = fork();
    cleanup_fd int fd = -1;
    siginfo_t info;

    if (pid == 0)
        _exit(0);
    ck_assert_int_gt(pid, 0);
    if (!refuse(errors[_i]))
        return;
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    fd = process_fd_open(pid);
    ck_assert_msg(fd >= 0, "errno %d", errno);
    ck_assert_int_eq(shows(fd, 0), 1);
    if (errors[_i])
        ck_assert_int_eq(process_fd_signal(fd, pid, SIGKILL), -ESRCH);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(process_fd_open(pid), -1);
    ck_assert_int_eq(errno, ESRCH);
}
END_TEST

/* Neither descriptors nor threads stay of what nobody watches any more. */
START_TEST(closed)
{
    pid_t pid = sleeper();
    int first = dup(0), last;

    close(first);
    if (!refuse(errors[_i]))
        return;
    for (int i = 0; i < 50; i++) {
        int fd = process_fd_open(pid);

        ck_assert_int_ge(fd, 0);
        close(fd);
    }
    for (int tries = 0; tries < 600; tries++) { /* threads see it, one after the other */
        last = dup(0);
        close(last);
        if (last == first)
            break;
        usleep(100000);
    }
    ck_assert_int_eq(last, first);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
END_TEST

/* By its start as well as by its number. */
START_TEST(sent)
{
    struct proctree_process p = { .pid = sleeper() };
    int status;

    if (!refuse(errors[_i]))
        return;
    p.start = proctree_start(p.pid) + 1;
    ck_assert_int_eq(proctree_send(&p, SIGKILL), -ESRCH);
    p.start--;
    ck_assert_int_eq(proctree_send(&p, SIGKILL), 0);
    ck_assert_int_eq(waitpid(p.pid, &status, 0), p.pid);
    ck_assert(WIFSIGNALED(status));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, end, 0, sizeof errors / sizeof *errors);
    tcase_add_loop_test(tc, ended_before, 0, sizeof errors / sizeof *errors);
    tcase_add_loop_test(tc, closed, 0, sizeof errors / sizeof *errors);
    tcase_add_loop_test(tc, sent, 0, sizeof errors / sizeof *errors);
}

SUITE_MAIN("process_fd", add_tests)
