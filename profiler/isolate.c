/* SPDX-License-Identifier: Apache-2.0 */
/* isolate.c - run a measurement in a child process and receive its result */
#include "isolate.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Header before the result in the pipe */
struct answer {
    int rc;
    struct eddis_error err;
};

/* Run fn in the child process, write header and result to the pipe fd, and exit. The kernel kills
 * the child when the process `parent` ends; if that has ended already, exit immediately.
 */
static _Noreturn void child(pid_t parent, int fd, isolate_fn fn, const void *task, size_t size)
{
    struct answer a = { 0 };
    void *result = calloc(1, size);

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
        _exit(1);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    a.rc =
        result ? fn(task, result, &a.err) : eddis_fail(&a.err, -ENOMEM, "no memory for the result");
    if (file_write_all(fd, &a, sizeof a, NULL) < 0 ||
        (result && file_write_all(fd, result, size, NULL) < 0))
        _exit(1);
    _exit(0);
}

void isolate_start(struct isolated *i, const char *what, isolate_fn fn, const void *task,
                   size_t size)
{
    pid_t parent = getpid();
    int fd[2];

    *i = (struct isolated){ .what = what, .fd = -1, .size = size };
    if (pipe2(fd, O_CLOEXEC) < 0) {
        eddis_fail_errno(&i->failed, -errno, "cannot make a pipe for the %s", what);
        return;
    }
    i->pid = fork();
    if (i->pid == 0)
        child(parent, fd[1], fn, task, size);
    (void)close(fd[1]);
    if (i->pid < 0) {
        eddis_fail_errno(&i->failed, -errno, "cannot start the %s", what);
        (void)close(fd[0]);
        i->pid = 0;
        return;
    }
    i->fd = fd[0];
}

/* Read n bytes from a pipe by the deadline. Return how many arrived before the pipe's end, or
 * -ETIMEDOUT.
 */
static ssize_t read_until(int fd, void *p, size_t n, int64_t deadline_ns)
{
    size_t have = 0;

    while (have < n) {
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
        int ready = poll(&poll_fd, 1, clock_poll_ms(deadline_ns));
        ssize_t got;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return -ETIMEDOUT;
        got = read(fd, (char *)p + have, n - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

/* Return -ECHILD, with the signal or exit code by which the child ended in err. status: as of
 * waitpid.
 */
static int died(const struct isolated *i, int status, struct eddis_error *err)
{
    if (WIFSIGNALED(status))
        return eddis_fail(err, -ECHILD, "the %s was killed by signal %d (%s)", i->what,
                          WTERMSIG(status), strsignal(WTERMSIG(status)));
    return eddis_fail(err, -ECHILD, "the %s ended without a result (exit code %d)", i->what,
                      WEXITSTATUS(status));
}

/* Kill a child that is late, and wait for its end until 1 s after the deadline, for 20 ms at least.
 * Many children of one deadline, which a driver blocks in the kernel, so cost 1 s together.
 */
static void kill_late(pid_t pid, int64_t deadline_ns)
{
    int64_t left_ns = clock_after_ns(deadline_ns, CLOCK_S) - clock_now_ns();
    struct spawn_rung end = { SIGKILL, left_ns > 20 * CLOCK_MS ? left_ns : 20 * CLOCK_MS };

    (void)spawn_stop(pid, &end, 1, NULL, NULL);
}

int isolate_wait(struct isolated *i, int64_t deadline_ns, void *ret, struct eddis_error *err)
{
    /* Signals with which a child is stopped. A driver may block a killed process in the kernel;
     * then the child is not waited for longer than 1 s.
     */
    static const struct spawn_rung soon[] = { { 0, 200 * CLOCK_MS }, { SIGKILL, CLOCK_S } };
    struct answer a;
    int status = 0, rc;
    ssize_t got;

    if (i->pid == 0)
        return eddis_fail(err, i->failed.code, "%s", i->failed.text);
    got = read_until(i->fd, &a, sizeof a, deadline_ns);
    if (got == sizeof a && a.rc >= 0) {
        ssize_t rest = read_until(i->fd, ret, i->size, deadline_ns);

        if (rest != (ssize_t)i->size)
            got = rest < 0 ? rest : 0;
    }
    (void)close(i->fd);
    if (got == -ETIMEDOUT) {
        kill_late(i->pid, deadline_ns);
        return eddis_fail(err, -ETIMEDOUT, "the %s took too long", i->what);
    }
    rc = spawn_stop(i->pid, soon, 2, &status, NULL);
    if (got != sizeof a)
        return rc < 0 ? eddis_fail(err, -ECHILD, "the %s gave no result", i->what)
                      : died(i, status, err);
    return a.rc < 0 ? eddis_fail(err, a.rc, "%s", a.err.text) : a.rc;
}
