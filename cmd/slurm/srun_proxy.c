/* SPDX-License-Identifier: Apache-2.0 */
/* srun_proxy.c - runs srun, and separates srun's messages from those of the program behind it */
#include "srun_proxy.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/program.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/base/strlist.h"
#include "lib/base/text.h"
#include "lib/base/user_env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { PATIENCE_S = 30 }; /* longest wait for the hello line */

/* First line that `script` prints on its standard output. */
static const char hello[] = "eddis is here\n";

/* Shell script that srun starts on the node: print the hello line, then become the program of eddis
 * at the path that it has here, else the one in PATH there.
 */
static const char script[] = "echo eddis is here; p=$1; shift; test -x \"$p\" || p=${p##*/}; "
                             "exec \"$p\" \"$@\"";

/* ---- start ---- */

/* Append srun's command line to ret; program: its path; words: its name and arguments. Give every
 * option, since srun reads missing ones from variables; but not --unbuffered, which would make the
 * program's output a terminal.
 */
static void add_words(const struct srun_proxy *at, const char *program, const char *const *words,
                      struct strlist *ret)
{
    static const char *const always[] = {
        "--overlap",
        "--nodes=1",
        "--ntasks=1",
        "--ntasks-per-node=1",
        "--mpi=none",
        "--export=ALL",
        "--kill-on-bad-exit=0",
        "--wait=0",
        "--mem=0",
        "--input=none",
        "--cpu-bind=none",
        "--open-mode=t",
        "--chdir=/",
        "--job-name=eddis",
        "--quiet",
        NULL,
    };

    strlist_addf(ret, "srun");
    strlist_addf(ret, "--jobid=%s", at->job);
    if (at->group >= 0)
        strlist_addf(ret, "--het-group=%d", at->group);
    strlist_addf(ret, "--nodelist=%s", at->node);
    strlist_add_all(ret, (char *const *)(uintptr_t)always);
    strlist_addf(ret, "/bin/sh");
    strlist_addf(ret, "-c");
    strlist_addf(ret, "%s", script);
    strlist_addf(ret, "eddis");
    strlist_addf(ret, "%s", program);
    strlist_add_all(ret, (char *const *)(uintptr_t)(words + 1));
}

/* Append this process's environment to ret ("NAME=VALUE"), without the variables of a Slurm job
 * that this process may be in; SLURM_CONF stays.
 */
static void add_environment(struct strlist *ret)
{
    cleanup_strlist struct strlist own = { 0 };

    user_env_add(&own);
    for (size_t i = 0; i < own.n; i++) {
        const char *e = own.item[i];

        if (strncmp(e, "SLURM_CONF=", 11) == 0 ||
            (strncmp(e, "SLURM_", 6) != 0 && strncmp(e, "SRUN_", 5) != 0 &&
             strncmp(e, "PMI", 3) != 0))
            strlist_addf(ret, "%s", e);
    }
    ret->failed = ret->failed || own.failed;
}

/* Start srun with pipes for its standard output and error, and store its pid and the read ends in
 * *c. Return 0; -ENOTSUP: there is no srun; or another negative error.
 */
static int start(struct srun_proxy_call *c, const char *const *argv, const char *const *envp,
                 struct eddis_error *err)
{
    struct spawn s = { .argv = argv,
                       .envp = envp,
                       .in = -1,
                       .own_group = true, /* Ctrl-C reaches only us, and we end srun */
                       .parent_death_signal = SIGTERM };
    int out[2] = { -1, -1 }, errors[2] = { -1, -1 }, rc;

    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0) {
        rc = eddis_fail_errno(err, -errno, "cannot make a pipe for srun");
    } else {
        s.out = out[1];
        s.err = errors[1];
        rc = spawn_start(&s, &c->pid, err);
    }
    for (int i = rc < 0 ? 0 : 1; i < 2; i++) {
        if (out[i] >= 0)
            (void)close(out[i]);
        if (errors[i] >= 0)
            (void)close(errors[i]);
    }
    c->out = out[0];
    c->errors = errors[0];
    return rc == -ENOENT
               ? eddis_fail(err, -ENOTSUP,
                            "there is no 'srun' in PATH to reach node %s of Slurm's job %s",
                            c->at->node, c->at->name)
               : rc;
}

int srun_proxy_begin(const struct srun_proxy *at, const char *const *words, bool quiet,
                     struct srun_proxy_call *ret, struct eddis_error *err)
{
    struct srun_proxy_call c = { .at = at, .quiet = quiet };
    cleanup_strlist struct strlist argv = { 0 }, envp = { 0 };
    char program[PATH_MAX], real[PATH_MAX];
    int rc = program_path(words[0], program, sizeof program, err);

