/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c - starts the agent, watches it, and kills everything below it in the end */
#include "keeper.h"

#include "cgroup.h"
#include "folders.h"
#include "tick.h"

#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "lib/base/signal_fd.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct keeper {
    struct tick_page *page;
    int page_fd, signals; /* descriptor of the page for the agent; signalfd */
    pid_t agent;          /* pid of the agent */
    int64_t lease_ns;
    struct tick_watch watch;
    struct cgroup group; /* the agent's control group; path "": none */
    struct folders folders;
};

/* The handled signals.  Return the descriptor or a negative
 * errno.  The signals are read, not ignored: an ignored signal would stay ignored in the
 * user's
 * program.
 */
static const int handled[] = { SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, 0 };

/* Set the variable KEEPER_SENDER, which the agent inherits, to the parent's pid: Slurm's signals to
 * a step come from the parent of the step's first process.  Unset it if this is not a Slurm step.
 * Return 0 or a negative errno.
 */
static int name_sender(const struct keeper_options *o, struct eddis_error *err)
{
    char pid[16];

    (void)snprintf(pid, sizeof pid, "%d", (int)getppid());
    if ((o->node ? setenv(KEEPER_SENDER, pid, 1) : unsetenv(KEEPER_SENDER)) < 0)
        return eddis_fail_errno(err, -errno, "cannot set a variable");
    return 0;
}

/* Return the time limit for removing control groups of dead supervisors.  It is well below a lease:
 * the agent already runs, and must not take this supervisor for dead.
 */
static int64_t sweep_ns(int64_t lease_ns)
{
    return timing_least_ns(CLOCK_S / 2, lease_ns / 4);
}

/* Start the agent, set k->agent, and hand it the descriptor of the shared page.  Put it into a
 * control group, k->group, if one may be made, and remove groups of dead supervisors.  Return 0 or
 * a negative errno.
 */
static int start_agent(struct keeper *k, const struct keeper_options *o, struct eddis_error *err)
{
    const struct node_identity *id = o->id;
    static const int of_step[] = { SIGTERM, SIGUSR1, SIGUSR2, 0 };
    char fd[16];
    const char *argv[] = { o->agent_path, "--tick-fd", fd,
                           "--mark",      id->mark,    o->node ? "--node" : NULL,
                           o->node,       NULL };
    struct spawn s = { .argv = argv, .in = 0, .out = 1, .err = 2, .also = k->page_fd };
    int rc;

    if (o->node) /* Slurm's signals stay blocked until the agent reads them itself */
        s.blocked = of_step;

    snprintf(fd, sizeof fd, "%d", k->page_fd);
    rc = spawn_start(&s, &k->agent, err);
    /* The group is not required: the agent's descendants are found without it. */
    if (rc == 0 && cgroup_make(id->cgroup, &k->group, NULL) == 0) {
        if (cgroup_add(&k->group, k->agent) < 0)
            (void)cgroup_remove(&k->group, 0, NULL);
        /* A later start, or the end of this one's group, sweeps what stays. */
        (void)cgroup_sweep(clock_after_ns(clock_now_ns(), sweep_ns(o->lease_ns)), NULL);
    }
    (void)close(k->page_fd);
    k->page_fd = -1;
    return rc;
}

/* Read all pending signals, and pass SIGTERM and SIGUSR1 on to the agent, which ends the ranks in
 * order.  In a Slurm step this process alone may have received them.
 */
static void read_signals(const struct keeper *k)
{
    struct signalfd_siginfo info;

    while (read(k->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGUSR1)
            (void)kill(k->agent, (int)info.ssi_signo);
}

/* Reap all ended children.  If the agent is among them, store its waitpid status in *ret_status and
 * return true; otherwise return false.
 */
static bool agent_ended(const struct keeper *k, int *ret_status)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == k->agent) {
            *ret_status = status;
            return true;
        }
    return false;
}

/* Watch the agent until it ends, and send it heartbeats.  Return its exit code, or 128 + signal if
 * it was killed.  If it was silent for a lease, return KEEPER_EXIT_LOST with the reason in err; the
 * agent still runs.
 */
static int watch(struct keeper *k, struct eddis_error *err)
{
    int64_t period = timing_tick_ns(k->lease_ns);
    struct pollfd fd = { .fd = k->signals, .events = POLLIN };
    int64_t look = clock_now_ns();
    int status;

    for (;;) {
        int64_t now;

        (void)poll(&fd, 1, clock_poll_ms(look));
        read_signals(k);
        if (agent_ended(k, &status))
            return spawn_exit_code(status);
        now = clock_now_ns();
        if (now < look)
            continue;
        look = now + period;
        tick_beat(k->page, TICK_KEEPER);
        if (tick_silence_ns(k->page, TICK_AGENT, &k->watch, now, period) > k->lease_ns) {
            eddis_fail(err, -ETIMEDOUT,
                       "agent did not respond for %.1f s (timeouts.lease), and was killed with its "
                       "workers",
                       (double)k->watch.silence_ns / CLOCK_S);
            return KEEPER_EXIT_LOST;
        }
    }
}

/* Kill and reap all descendants, and remove the control group.  Block until this is done or the
 * deadline has passed.  Return 0 or a negative errno.
 */
static int end_all(struct keeper *k, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = k->group.path[0] ? cgroup_kill(&k->group, deadline_ns, err) : 0;
    int tree = proctree_kill_all(deadline_ns, err);
    bool ended = rc >= 0 && tree >= 0;
    /* After reaping: dead processes count until then. */
    int removed = cgroup_remove(&k->group, deadline_ns, ended ? err : NULL);

    return tree < 0 ? tree : rc < 0 ? rc : removed;
}

/* Make the shared page and the folders, and start the agent.  Return 0, or a negative errno with
 * the folders removed.
 */
static int begin(struct keeper *k, const struct keeper_options *o, struct eddis_error *err)
{
    int rc = name_sender(o, err);

    if (rc == 0)
        rc = tick_create(&k->page, &k->page_fd, err);
    if (rc < 0)
        return rc;
    rc = folders_make(k->page, o->id, o->runtime_dir, &k->folders, err);
    if (rc == 0)
        rc = start_agent(k, o, err);
    if (rc < 0)
        (void)folders_remove(k->page, NULL);
    return rc;
}

int keeper_run(const struct keeper_options *o, struct eddis_error *err)
{
    struct keeper k = { .page_fd = -1, .lease_ns = o->lease_ns };
    int rc, code, removed;

    (void)signal(SIGPIPE, SIG_IGN); /* started programs get the default again */
    /* The agent's secrets pass through a descriptor of this process: forbid core files and reading
     * its memory.
     */
    (void)prctl(PR_SET_DUMPABLE, 0);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return eddis_fail_errno(err, -errno, "cannot become a child subreaper");
    /* Let the kernel continue this process if it is stopped when its parent dies; otherwise SIGCONT
     * changes nothing.
     */
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
    k.signals = signal_fd_open(handled, err);
    if (k.signals < 0)
        return k.signals;
    if ((rc = begin(&k, o, err)) < 0) {
        (void)close(k.signals);
        return rc;
    }
    code = watch(&k, err);
    rc = end_all(&k, clock_after_ns(clock_now_ns(), 5 * CLOCK_S), err);
    removed = folders_remove(k.page, err);
    if (rc == 0)
        rc = removed;
    (void)close(k.signals);
    return rc < 0 ? rc : code;
}
