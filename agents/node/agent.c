/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - start, main loop and end of an agent */
#include "agent.h"

#include "agent_impl.h"
#include "joining.h"
#include "launch.h"

#include "agents/guard/guard.h"
#include "agents/node/keep/keeper.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/ip.h"
#include "lib/base/json.h"
#include "lib/base/proctree.h"
#include "lib/base/program.h"
#include "lib/base/random.h"
#include "lib/base/signal_fd.h"
#include "lib/base/text.h"
#include "lib/topo/interfaces.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Interval between checks for the other nodes' files in the shared folder. */
#define CHECK_AGAIN_NS (20 * CLOCK_MS)

/* ---- start ---- */

/* Overwrite n bytes of text with zeros and free it; accept NULL. */
static void wipe(char *text, size_t n)
{
    if (text)
        explicit_bzero(text, n);
    free(text);
}

/* Read the agent configuration from config_fd or, if this agent was started with a node's name,
 * read an invitation from it and request the configuration from the driver.  Set a->agent_config
 * and the lease in a->life.  Return 0 or a negative errno.
 */
static int read_agent_config(struct agent *a, struct eddis_error *err)
{
    size_t n = 0, first_n;
    char *text = NULL, *first;
    int rc = file_read_fd(a->options.config_fd, "the agent configuration", JSON_MAX_BYTES, &text,
                          &n, err);

    if (rc == 0 && a->options.node) {
        first = text;
        first_n = n;
        text = NULL;
        rc = joining_ask(first, first_n, a->options.node, a->life.page, &text, &n, err);
        wipe(first, first_n);
    }
    if (rc == 0)
        rc = agent_config_parse(text, n, &a->agent_config, err);
    if (rc == 0)
        a->life.lease_ns = a->agent_config->lease_ns;
    wipe(text, n);
    return rc;
}

/* Block the handled signals, and open a->events, a->signals and the supervisor's pidfd for the
 * loop.  Return 0 or a negative errno; -ESRCH: the supervisor has died.
 */
static int open_events(struct agent *a, struct eddis_error *err)
{
    static const int wanted[] = { SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, 0 };

    a->events = epoll_create1(EPOLL_CLOEXEC);
    a->signals = signal_fd_open(wanted, NULL);
    watchdog_find_keeper(&a->life);
    if (a->events < 0 || a->signals < 0 || a->life.keeper_fd < 0 ||
        agent_watch_fd(a, a->signals) < 0 || agent_watch_fd(a, a->life.keeper_fd) < 0)
        return eddis_fail_errno(err, -errno, "cannot watch signals and the supervisor");
    if (!watchdog_has_keeper(&a->life))
        return eddis_fail(err, -ESRCH, "the supervisor has died");
    return 0;
}

/* Start a->files, the thread for file operations that may block, and let it wake the loop.  Return
 * 0 or a negative errno.
 */
