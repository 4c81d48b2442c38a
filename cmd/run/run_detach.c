/* SPDX-License-Identifier: Apache-2.0 */
/* run_detach.c - runs a job in a background process */
#include "run_detach.h"

#include "lib/base/cleanup.h"
#include "lib/base/descriptors.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that a terminal or a batch system sends to the visible process; they are passed on to the
 * child.
 */
static const int handed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

/* Set *set to those signals in handed_on that this process does not ignore. */
static void fill(sigset_t *set)
{
    struct sigaction now;

    sigemptyset(set);
    for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++)
        if (sigaction(handed_on[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(set, handed_on[i]);
}

/* Block until the child ends, before it went to the background. Return its exit code, 128 + the
 * signal that ended it, or 1 if it cannot be waited for.
 */
static int code_of(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 1;
    return spawn_exit_code(status);
}

/* Block until the child writes to the pipe `up` that the workers are up, or closes it. Pass signals
 * from the signalfd `signals` on to the child. Return the exit code of this process: 0 if the
 * workers are up; the child's if it has ended before; 1 if poll fails. The child's own timeouts
 * limit the wait.
 */
static int wait_for_up(pid_t child, int up, int signals)
{
    struct pollfd fds[] = { { .fd = up, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
    struct signalfd_siginfo i;
    ssize_t n;
    char word;

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return 1;
        while (read(signals, &i, sizeof i) == sizeof i)
            (void)kill(child, (int)i.ssi_signo);
        if (!fds[0].revents)
            continue;
        n = read(up, &word, 1);
        if (n < 0 && errno == EINTR)
            continue;
        return n == 1 ? 0 : code_of(child);
    }
}

/* Run the parent's side: block until the child's workers are up or the child ends, and set
 * *ret_code to the exit code of this process. Return 0 or a negative error: then the signals in set
 * cannot be read, and the child was ended.
 */
static int parent(pid_t child, int up, const sigset_t *set, int *ret_code, struct eddis_error *err)
{
    cleanup_fd int signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);

    if (signals < 0) {
        int rc = eddis_fail_errno(err, -errno, "cannot wait for signals");

        (void)kill(child, SIGTERM);
        (void)code_of(child);
        return rc;
    }
    *ret_code = wait_for_up(child, up, signals);
    return 0;
}

int run_detach(int *ret_up, int *ret_code, struct eddis_error *err)
{
    cleanup_fd int ours = -1, its = -1;
    int pipe_fd[2], null_fd;
    sigset_t set, before;
    pid_t child;
    int rc;

    if (pipe2(pipe_fd, O_CLOEXEC) < 0)
        return eddis_fail_errno(err, -errno, "cannot detach");
    ours = pipe_fd[0];
    its = pipe_fd[1];
    fill(&set);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    fflush(NULL);
    child = fork();
    if (child > 0) {
        (void)close(cleanup_keep_fd(its)); /* so that the pipe is closed when the child ends */
        rc = parent(child, ours, &set, ret_code, err);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return rc;
    }
    rc = child < 0 ? -errno : 0;
    if (rc == 0)
        (void)setsid();
    (void)sigprocmask(SIG_SETMASK, &before, NULL); /* after setsid: no signal of the terminal's */
    if (rc < 0)
        return eddis_fail_errno(err, rc, "cannot detach");
    descriptors_close_inherited();
    null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null_fd >= 0) {
        (void)dup2(null_fd, STDIN_FILENO);
        (void)close(null_fd);
    }
    *ret_up = cleanup_keep_fd(its);
    return 1;
}

int run_detach_up(int *up, int log, struct eddis_error *err)
{
    cleanup_fd int report_fd = *up;
    cleanup_fd int fd = log;
    int rc = 0;

    *up = -1;
    fflush(stdout);
    fflush(stderr);
    if (fd >= 0 && (dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0))
        rc = -errno;
    if (write(report_fd, "u", 1) != 1) {
        /* the parent has exited already: no error */
    }
    return rc < 0 ? eddis_fail_errno(err, rc, "cannot write to the job's own log") : 0;
}
