/* SPDX-License-Identifier: Apache-2.0 */
/* wrapper.c - runs a rank's program, copies its output and reports its end to the agent */
#include "wrapper.h"

#include "oom.h"
#include "rank_file.h"
#include "shell_setup.h"

#include "agents/node/output/last_words.h"
#include "agents/node/output/output_copy.h"
#include "agents/node/output/rank_log.h"
#include "agents/node/output/rank_steps.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/process_fd.h"
#include "lib/base/proctree.h"
#include "lib/base/signal_fd.h"
#include "lib/base/spawn.h"
#include "lib/topo/topo.h"
#include "profiler/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define HOLD_NS   (5 * CLOCK_S)   /* time limit for the driver to order a stop after a failure */
#define ECHO_NS   (2 * CLOCK_S)   /* time limit for the rank that caused a failure to end before */
#define ORPHAN_NS (2 * CLOCK_S)   /* time limit for the program to end after mpirun has died */
#define SEND_NS   (1 * CLOCK_S)   /* time limit of one try to send a message to a busy agent */
#define SHOW_NS   (CLOCK_S / 5)   /* time limit for a busy agent to take the last output */
#define TELL_NS   (300 * CLOCK_S) /* time limit for an agent stopped by a signal to continue */

enum { DYING_MS = 100 }; /* time limit for mpirun to end after its last signal */

/* Sizes in bytes: of a read, of the pipe for the output, and of the output read after the end. */
enum { CHUNK = 1 << 16, PIPE_BYTES = 1 << 20, DRAIN_BYTES = 64 << 20 };

struct wrapper {
    struct rank_file *file;
    int rank;
    struct rank_log *log;
    struct output_copy *copy; /* copy of the output for the screen */
    struct rank_steps *steps; /* steps in the program's output; NULL: not read */
    struct oom_watch oom;
    int64_t peak_bytes; /* peak memory of the program, in bytes, after it was reaped */
    int agent;          /* connected socket to the agent */
    int signals;        /* signalfd */
    int output;         /* read end of the program's pipe; -1: at its end */
    pid_t parent, pid;  /* mpirun or its daemon; the program, or 0 */
    int mpirun;         /* pidfd of the parent (mpirun or its daemon); -1: it is dead */
    bool reaped;        /* the process pid has ended */
    int64_t reaped_ns;  /* time at which it was reaped */
    bool asked;         /* SIGTERM was passed on to the program */
    bool ordered;       /* mpirun or the agent has ordered this wrapper to end */
    bool by_agent;      /* the agent has ordered it, and will kill this wrapper itself */
    bool echo;          /* the program's output blames another rank */
    bool lingers;       /* the program left the job properly but without MPI_Finalize; its death
                           afterwards is hidden from mpirun */
    bool in_setup;      /* the program has not started: the job's setup lines run */
    char chunk[CHUNK];
    int64_t kill_ns; /* when to kill what is left; CLOCK_NEVER: mpirun lives */
};

/* ---- messages to the agent ---- */

/* Connect a datagram socket to the agent's socket.  Return the descriptor, which the caller closes,
 * or a negative errno.
 */
static int connect_agent(const char *path, struct eddis_error *err)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct timeval patience = { .tv_sec = SEND_NS / CLOCK_S };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot make a socket");
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        int rc = eddis_fail_errno(err, -errno, "cannot reach the agent at '%s'", path);

        (void)close(fd);
        return rc;
    }
    return fd;
}

/* Set the members of m that all messages to the agent have in common. */
static void address_message(const struct wrapper *w, struct rank_message *m)
{
    m->magic = RANK_MESSAGE_MAGIC;
    m->generation = w->file->generation;
    m->at_ns = w->reaped ? w->reaped_ns : clock_now_ns();
    m->rank = w->rank;
    m->wrapper = (int32_t)getpid();
    m->pid = (int32_t)w->pid;
    m->ordered = w->ordered;
}

