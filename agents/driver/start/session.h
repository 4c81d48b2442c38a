/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the local process that connects to a node's supervisor: its pipes, output and end
 *
 * The process is the supervisor (eddis-keeper) itself or the ssh client, and leads a session of its
 * own.  Its output is read by lines.  The supervisor first prints its version; later lines of
 * supervisor and agent are for the user, and all other lines come from the login.  Nothing blocks:
 * the owner polls the descriptors.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_SESSION_H
#define EDDIS_AGENTS_DRIVER_START_SESSION_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SESSION_LINE = 512, SESSION_SAID = 2048, SESSION_VERSION = 64 };

/* Called with one line of a process's output, without its end. */
typedef void session_line_fn(void *ctx, char *line);

/* The process, its pipes and its latest output. */
struct session {
    pid_t pid;    /* 0: no process */
    int pidfd;    /* readable when the process has ended */
    int to, from; /* its standard input; its output */
    char *input;  /* data for its standard input, owned; NULL: none, or written and wiped */
    size_t input_n, input_at;      /* bytes of input; bytes written so far */
    bool told;                     /* the input has been written */
    bool awaited;                  /* the supervisor has not answered yet */
    char version[SESSION_VERSION]; /* version of the supervisor; "": not known yet */
    char line[SESSION_LINE];       /* the first line_n bytes of an incomplete line */
    size_t line_n;
    char said[SESSION_SAID];  /* the last lines that do not come from eddis */
    char words[SESSION_LINE]; /* the last line from eddis */
    session_line_fn *divide;  /* handles lines of several nodes; NULL: session_take */
    void *ctx;
};

/* Initialise a session without a process. */
void session_init(struct session *p);

/* Forget the output of an earlier process, and keep a copy of the next one's input (NULL: none). */
int session_renew(struct session *p, const char *input, struct eddis_error *err);

/* Start the process.  argv and envp are NULL-terminated; envp NULL: this process's own.  logs_in:
 * it dies with this process, and its standard output, which is a login shell's, is ignored.  If
 * p->pidfd is -1 afterwards, its end cannot be watched, and errno says why.
 */
int session_begin(struct session *p, const char *const *argv, const char *const *envp, bool logs_in,
                  struct eddis_error *err);

/* Read and handle all available output of the process. */
void session_read(struct session *p);

/* Handle a line of output from the supervisor, the agent, or the login. */
void session_take(struct session *p, char *line);

/* Write as much input as the pipe takes.  Once all is written, wipe it and close the pipe. */
void session_write(struct session *p);

/* Wipe and free the input, and close the pipe. */
void session_wipe_input(struct session *p);

/* Kill the process and its whole session, since a replacement for ssh may have started ssh. */
void session_kill(const struct session *p);

/* Kill the process but not its children, which may look after what it started. */
void session_kill_alone(const struct session *p);

/* Ask the process to end, by SIGTERM. */
void session_end(const struct session *p);

/* Reap the process and read its last output.  Return its exit code; -1: it still runs.  *ret_status
 * is waitpid's status, 0 if unknown.  with_helpers: also kill its session, for example programs
 * through which ssh connected.
 */
int session_reap(struct session *p, bool with_helpers, int *ret_status);

/* Close all descriptors of a process that was reaped or abandoned. */
void session_forget(struct session *p);

/* Copy the last line that does not come from eddis, without a newline. */
void session_last_line(const struct session *p, char ret[SESSION_LINE]);

/* Wipe the input and forget the process.  Accepts one that only session_init has touched. */
void session_fini(struct session *p);

#endif
