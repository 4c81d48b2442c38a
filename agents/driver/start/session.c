/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - start, feed, read and reap the local process that connects to a node's supervisor */
#include "session.h"

#include "lib/base/process_fd.h"
#include "lib/base/spawn.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Close the descriptor *fd, if it is open, and set it to -1. */
static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void session_init(struct session *p)
{
    *p = (struct session){ .pidfd = -1, .to = -1, .from = -1 };
}

int session_renew(struct session *p, const char *input, struct eddis_error *err)
{
    p->input = input ? strdup(input) : NULL;
    if (input && !p->input)
        return eddis_fail(err, -ENOMEM, "no memory to start an agent");
    p->input_n = input ? strlen(input) : 0;
    p->input_at = 0;
    p->input_sent = false;
    p->words[0] = p->said[0] = '\0';
    return 0;
}

/* ---- starting ---- */

/* Make the pipes for a process's input and output; our ends, in[1] and out[0], do not block.
 * Return 0 or -errno, with no pipe open.
 */
static int make_pipes(int in[2], int out[2])
{
    if (pipe2(in, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(out, O_CLOEXEC) < 0) {
        int rc = -errno;

        (void)close(in[0]);
        (void)close(in[1]);
        return rc;
    }
    (void)fcntl(in[1], F_SETFL, O_NONBLOCK);
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    return 0;
}

/* Start the process in a session of its own: Ctrl-C at the terminal is for the driver alone, and
 * without a terminal no program can ask for a password.
 */
int session_begin(struct session *p, const char *const *argv, const char *const *envp, bool logs_in,
                  struct eddis_error *err)
{
    struct spawn w = { .argv = argv,
                       .envp = envp,
                       .own_session = true,
                       .parent_death_signal = logs_in ? SIGKILL : 0 };
    int in[2], out[2], rc = make_pipes(in, out);

    if (rc < 0)
        return eddis_fail_errno(err, rc, "cannot make a pipe");
    w.in = in[0];
    w.out = logs_in ? -1 : out[1]; /* a login shell's own output is ignored */
    w.err = out[1];
    rc = spawn_start(&w, &p->pid, err);
    (void)close(in[0]);
    (void)close(out[1]);
    p->to = in[1];
    p->from = out[0];
    p->line_n = 0;
    p->version[0] = '\0';
    if (rc < 0) {
        session_forget(p);
        return rc;
    }
    p->pidfd = process_fd_open(p->pid);
    return 0;
}

/* ---- its output ---- */

/* Append a line to p->said, the kept output, and drop its oldest lines if there is no room: what
 * matters comes last, after banners.
 */
static void remember(struct session *p, const char *line)
{
    size_t have = strlen(p->said), n = strlen(line);

    while (have && have + n + 2 > sizeof p->said) {
        char *next = strchr(p->said, '\n');

        next = next ? next + 1 : p->said + have;
        have -= (size_t)(next - p->said);
        memmove(p->said, next, have + 1);
    }
    (void)snprintf(p->said + have, sizeof p->said - have, "%s\n", line);
}

/* Check whether a line begins with a word. */
static bool begins_with(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* Record the version in the supervisor's first line, and that the supervisor has answered.  With
 * our version, the words for the user become "started".
 */
static void take_version(struct session *p, const char *version)
{
    p->awaited = false;
    (void)snprintf(p->version, sizeof p->version, "%.63s", version);
    if (strcmp(version, EDDIS_VERSION) == 0)
        (void)snprintf(p->words, sizeof p->words, "started");
}

void session_take(struct session *p, char *line)
{
    static const char keeper[] = "eddis-keeper ";

    text_strip_control(line);
    if (p->awaited && begins_with(line, keeper))
        take_version(p, line + sizeof keeper - 1);
    else if (begins_with(line, "eddis-agent "))
        (void)snprintf(p->words, sizeof p->words, "started");
    else if (begins_with(line, "eddis-keeper: ") || begins_with(line, "eddis-agent: "))
        (void)snprintf(p->words, sizeof p->words, "%s", strchr(line, ' ') + 1);
    else if (*line)
        remember(p, line);
}

/* Pass a complete line of a process's output to p->divide, if set, else to session_take. */
static void take_line(struct session *p)
{
    p->line[p->line_n] = '\0';
    p->line_n = 0;
    if (p->divide)
        p->divide(p->ctx, p->line);
    else
        session_take(p, p->line);
}

/* Add a byte to the current line of output, or handle the line at its end.  The excess of a long
 * line is dropped.
 */
static void take_byte(struct session *p, char byte)
{
    if (byte == '\n') {
        p->line[p->line_n] = '\0';
        p->line_n = strcspn(p->line, "\r");
        take_line(p);
    } else if (p->line_n + 1 < sizeof p->line) {
        p->line[p->line_n++] = byte ? byte : '?';
    }
}

void session_read(struct session *p)
{
    char bytes[1024];
    ssize_t n;

    while (p->from >= 0 && (n = read(p->from, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        for (ssize_t i = 0; i < n; i++)
            take_byte(p, bytes[i]);
    }
    close_fd(&p->from);
}

void session_last_line(const struct session *p, char ret[SESSION_LINE])
{
    const char *said = p->said;
    size_t end = strlen(said), begin;

    while (end && said[end - 1] == '\n')
        end--;
    for (begin = end; begin && said[begin - 1] != '\n';)
        begin--;
    (void)snprintf(ret, SESSION_LINE, "%.*s", (int)(end - begin), said + begin);
}

/* ---- its input ---- */

void session_wipe_input(struct session *p)
{
    if (p->input)
        explicit_bzero(p->input, p->input_n);
    free(p->input);
    p->input = NULL;
    close_fd(&p->to);
}

void session_write(struct session *p)
{
    ssize_t n = 0;

    if (p->to < 0)
        return;
    while (p->input && p->input_at < p->input_n) {
        n = write(p->to, p->input + p->input_at, p->input_n - p->input_at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break; /* the process has ended, as its pidfd will show */
        p->input_at += (size_t)n;
    }
    p->input_sent = n >= 0;
    session_wipe_input(p);
}

/* ---- its end ---- */

void session_kill(const struct session *p)
{
    if (p->pid > 0)
        (void)kill(-p->pid, SIGKILL);
}

void session_kill_alone(const struct session *p)
{
    if (p->pid > 0)
        (void)kill(p->pid, SIGKILL);
}

void session_end(const struct session *p)
{
    if (p->pid > 0)
        (void)kill(p->pid, SIGTERM);
}

/* If the process has ended, kill what is left of its session: if ssh was killed, programs through
 * which it connected still run.  This happens before reaping, while the number of its process group
 * cannot be reused.
 */
static void end_helpers(const struct session *p)
{
    siginfo_t i = { 0 };

    if (waitid(P_PID, (id_t)p->pid, &i, WEXITED | WNOHANG | WNOWAIT) == 0 && i.si_pid == p->pid)
        session_kill(p);
}

int session_reap(struct session *p, bool with_helpers, int *ret_status)
{
    int status = 0;
    pid_t got;

    if (with_helpers)
        end_helpers(p);
    do
        got = waitpid(p->pid, &status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return -1;
    session_read(p); /* its last output */
    if (p->line_n)
        take_line(p);
    *ret_status = status;
    return got < 0 ? 255 : spawn_exit_code(status);
}

void session_forget(struct session *p)
{
    p->pid = 0;
    close_fd(&p->pidfd);
    close_fd(&p->from);
    close_fd(&p->to);
}

void session_fini(struct session *p)
{
    session_wipe_input(p);
    session_forget(p);
}