/* Send a message to the agent.  While its queue is full, retry, for up to TELL_NS and while the
 * parent lives; a message that cannot be sent is lost.  A full queue means that the agent is
 * stopped by a signal, which its supervisor allows for at most a lease.  Giving up sooner would
 * make a success look like a death.
 */
static void tell(const struct wrapper *w, struct rank_message *m)
{
    int64_t end = clock_after_ns(clock_now_ns(), TELL_NS);

    address_message(w, m);
    while (send(w->agent, m, rank_message_size(m), MSG_NOSIGNAL) < 0 &&
           (errno == EAGAIN || errno == EINTR) && clock_now_ns() < end && getppid() == w->parent)
        ;
}

/* Check whether the program has not started yet, because setup lines run or no process was started.
 * Clear w->in_setup once they have ended.
 */
static bool is_early(struct wrapper *w)
{
    if (w->in_setup && w->pid > 0 && !w->reaped)
        w->in_setup = setup_runs(w->pid);
    return w->in_setup || w->pid <= 0;
}

/* Send lines of output to the agent for the screen, without blocking (output_copy_fn; ctx is the
 * wrapper).  Return false if the agent has no room now.
 */
static bool show(void *ctx, const char *text, int64_t dropped)
{
    struct wrapper *w = ctx;
    struct rank_message m = { .kind = RANK_OUTPUT, .dropped_lines = dropped };
    char host[256] = "";

    (void)gethostname(host, sizeof host - 1);
    m.early = is_early(w) || last_words_are_of_mpi(text, host);
    address_message(w, &m);
    snprintf(m.lines, sizeof m.lines, "%s", text);
    return send(w->agent, &m, rank_message_size(&m), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* Send all output that is still pending, before the report of the program's end; wait at most
 * SHOW_NS.
 */
static void show_rest(struct wrapper *w)
{
    int64_t end = clock_after_ns(clock_now_ns(), SHOW_NS);

    while (!output_copy_end(w->copy, clock_now_ns()) && clock_now_ns() < end)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
}

/* Pass output of the program to the log, to the copy for the screen, and to the search for steps.
 */
static void take_output(struct wrapper *w, const char *data, size_t n)
{
    int64_t now_ns = clock_now_ns();

    rank_log_write(w->log, data, n);
    output_copy_feed(w->copy, data, n, now_ns);
    if (w->steps)
        rank_steps_feed(w->steps, w->pid, data, n, now_ns);
}

/* Return the memory limit of this process's control group, in bytes.  The program, now gone, was in
 * the same group or in one below it.
 */
static int64_t memory_limit(void)
{
    struct quota_memory m;

    quota_memory_of("", 0, &m);
    return m.limit_bytes;
}

/* Send the agent the program's end: its waitpid status, whether it ran out of memory, and its last
 * output if it failed.  Send the pending output before.
 */
static void report_end(struct wrapper *w, int status)
{
    struct rank_message m = { .kind = RANK_ENDED, .lingers = w->lingers, .echo = w->echo };
    bool killed; /* killed by another process: its last output is not the cause */

    show_rest(w);
    m.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    m.code = WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
    killed = m.signal && m.signal != SIGABRT && m.signal != SIGINT;
    m.oom = m.code == EXIT_MEMORY;
    if (m.signal == SIGKILL && !w->ordered)
        m.oom = oom_killed(&w->oom, w->pid, w->reaped_ns, &m.lacked_ns);
    m.peak_bytes = w->peak_bytes;
    if (m.oom && m.signal)
        m.limit_bytes = memory_limit();
    m.dropped_bytes = rank_log_dropped(w->log);
    m.log_error = rank_log_error(w->log);
    if (status != 0)
        rank_log_last_lines(w->log, killed, PROTOCOL_LAST_LINES, PROTOCOL_LINE, m.lines,
                            sizeof m.lines);
    tell(w, &m);
}

/* ---- before the program ---- */

/* Set this process's variables from a list of NAME=VALUE; unset those given by NAME alone.  Return
 * 0 or a negative errno.
 */
static int apply_env(char *const *env, struct eddis_error *err)
{
    for (; *env; env++) {
        char *value = strchr(*env, '=');
        int rc;

        if (value) {
            *value = '\0';
            rc = setenv(*env, value + 1, 1);
            *value = '=';
        } else {
            rc = unsetenv(*env);
        }
        if (rc < 0)
            return eddis_fail_errno(err, -errno, "cannot set a variable");
    }
    return 0;
}

/* Pass a line "eddis: <text>" on like output of the program, to its log and the screen. */
static void say(struct wrapper *w, const char *text)
{
    take_output(w, "eddis: ", 7);
    take_output(w, text, strlen(text));
    take_output(w, "\n", 1);
}

/* Set this process's environment, folder and cores, which the program inherits.  Return 0 or a
 * negative errno.  If the cores cannot be bound, only say so: training may be slower.
 */
static int prepare(struct wrapper *w, struct eddis_error *err)
{
    const struct rank_spec *spec = &w->file->rank[0];
    struct eddis_error unbound = { 0 };
    int rc;

    if ((rc = apply_env(w->file->env, err)) < 0 || (rc = apply_env(spec->env, err)) < 0 ||
        (rc = apply_env(w->file->user_env, err)) < 0)
        return rc;
    if (chdir(w->file->workdir) < 0)
        return eddis_fail_errno(err, -errno, "cannot enter the folder '%s'", w->file->workdir);
    if (spec->cpus[0] && topo_bind(spec->cpus, &unbound) < 0)
        say(w, unbound.text);
    return 0;
}

/* Start the program, or the shell with its setup lines; set w->pid and w->output.  Return 0 or a
 * negative errno.  One pipe takes standard output and error, so that their order is kept.  The
 * program gets its own session, as torchrun's workers do: if the kernel schedules by sessions
 * (sched_autogroup), all ranks of a node would otherwise share one program's part of a busy
 * machine.
 */
static int start(struct wrapper *w, struct eddis_error *err)
{
    char *const *setup = w->file->setup;
    struct spawn s = { .in = -1,
                       .own_session = true,
                       .parent_death_signal = SIGKILL,
                       .ptracer = (pid_t)w->file->agent_pid }; /* the agent starts py-spy */
    struct strlist argv = { 0 };
    int ends[2], rc;

    if (setup[0]) {
        w->in_setup = true;
        if ((rc = setup_argv(setup, w->file->command, getenv("SHELL"), &argv, err)) < 0)
            goto out;
    } else {
        strlist_add_all(&argv, w->file->command);
    }
    s.argv = (const char *const *)argv.item;
    if (argv.failed || pipe2(ends, O_CLOEXEC) < 0) {
        rc = eddis_fail_errno(err, argv.failed ? -ENOMEM : -errno, "cannot make a pipe");
        goto out;
    }
    (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    s.out = s.err = ends[1];
    rc = spawn_start(&s, &w->pid, err);
    (void)close(ends[1]);
    w->output = ends[0];
out:
    strlist_fini(&argv);
    return rc;
}

/* ---- while it runs ---- */

/* Copy output from the pipe until it is empty or max bytes were copied (rounded up to a read).
 * Close the pipe and set w->output to -1 at its end or after an error.
 */
static void copy_output(struct wrapper *w, int64_t max)
{
    while (w->output >= 0 && max > 0) {
        ssize_t n = read(w->output, w->chunk, sizeof w->chunk);

        if (n > 0) {
            take_output(w, w->chunk, (size_t)n);
            max -= n;
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            (void)close(w->output);
            w->output = -1;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* Pass a signal on to the program: SIGTERM and SIGINT to its whole process group, as a terminal
 * does; any other signal to the program alone, because it would kill a shell in between.  After the
 * program's end, send SIGTERM and SIGINT to all descendants, and ignore others.
 */
static void pass_on(struct wrapper *w, int sig)
{
    bool end = sig == SIGTERM || sig == SIGINT;

    if (!w->reaped && w->pid > 0)
        (void)kill(end ? -w->pid : w->pid, sig);
    else if (end) /* its pid may be reused by now, but the descendants are still this wrapper's */
        (void)proctree_signal(getpid(), sig, 0, NULL);
}

/* Check whether a signal comes from Slurm.  Slurm sends it to the program as well, and the agent
 * reports it.
 */
static bool is_of_slurm(const struct wrapper *w, const struct signalfd_siginfo *info)
{
    return w->file->sender >= 0 && info->ssi_code == SI_USER &&
           (int)info->ssi_pid == w->file->sender;
}

/* Read all pending signals: record whether mpirun or the agent has ordered an end, and pass the
 * signals on to the program.  Return the number of SIGTERM received.
 */
static int read_signals(struct wrapper *w)
{
    struct signalfd_siginfo info;
    int asked = 0;

    while (read(w->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD || is_of_slurm(w, &info))
            continue;
        if (info.ssi_signo == SIGTERM) {
            asked++;
            w->asked = true;
            if ((pid_t)info.ssi_pid == w->parent)
                w->ordered = true;
            /* Only the agent and mpirun may order this wrapper to end; SIGTERM from other processes
             * is only passed on.
             */
            if ((pid_t)info.ssi_pid == (pid_t)w->file->agent_pid)
                w->ordered = w->by_agent = true;
        }
        pass_on(w, (int)info.ssi_signo);
    }
    return asked;
}

/* Wait up to wait_ms for mpirun's death.  When it has died, close w->mpirun, pass SIGTERM on unless
 * that was done before, and set w->kill_ns, when to kill what is left.  The parent-death signal is
 * not enough: it comes when the thread that started this wrapper ends, before the process does, and
 * merges with another SIGTERM.
 */
static void look_at_mpirun(struct wrapper *w, int wait_ms)
{
    struct pollfd fd = { .fd = w->mpirun, .events = POLLIN };

    if (w->mpirun < 0 || poll(&fd, 1, wait_ms) <= 0)
        return;
    (void)close(w->mpirun);
    w->mpirun = -1;
    w->ordered = true;
    w->kill_ns = clock_after_ns(clock_now_ns(), ORPHAN_NS);
    if (!w->asked)
        pass_on(w, SIGTERM);
    w->asked = true;
}

/* Wait for a signal, output, mpirun's end, or the earliest of deadline_ns and this wrapper's own
 * deadlines.  Then send output that is due.
 */
static void wait_for_something(struct wrapper *w, int64_t deadline_ns)
{
    struct pollfd fd[3] = { { .fd = w->signals, .events = POLLIN },
                            { .fd = w->output, .events = POLLIN },
                            { .fd = w->mpirun, .events = POLLIN } };

    int64_t show_ns = output_copy_next_ns(w->copy);

    if (w->kill_ns < deadline_ns)
        deadline_ns = w->kill_ns;
    if (show_ns < deadline_ns)
        deadline_ns = show_ns;
    if (!w->reaped && oom_next_ns(&w->oom) < deadline_ns)
        deadline_ns = oom_next_ns(&w->oom);
    (void)poll(fd, 3, clock_poll_ms(deadline_ns));
    output_copy_tick(w->copy, clock_now_ns());
}

/* Reap all ended children.  If the program is among them, store its waitpid status in *ret_status,
 * set w->reaped, its time and w->peak_bytes, and return true; otherwise return false.
 */
static bool ended(struct wrapper *w, int *ret_status)
{
    struct rusage used;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0)
        if (pid == w->pid) {
            *ret_status = status;
            w->peak_bytes = (int64_t)used.ru_maxrss * 1024;
            w->reaped = true;
            w->reaped_ns = clock_now_ns(); /* before the last output is copied: that may be long */
            return true;
        }
    return false;
}

/* Kill all descendants if w->kill_ns, their deadline after mpirun's death, has passed.  The kill is
 * repeated, because a new process may start meanwhile; ended() reaps them.
 */
static void kill_if_orphaned(struct wrapper *w)
{
    if (clock_now_ns() < w->kill_ns)
        return;
    (void)proctree_signal(getpid(), SIGKILL, 0, NULL);
    w->kill_ns = clock_after_ns(clock_now_ns(), CLOCK_S / 10);
}

/* Copy output, pass signals on, and watch mpirun and memory until the program has ended.  Return
 * its waitpid status.
 */
static int run(struct wrapper *w)
{
    int status = 0;

    while (!ended(w, &status)) {
        wait_for_something(w, CLOCK_NEVER);
        (void)read_signals(w);
        look_at_mpirun(w, 0);
        oom_look(&w->oom, w->pid, clock_now_ns());
        copy_output(w, PIPE_BYTES); /* limited: much output to a slow disk must not delay signals */
        kill_if_orphaned(w);
    }
    copy_output(w, DRAIN_BYTES);
    return status;
}

/* After the program's end, wait until SIGTERM comes, mpirun dies or HOLD_NS has passed; do not wait
 * if mpirun has ordered the end.  There is no time limit if the agent has ordered the end, which
 * will kill this wrapper, or if w->lingers; see wrapper.h.
 */
static void hold(struct wrapper *w)
{
    int64_t end = w->by_agent || w->lingers ? CLOCK_NEVER : clock_after_ns(clock_now_ns(), HOLD_NS);
    bool mpirun_asked = w->ordered && !w->by_agent;

    while (!mpirun_asked && clock_now_ns() < end && w->mpirun >= 0) {
        wait_for_something(w, end);
        if (read_signals(w) > 0)
            return;
        look_at_mpirun(w, 0);
        copy_output(w, PIPE_BYTES);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

/* Check whether the program's output says that it failed because of another rank.  That rank may
 * end later: Python closes connections before it exits.  A program that was ordered to end, or
 * killed by a signal other than SIGABRT, does not count.
 */
static bool is_echo(const struct wrapper *w, int status)
{
    bool itself = WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) != 0;

    return itself && !w->ordered && rank_log_blames_another(w->log);
}

/* Check whether a program, by its waitpid status, died of a signal that its own fault raises. */
static bool died_by_itself(int status)
{
    static const int own[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };

    for (size_t i = 0; WIFSIGNALED(status) && i < sizeof own / sizeof *own; i++)
        if (WTERMSIG(status) == own[i])
            return true;
    return false;
}

/* Wait until ECHO_NS after the program's end, an order to end, or mpirun's death, so that the rank
 * that caused the failure is reported before this one.
 */
static void wait_for_blamed(struct wrapper *w)
{
    int64_t end = clock_after_ns(w->reaped_ns, ECHO_NS);

    while (clock_now_ns() < end && w->mpirun >= 0 && !w->ordered) {
        wait_for_something(w, end);
        (void)read_signals(w);
        look_at_mpirun(w, 0);
        copy_output(w, PIPE_BYTES);
    }
}

/* If mpirun is dead, kill all descendants; if the agent is dead, too, also remove the node's
 * folders: if the supervisor is dead as well, no other process would do it.
 */
static void end_orphaned(struct wrapper *w)
{
    look_at_mpirun(w, w->ordered && !w->by_agent ? DYING_MS : 0);
    if (w->mpirun >= 0)
        return;
    (void)proctree_kill_all(clock_after_ns(clock_now_ns(), 5 * CLOCK_S), NULL);
    if (send(w->agent, "", 0, MSG_NOSIGNAL | MSG_DONTWAIT) == 0 ||
        (errno != ECONNREFUSED && errno != ENOTCONN))
        return;
    (void)file_remove_tree(w->file->run_dir, NULL);
    (void)file_remove_tree(w->file->shm_dir, NULL);
}

/* Return the program's exit code or, if it died of a signal, die of the same signal without a core
 * file, so that mpirun reports the same end.  If the signal does not end this process, return 128 +
 * signal.
 */
static int end_alike(int status)
{
    struct rlimit none = { 0, 0 };
    sigset_t set;

    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(WTERMSIG(status), SIG_DFL);
    sigfillset(&set);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(WTERMSIG(status));
    return spawn_exit_code(status);
}

/* Log and report that the program could not be started, and wait in hold().  Return the exit code:
 * 127 if the program is missing, otherwise 126, as shells do.
 */
static int fail_start(struct wrapper *w, const struct eddis_error *why)
{
    int code = why->code == -ENOENT ? 127 : 126;

    say(w, why->text);
    report_end(w, code << 8);
    hold(w);
    return code;
}

/* Read the rank file, connect to the agent, and open all descriptors and logs of w.  Return 0 or a
 * negative errno; the caller closes them in both cases.
 */
static int open_all(struct wrapper *w, const char *file, struct eddis_error *err)
{
    static const int signals[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, 0 };
    int rc;

    if (w->rank < 0)
        return eddis_fail(err, -EINVAL,
                          "OMPI_COMM_WORLD_RANK is not set; only mpirun starts this program");
    if ((rc = rank_file_read(file, w->rank, &w->file, err)) < 0 ||
        (rc = w->signals = signal_fd_open(signals, err)) < 0 ||
        (rc = w->agent = connect_agent(w->file->socket, err)) < 0)
        return rc;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return eddis_fail_errno(err, -errno, "cannot tie this process to mpirun");
    w->mpirun = process_fd_open(w->parent);
    if (w->mpirun < 0 && errno != ESRCH)
        return eddis_fail_errno(err, -errno, "cannot watch mpirun");
    if (w->mpirun < 0 || getppid() != w->parent)
        return eddis_fail(err, -ESRCH, "mpirun has died");
    w->copy = output_copy_new(w->file->show_bytes_per_s, show, w);
    if (!w->copy)
        return eddis_fail(err, -ENOMEM, "no memory for the program's output");
    if (w->file->step_pattern &&
        (rc = rank_steps_open(w->file->step_pattern, w->file->step_samples, &w->steps, err)) < 0)
        return rc;
    return rank_log_open(w->file->log_dir, w->rank, w->file->generation, w->file->log_max_bytes,
                         &w->log, err);
}

int wrapper_run(const char *file, int rank, struct eddis_error *err)
{
    struct wrapper w = { .rank = rank,
                         .agent = -1,
                         .signals = -1,
                         .output = -1,
                         .mpirun = -1,
                         .parent = getppid(),
                         .kill_ns = CLOCK_NEVER,
                         .oom.kmsg = -1 };
    struct rank_message m = { .kind = RANK_STARTED };
    struct eddis_error why = { 0 };
    int status = 0, rc = open_all(&w, file, err);

    if (rc < 0)
        goto out;
    oom_begin(&w.oom);
    if (prepare(&w, &why) < 0 || start(&w, &why) < 0) {
        rc = fail_start(&w, &why);
        goto out;
    }
    tell(&w, &m);
    status = run(&w);
    w.lingers = (status == 0 || died_by_itself(status)) && rank_steps_left();
    w.echo = is_echo(&w, status);
    if (w.echo)
        wait_for_blamed(&w);
    report_end(&w, status);
    if (status != 0 || w.lingers)
        hold(&w);
    end_orphaned(&w);
    rc = 0;
out:
    oom_end(&w.oom);
    rank_log_close(w.log);
    output_copy_free(w.copy);
    rank_steps_close(w.steps);
    rank_file_free(w.file);
    for (int *fd = (int[]){ w.agent, w.signals, w.output, w.mpirun, -2 }; *fd != -2; fd++)
        if (*fd >= 0)
            (void)close(*fd);
    return rc != 0 ? rc : end_alike(w.lingers ? 0 : status);
}
