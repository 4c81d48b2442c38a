/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the local process that connects to a node's supervisor: its pipes, its output and its
 * end
 *
 * The process is the supervisor (eddis-keeper) itself or the ssh client, and leads a session of its
 * own. The process's output is read line by line. The supervisor first prints its version; later
 * lines of supervisor and agent are for the user, and all other lines come from the login. No
 * function blocks: the owner polls the descriptors.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_SESSION_H
#define EDDIS_AGENTS_DRIVER_START_SESSION_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SESSION_LINE = 512, SESSION_SAID = 2048, SESSION_VERSION = 64 };

/* Type of a function called with one line of a process's output, without the newline */
typedef void session_line_fn(void *ctx, char *line);

/* The process, its pipes and its latest output. */
struct session {
    pid_t pid;    /* process id; 0: no process */
    int pidfd;    /* readable when the process has ended */
    int to, from; /* pipes to the process's standard input and from its output */
    /* data for the process's standard input, owned; NULL: none, or written and wiped */
    char *input;
    size_t input_n, input_at;      /* length of `input`; number of bytes written so far */
    bool input_sent;               /* the input has been written */
    bool awaited;                  /* the supervisor has not printed its version yet */
    char version[SESSION_VERSION]; /* version of the supervisor; "": not known yet */
    char line[SESSION_LINE];       /* the first line_n bytes of a line that is not complete yet */
    size_t line_n;
    char said[SESSION_SAID];  /* the last lines that do not come from eddis */
    char words[SESSION_LINE]; /* the last line from eddis */
    /* function that handles the lines, if they are those of several nodes; NULL: session_take */
    session_line_fn *divide;
    void *ctx;
};

/* Initialise a session without a process. */
void session_init(struct session *p);

/* Discard the output of an earlier process, and copy the input for the next process (NULL: none).
 * Return 0 or -ENOMEM.
 */
int session_renew(struct session *p, const char *input, struct eddis_error *err);

/* Start the process. argv and envp are NULL-terminated; envp NULL: this process's own. logs_in: it
 * dies with this process, and its standard output, which is a login shell's, is ignored. Return 0,
 * or a negative errno with no process. If p->pidfd is -1 after success, its end cannot be watched,
 * and errno says why.
 */
int session_begin(struct session *p, const char *const *argv, const char *const *envp, bool logs_in,
                  struct eddis_error *err);

/* Read and handle all available output of the process. */
void session_read(struct session *p);

/* Handle a line of output from the supervisor, the agent, or the login. */
void session_take(struct session *p, char *line);

/* Write as much of the input as the pipe takes. When all is written, wipe the input and close the
 * pipe.
 */
void session_write(struct session *p);

/* Wipe and free the input, and close the pipe. */
void session_wipe_input(struct session *p);

/* Kill the process and its whole session, since a replacement for ssh may have started ssh. */
void session_kill(const struct session *p);

/* Kill the process, but not its children, which may clean up what the process started. */
void session_kill_alone(const struct session *p);

/* Ask the process to end, by SIGTERM. */
void session_end(const struct session *p);

/* Reap the process and read its last output. Return its exit code as in a shell, and store
 * waitpid's status in *ret_status (0: unknown). Return -1 if it still runs. with_helpers: first
 * kill other processes of its session, for example programs through which ssh connected.
 */
int session_reap(struct session *p, bool with_helpers, int *ret_status);

/* Close all descriptors of a process that was reaped or abandoned. */
void session_forget(struct session *p);

/* Copy the last line that does not come from eddis, without a newline. */
void session_last_line(const struct session *p, char ret[SESSION_LINE]);

/* Wipe and free the input, and close all descriptors. Accepts a session without a process. */
void session_fini(struct session *p);

#endif
