/* SPDX-License-Identifier: Apache-2.0 */
/* Agents on this machine: keeper -> agent, forked.  The driver is a child subreaper, so that what
 * a killed keeper and a killed agent leave behind comes to it.
 */
#include "start_impl.h"

#include "agents/node/folders.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "lib/base/program.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t brief_wait_ns = 10 * CLOCK_S;

/* `monitor & exec eddis-run ...` leaves us children that are not the job's. */
static int local_prepare(struct eddis_error *err)
{
    cleanup_free struct proctree_process *before = NULL;
    int n = proctree_list(getpid(), &before, err);

    if (n < 0)
        return n;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return eddis_fail_errno(err, -errno, "cannot become the reaper of the job's processes");
    return n > 0;
}

/* Write all to a pipe whose reader may be slow or dead, but not for ever. */
static int write_brief(int fd, const char *brief, size_t n, struct eddis_error *err)
{
    int64_t deadline_ns = clock_now_ns() + brief_wait_ns;

    while (n > 0) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        ssize_t k = write(fd, brief, n);

        if (k >= 0) {
            brief += k;
            n -= (size_t)k;
        } else if (errno != EAGAIN && errno != EINTR) {
            return eddis_fail_errno(err, -errno, "cannot give the agent its brief");
        } else if (clock_now_ns() >= deadline_ns) {
            return eddis_fail(err, -ETIMEDOUT, "the agent did not read its brief within %g s",
                              (double)brief_wait_ns / CLOCK_S);
        } else {
            (void)poll(&p, 1, clock_poll_ms(deadline_ns));
        }
    }
    return 0;
}

static int local_start(const char *node, int64_t lease_ns, const char *brief,
                       struct start_agent *ret, struct eddis_error *err)
{
    static const struct spawn_rung kill_at_once[] = { { SIGKILL, CLOCK_S } };
    char keeper[PATH_MAX], agent[PATH_MAX];
    char lease[32];
    const char *const argv[] = { keeper, agent, lease, NULL };
    cleanup_fd int from = -1, to = -1;
    int pipes[2], rc = program_path("eddis-keeper", keeper, sizeof keeper, err);
    pid_t pid;

    if (rc == 0)
        rc = program_path("eddis-agent", agent, sizeof agent, err);
    if (rc < 0)
        return rc;
    (void)snprintf(lease, sizeof lease, "%" PRId64, lease_ns);
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return eddis_fail_errno(err, -errno, "cannot make a pipe");
    from = pipes[0];
    to = pipes[1];
    (void)fcntl(to, F_SETFL, O_NONBLOCK);
    /* A session of its own: Ctrl-C at the terminal is for the driver alone. */
    rc = spawn_start(&(struct spawn){ .argv = argv,
                                      .in = from,
                                      .out = STDERR_FILENO,
                                      .err = STDERR_FILENO,
                                      .own_session = true },
                     &pid, err);
    if (rc < 0)
        return rc;
    (void)close(from);
    from = -1;
    rc = write_brief(to, brief, strlen(brief), err);
    if (rc < 0) {
        (void)spawn_stop(pid, kill_at_once, 1, NULL, NULL);
        return rc;
    }
    ret->pid = pid;
    return 0;
}

static int local_clean(int64_t patience_ns, int64_t deadline_ns, struct eddis_error *err)
{
    int64_t end_ns = clock_after_ns(clock_now_ns(), patience_ns);

    while (clock_now_ns() < end_ns) {
        pid_t got = waitpid(-1, NULL, WNOHANG);

        if (got < 0 && errno == ECHILD)
            return 0;
        if (got == 0)
            clock_sleep_until_ns(clock_now_ns() + 5 * CLOCK_MS);
    }
    return proctree_kill_all(deadline_ns, err);
}

static int local_sweep(const char *digits, struct eddis_error *err)
{
    return folders_remove(digits, getenv("XDG_RUNTIME_DIR"), err);
}

const struct start_ops start_local = {
    .name = "local",
    .summary = "fork on this machine",
    .prepare = local_prepare,
    .start = local_start,
    .clean = local_clean,
    .sweep = local_sweep,
};