static int open_files(struct agent *a, struct eddis_error *err)
{
    int rc = file_thread_start(&a->files, err);

    if (rc == 0 && agent_watch_fd(a, file_thread_fd(a->files)) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot watch a thread");
    return rc;
}

/* Return the number of cores that this process may use; 1 if unknown. */
static int count_cores(void)
{
    cpu_set_t *set = CPU_ALLOC(8192);
    size_t size = CPU_ALLOC_SIZE(8192);
    int n = 1;

    if (set && sched_getaffinity(0, size, set) == 0)
        n = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return n;
}

/* Return the pid of the sender of Slurm's signals, from the variable KEEPER_SENDER that the
 * supervisor has set; -1: not in a Slurm step.
 */
static int find_sender(const struct agent *a)
{
    const char *pid = a->options.node ? getenv(KEEPER_SENDER) : NULL;

    return pid ? atoi(pid) : -1;
}

/* Check whether this node has an IPv6 address that other nodes can reach. */
static bool has_six(void)
{
    enum { MANY = 256 };
    cleanup_free struct interface *list = calloc(MANY, sizeof *list);
    int n = list ? interfaces_list(list, MANY, NULL) : 0;
    struct ip a;

    for (int i = 0; i < n; i++)
        if (!list[i].loopback && ip_parse(list[i].address, &a) && !ip_is_v4(&a) &&
            !ip_is_link_local(&a))
            return true;
    return false;
}

/* Set a->mpi and the other mpi_ members: Open MPI's version, and whether the guard library can be
 * loaded into it.  Without Open MPI mpi_version stays "", and the driver learns of this when this
 * agent registers.
 */
static void look_for_mpi(struct agent *a)
{
    struct eddis_error err = { 0 };
    bool guarded = false;
    int major;

    if (program_path(GUARD_LIBRARY, a->mpi_guard, sizeof a->mpi_guard, NULL) < 0 ||
        a->mpi_guard[strcspn(a->mpi_guard, ": \t\n")]) /* LD_PRELOAD cannot hold these characters */
        a->mpi_guard[0] = '\0';
    major = openmpi_version(a->mpi_guard, a->mpi_version, sizeof a->mpi_version, &guarded, &err);
    if (major < 0)
        node_log_say(a->event_sender.log, "%s", err.text);
    a->mpi_guarded = guarded;
    a->mpi_v4_only = major > 0 && has_six() && openmpi_is_v4_only();
    a->mpi = openmpi_row(major);
}

/* Warn the user, before anything is started, if mpirun does not load the guard library. */
static void tell_of_guard(const struct agent *a)
{
    if (!a->mpi_version[0] || a->mpi_guarded)
        return;
    event_sender_note(
        &a->event_sender, 0,
        "%s here does not load " GUARD_LIBRARY ": it may listen on all addresses of this "
        "node, and any user who reaches it can end the job; %s (SECURITY CONSIDERATIONS in "
        "eddis-run(1))",
        a->mpi->server,
        a->mpi_guard[0] ? "use an mpirun that is linked dynamically and keeps LD_PRELOAD"
                        : "install eddis under a path without spaces and colons");
}

/* Open the HTTP client and the reporter for the driver's addresses, and wipe the token from the
 * agent configuration.  Return 0 or a negative errno.
 */
static int open_http(struct agent *a, struct eddis_error *err)
{
    struct agent_config *b = a->agent_config;
    int rc = joining_client(b->url, b->token, b->pin, b->lease_ns, &a->http, err);

    explicit_bzero(b->token, sizeof b->token);
    if (rc == 0)
        rc = reporter_open(a->http, b->agent, b->lease_ns, watchdog_heard, &a->life,
                           &a->event_sender.reporter, err);
    return rc;
}

/* Open the log in the agent's temporary folder, which is removed at the end: a job that only checks
 * leaves no log.  Return 0 or a negative errno.
 */
static int log_for_a_while(struct agent *a, struct eddis_error *err)
{
    char *dir = strdup(a->folders.run);

    if (!dir)
        return eddis_fail(err, -ENOMEM, "no memory for the agent's log");
    free(a->agent_config->log_dir);
    a->agent_config->log_dir = dir;
    return agent_logs_open(&a->logs, a->agent_config, a->files, &a->event_sender.log, err);
}

/* Warn the user if other users may rename the job's folders, because a folder above them lacks the
 * sticky bit.
 */
static void tell_of_folders(const struct agent *a)
{
    int n;
    const char *base = folders_unsafe(&a->folders, &n);

    if (base)
        event_sender_note(
            &a->event_sender, 0,
            "other users may rename files in '%.*s', which holds the job's files, because "
            "it lacks the sticky bit; run chmod +t %.*s",
            n, base, n, base);
}

/* Set up everything before the loop.  Return 0 or a negative errno; the caller calls finish() in
 * both cases.
 */
static int begin(struct agent *a, struct eddis_error *err)
{
    int rc;

    (void)signal(SIGPIPE, SIG_IGN); /* the session may be lost; programs get the default again */
    /* Other processes of this user must not read the token from this process's memory, and no core
     * file may hold it.
     */
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return eddis_fail_errno(err, -errno, "cannot become a child subreaper");
    /* Let the kernel continue this process if the supervisor dies: a stopped process could not
     * notice the death, and no process would clean up.
     */
    if (prctl(PR_SET_PDEATHSIG, SIGCONT) < 0)
        return eddis_fail_errno(err, -errno, "cannot tie this process to the supervisor");
    if ((rc = tick_map(a->options.tick_fd, &a->life.page, err)) < 0 ||
        (rc = open_events(a, err)) < 0 || (rc = open_files(a, err)) < 0 ||
        (session_log_begin(), rc = read_agent_config(a, err)) < 0 ||
        (*a->agent_config->log_dir && (rc = agent_logs_open(&a->logs, a->agent_config, a->files,
                                                            &a->event_sender.log, err)) < 0) ||
        (rc = launch_clean_environment(a->agent_config, err)) < 0 ||
        (rc = folders_take(a->life.page, &a->folders, err)) < 0 ||
        (!*a->agent_config->log_dir && (rc = log_for_a_while(a, err)) < 0))
        return rc;
    a->progress = calloc(BOARD_MAX_LOCAL, sizeof *a->progress);
    a->outputs = outputs_new();
    if (!a->progress || !a->outputs)
        return eddis_fail(err, -ENOMEM, "no memory for the workers' progress and output");
    a->cores = count_cores();
    look_for_mpi(a);
    node_log_say(a->event_sender.log,
                 "agent %d of job %s, pid %d under %d, %d cores, folders %s and %s",
                 a->agent_config->agent, a->agent_config->job_id, (int)getpid(),
                 (int)a->life.keeper, a->cores, a->folders.run, a->folders.shm);
    rc = open_http(a, err);
    if (rc == 0) {
        tell_of_folders(a);
        tell_of_guard(a);
    }
    return rc;
}

/* ---- the loop ---- */

/* Report Slurm's signal to the driver, which decides what follows: the model has to be saved before
 * the ranks end.  Both Slurm and the supervisor may send the same signal, so each signal is
 * reported only the first time.
 */
static void report_signal(struct agent *a, int sig)
{
    struct event e = { .type = EVENT_SIGNAL, .rank = -1, .step = -1, .signal = sig };
    bool *sent = sig == SIGTERM ? &a->sent_term : &a->sent_usr1;

    if (!*sent)
        event_sender_send(&a->event_sender, &e, clock_now_ns());
    *sent = true;
}

/* Read all pending signals.  In a Slurm step report SIGTERM and SIGUSR1 to the driver; otherwise a
 * SIGTERM stops this node's ranks and then ends the agent.  Ignore other signals.
 */
static void read_signals(struct agent *a)
{
    struct signalfd_siginfo info;

    while (read(a->signals, &info, sizeof info) == sizeof info) {
        int sig = (int)info.ssi_signo;

        if (sig != SIGTERM && (sig != SIGUSR1 || a->sender < 0))
            continue;
        node_log_say(a->event_sender.log, "SIG%s from %d", text_signal(sig), (int)info.ssi_pid);
        if (a->sender >= 0) {
            report_signal(a, sig);
            continue;
        }
        a->bye = true;
        a->exit_code = EXIT_TERMINATED;
        stop_begin(&a->stop, STOP_FAILURE, 0, clock_now_ns());
    }
}

/* Log that the driver or the supervisor is lost, and leave the loop with AGENT_EXIT_LOST. */
static void lost(struct agent *a, const char *who)
{
    node_log_say(a->event_sender.log, "the %s is lost: ending everything", who);
    agent_end(a, AGENT_EXIT_LOST);
}

/* Leave the loop because the driver is lost.  Also write the reason to standard error of the
 * session, which may still reach the driver.
 */
static void driver_lost(struct agent *a)
{
    if (!a->over && a->registered)
        session_log_last(
            &a->session_log,
            "agent heard nothing from eddis-run for %.1f s (timeouts.lease), and ended its workers",
            (double)a->life.silence_ns / CLOCK_S);
    lost(a, "driver");
}

/* Leave the loop, and set a->life.keeper_lost, because the supervisor is lost. */
static void keeper_lost(struct agent *a)
{
    a->life.keeper_lost = true;
    lost(a, "supervisor");
}

/* If a heartbeat is due: renew it, end the agent if the driver or the supervisor is lost, stop
 * ranks that have started during a pause, and kill a late device probe.
 */
static void beat(struct agent *a, int64_t now_ns)
{
    int who;

    if (now_ns < a->life.beat_ns)
        return;
    who = watchdog_heartbeat(&a->life, now_ns);
    if (who & LIFELINE_DRIVER)
        driver_lost(a);
    if (who & LIFELINE_KEEPER)
        keeper_lost(a);
    agent_hold(a);
    if (a->probe.pid && now_ns >= a->probe.deadline_ns)
        probe_kill(&a->probe);
    if (a->gpu_wait.list.pid && now_ns >= a->gpu_wait.list.deadline_ns)
        probe_kill(&a->gpu_wait.list);
}

/* Return the time of the loop's next deadline: when it has to run again if no descriptor wakes it
 * before.
 */
static int64_t next_ns(const struct agent *a, int64_t now_ns)
{
    int64_t next = timing_least_ns(a->life.beat_ns, stop_next_ns(&a->stop));

    if (!a->asking)
        next = timing_least_ns(next, a->ask_ns);
    if (a->gpu_order)
        next = timing_least_ns(next, a->gpu_next_ns);
    if (a->check_order >= 0)
        next = timing_least_ns(next, clock_after_ns(now_ns, CHECK_AGAIN_NS));
    if (a->registered)
        next = timing_least_ns(next, reporter_next_ns(a->event_sender.reporter, now_ns));
    if (a->generation && a->generation->started && a->generation->report_at_step)
        next = timing_least_ns(next, a->generation->backoff.next_ns);
    if (a->registered && a->generation && a->generation->started && a->generation->open)
        next = timing_least_ns(next, a->generation->asked.next_ns);
    if (a->registered && a->generation && a->generation->started)
        next = timing_least_ns(
            next, timing_least_ns(a->generation->look_ns, a->generation->contact_watch.next_ns));
    if (a->registered && reporter_idle(a->event_sender.reporter))
        next = timing_least_ns(next, a->progress_due ? now_ns : a->progress_ns);
    return next;
}

/* Run one iteration of the loop: act on all deadlines, wait for the next one or an event, and
 * handle what came.  Return 0 or a negative errno.
 */
static int turn(struct agent *a, struct eddis_error *err)
{
    struct pollfd fd = { .fd = a->events, .events = POLLIN };
    int64_t now = clock_now_ns();
    int rc;

    beat(a, now);
    agent_ask(a, now);
    agent_step_check(a, now);
    agent_step_prepare(a, now);
    agent_step_stop(a, now);
    agent_report(a, now);
    if (a->bye && !a->generation && !a->stop.active)
        agent_end(a, a->exit_code);
    if (a->over)
        return 0;
    rc = http_client_wait(a->http, &fd, 1, next_ns(a, now), err);
    read_signals(a);
    agent_read_messages(a);
    agent_read_relays(a);
    agent_reap(a);
    agent_look_at_wrappers(a);
    file_thread_turn(a->files);
    if (!watchdog_has_keeper(&a->life))
        keeper_lost(a);
    return rc;
}

/* Kill all descendants, remove the job's folders, report the end to the driver if this succeeded,
 * and free all members of a.  The supervisor is released near the end, because it watches over
 * this.  Return 0 or a negative errno: a process or folder is left.
 */
static int finish(struct agent *a, struct eddis_error *err)
{
    int rc;

    if (a->generation) /* later its pid may be that of another process */
        gpu_watch_stop(a->generation->gpus, clock_now_ns());
    rc = proctree_kill_all(clock_after_ns(clock_now_ns(), 5 * CLOCK_S), err);
    gpu_lock_release(&a->gpus);
    gpu_wait_end(&a->gpu_wait);
    order_free(a->gpu_order);
    (void)generation_close(a->generation);
    if (a->life.page) {
        int removed = folders_remove(a->life.page, err);

        if (rc == 0)
            rc = removed;
    }
    if (rc == 0)
        agent_leave(a);
    http_client_close(a->http);
    reporter_close(a->event_sender.reporter);
    watchdog_end(&a->life);
    if (a->event_sender.log)
        node_log_say(a->event_sender.log, "end, code %d%s%s", a->exit_code,
                     rc < 0 && err ? ": " : "", rc < 0 && err ? err->text : "");
    if (node_log_close(
            a->event_sender.log)) /* else the logs are on a file system that does not respond */
        agent_logs_close(&a->logs, a->exit_code);
    file_thread_stop(a->files);
    agent_config_free(a->agent_config);
    free(a->progress);
    free(a->versions);
    outputs_free(a->outputs);
    for (int *fd = (int[]){ a->events, a->signals, a->life.keeper_fd, -2 }; *fd != -2; fd++)
        if (*fd >= 0)
            (void)close(*fd);
    return rc;
}

int agent_run(const struct agent_options *o, struct eddis_error *err)
{
    struct agent *a = calloc(1, sizeof *a);
    int rc, ended, code;

    if (!a)
        return eddis_fail(err, -ENOMEM, "no memory for the agent");
    a->options = *o;
    a->check_order = -1;
    a->chance = random_mix((uint64_t)clock_now_ns(), (uint64_t)getpid());
    a->events = a->signals = a->life.keeper_fd = -1;
    a->sender = find_sender(a);
    rc = begin(a, err);
    while (rc >= 0 && !a->over)
        rc = turn(a, err);
    ended = finish(a, rc < 0 ? NULL : err);
    code = a->exit_code;
    free(a);
    return rc < 0 ? rc : ended < 0 ? ended : code;
}