    if (rc < 0)
        return rc;
    add_words(at, realpath(program, real) ? real : program, words, &argv);
    add_environment(&envp);
    if (argv.failed || envp.failed)
        rc = eddis_fail(err, -ENOMEM, "no memory for srun's arguments");
    (void)signal(SIGCHLD, SIG_DFL); /* if it were ignored, srun's exit code would be lost */
    if (rc == 0)
        rc = start(&c, (const char *const *)argv.item, (const char *const *)envp.item, err);
    c.end_ns = clock_now_ns() + PATIENCE_S * CLOCK_S;
    if (rc == 0)
        *ret = c;
    return rc;
}

/* ---- reading ---- */

/* Close a pipe and mark it as closed (-1). */
static void close_end(int *fd)
{
    (void)close(*fd);
    *fd = -1;
}

/* Search n bytes of output for the hello line and set c->here when it is complete. Move the bytes
 * that follow it to the front of `bytes` and return their number; 0: none. Before that, store only
 * the last bytes in c->said, as the line may come in parts.
 */
static int take_hello(struct srun_proxy_call *c, char *bytes, size_t n)
{
    const size_t length = sizeof hello - 1;
    size_t rest = 0;

    for (size_t i = 0; i < n && !c->here; i++) {
        if (c->said_n == length) {
            memmove(c->said, c->said + 1, length - 1);
            c->said_n--;
        }
        c->said[c->said_n++] = bytes[i];
        c->here = c->said_n == length && memcmp(c->said, hello, length) == 0;
        rest = n - i - 1;
    }
    if (!c->here)
        return 0;
    c->end_ns = CLOCK_NEVER;
    memmove(bytes, bytes + n - rest, rest);
    return (int)rest;
}

/* Process c->line, a line of standard error, and empty it. If srun or slurmstepd wrote it, store it
 * in c->srun and set c->cut if the step was ended. Otherwise store it in c->last and, after the
 * hello line and unless c->quiet, print it on our standard error.
 */
static void take_line(struct srun_proxy_call *c)
{
    static const char *const own[] = { "srun: ", "slurmstepd" };

    c->line[c->line_n] = '\0';
    c->line_n = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (strncmp(c->line, own[i], strlen(own[i])) != 0)
            continue;
        c->cut = c->cut || strstr(c->line, "*** STEP ") || strstr(c->line, "step aborted") ||
                 strstr(c->line, "orce Terminated");
        /* Skip srun's advice, and "task 0: Exited with exit code 2": this process exits with that
         * code, too.
         */
        if (i == 0 && !strstr(c->line, ": task 0: ") && !strstr(c->line, "lacks support"))
            (void)snprintf(c->srun, sizeof c->srun, "%.250s", c->line);
        return;
    }
    (void)snprintf(c->last, sizeof c->last, "%.250s", c->line);
    if (c->here && !c->quiet) {
        fprintf(stderr, "%s\n", c->line);
        c->shown = true;
    }
}

/* Read available bytes of standard error and process each complete line. At the end of file process
 * the rest and close the pipe. Blocks if nothing is available.
 */
static void read_errors(struct srun_proxy_call *c)
{
    char bytes[512];
    ssize_t n = read(c->errors, bytes, sizeof bytes);

    if (n < 0 && errno == EINTR)
        return;
    for (ssize_t i = 0; i < n; i++) {
        bool end = bytes[i] == '\n';

        if (!end)
            c->line[c->line_n++] = bytes[i];
        if (end || c->line_n == sizeof c->line - 1)
            take_line(c);
    }
    if (n > 0)
        return;
    if (c->line_n)
        take_line(c);
    close_end(&c->errors);
}

int srun_proxy_read(struct srun_proxy_call *c, char *ret, size_t size, struct eddis_error *err)
{
    struct pollfd p[] = { { .fd = c->out, .events = POLLIN },
                          { .fd = c->errors, .events = POLLIN } };
    ssize_t n = 0;

    if (poll(p, 2, 0) > 0) {
        if (p[1].revents)
            read_errors(c);
        if (p[0].revents) {
            n = read(c->out, ret, size);
            if (n == 0)
                close_end(&c->out);
        }
    }
    if (n > 0)
        return c->here ? (int)n : take_hello(c, ret, (size_t)n);
    if (!c->here && clock_now_ns() >= c->end_ns)
        return eddis_fail(err, -ETIMEDOUT,
                          "srun has not reached node %s of Slurm's job %s within %d s%s%s; run "
                          "sinfo -n %s to see the state of the node",
                          c->at->node, c->at->name, PATIENCE_S, *c->srun ? ": " : "", c->srun,
                          c->at->node);
    return 0;
}

bool srun_proxy_is_over(const struct srun_proxy_call *c)
{
    return c->out < 0 && c->errors < 0;
}

/* ---- end ---- */

int srun_proxy_end(struct srun_proxy_call *c, struct eddis_error *err)
{
    /* On SIGTERM srun ends the step. If srun is killed, its helper process ends the step. */
    static const struct spawn_rung now[] = { { SIGTERM, 5 * CLOCK_S }, { SIGKILL, CLOCK_S } };
    static const struct spawn_rung soon[] = { { 0, 5 * CLOCK_S },
                                              { SIGTERM, 5 * CLOCK_S },
                                              { SIGKILL, CLOCK_S } };
    bool over = srun_proxy_is_over(c);
    const char *why = *c->srun ? c->srun : c->last;
    int status = 0, code;

    (void)spawn_stop(c->pid, over ? soon : now, over ? 3 : 2, &status, NULL);
    if (c->out >= 0)
        close_end(&c->out);
    if (c->errors >= 0)
        close_end(&c->errors);
    code = spawn_exit_code(status);
    if (!over)
        return code;
    if (!c->here)
        return eddis_fail(err, -EIO, "cannot reach node %s of Slurm's job %s: %s", c->at->node,
                          c->at->name, *why ? why : "srun gave no reason");
    if (code == EXIT_NOT_FOUND || code == EXIT_NOT_EXECUTABLE)
        return eddis_fail(err, -ENOENT,
                          "there is no eddis on node %s of Slurm's job %s, neither at the same "
                          "path as here nor in PATH",
                          c->at->node, c->at->name);
    /* The program itself does not end by a signal. */
    if (c->cut || code > 128)
        return eddis_fail(
            err, -ECONNRESET,
            "Slurm ended its step before node %s of job %s had answered completely%s%s",
            c->at->node, c->at->name, *c->srun ? ": " : "", c->srun);
    /* If the last line came before the hello line, it was not recognized as the program's own. */
    if (code && !c->shown && !c->quiet && *c->last)
        fprintf(stderr, "%s\n", c->last);
    return code;
}

/* ---- a whole run ---- */

/* Pass the program's output to take() until both pipes are closed. Block until then. Return 0; 128
 * + the signal that was read from the signalfd `signals`; -ETIMEDOUT after end_ns; or another
 * negative error of srun_proxy_read.
 */
static int copy(struct srun_proxy_call *c, int signals, int64_t end_ns,
                void (*take)(void *ctx, const char *bytes, size_t n), void *ctx,
                struct eddis_error *err)
{
    char bytes[16384];

    while (!srun_proxy_is_over(c)) {
        struct pollfd p[] = { { .fd = c->out, .events = POLLIN },
                              { .fd = c->errors, .events = POLLIN },
                              { .fd = signals, .events = POLLIN } };
        struct signalfd_siginfo info;
        int n;

        (void)poll(p, 3, clock_poll_ms(c->end_ns < end_ns ? c->end_ns : end_ns));
        if (p[2].revents && read(signals, &info, sizeof info) == sizeof info)
            return 128 + (int)info.ssi_signo;
        n = srun_proxy_read(c, bytes, sizeof bytes, err);
        if (n < 0)
            return n;
        if (n > 0)
            take(ctx, bytes, (size_t)n);
        if (clock_now_ns() >= end_ns)
            return eddis_fail(err, -ETIMEDOUT,
                              "eddis on node %s of Slurm's job %s has not answered in time",
                              c->at->node, c->at->name);
    }
    return 0;
}

void srun_proxy_keep(void *ctx, const char *bytes, size_t n)
{
    strbuf_add_bytes(ctx, bytes, n);
}

int srun_proxy_run(const struct srun_proxy *at, const char *const *words, int64_t most_ns,
                   void (*take)(void *ctx, const char *bytes, size_t n), void *ctx,
                   struct eddis_error *err)
{
    struct srun_proxy_call c;
    cleanup_fd int signals = -1;
    sigset_t set, before;
    int rc, code;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, &before) < 0)
        return eddis_fail_errno(err, -errno, "cannot wait for signals");
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    rc = signals < 0 ? eddis_fail_errno(err, -errno, "cannot wait for signals")
                     : srun_proxy_begin(at, words, false, &c, err);
    if (rc == 0) {
        rc = copy(&c, signals, clock_after_ns(clock_now_ns(), most_ns), take, ctx, err);
        code = srun_proxy_end(&c, rc == 0 ? err : NULL);
        rc = rc == 0 ? code : rc;
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}
