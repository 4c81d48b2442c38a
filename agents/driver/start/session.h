/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the process here that stands for eddis-keeper on a node: its pipes, words and end
 *
 * It is eddis-keeper itself or the ssh client, leader of a session of its own.  What it says comes
 * line by line: the keeper's first words are its version, later ones of keeper and agent are for
 * people, and all else is of the login.  Nothing blocks; who owns it polls its descriptors.
 */
#ifndef EDDIS_AGENTS_DRIVER_START_SESSION_H
#define EDDIS_AGENTS_DRIVER_START_SESSION_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SESSION_LINE = 512, SESSION_SAID = 2048, SESSION_VERSION = 64 };

/* Take one line of what a process says, without its end. */
typedef void session_line_fn(void *ctx, char *line);

struct session {
    pid_t pid;    /* 0: there is no process */
    int pidfd;    /* readable at its end */
    int to, from; /* its standard input; its words */
    char *input;  /* owned; NULL: none, or all of it was written and wiped */
    size_t input_n, input_at;
    bool told;                     /* the input has been written */
    bool awaited;                  /* the keeper's first words are still to come */
    char version[SESSION_VERSION]; /* that they told; "" until then */
    char line[SESSION_LINE];       /* line_n bytes of one that has not ended */
    size_t line_n;
    char said[SESSION_SAID];  /* the last lines that are not of eddis */
    char words[SESSION_LINE]; /* the last line of eddis */
    session_line_fn *divide;  /* takes its lines, which are of several nodes; NULL: of this one */
    void *ctx;
};

struct session_command {
    const char *const *argv; /* NULL-ended */
    const char *const *envp; /* NULL-ended; NULL: this process's own */
    bool logs_in;            /* what it prints on standard output is not for us */
    int parent_death_signal; /* 0: it shall live on when this process dies */
};

/* Make a session without a process. */
void session_init(struct session *p);

/* Forget what an earlier process said, and keep a copy of input (NULL: none) for the next one. */
int session_renew(struct session *p, const char *input, struct eddis_error *err);

/* Start the process.  p->pidfd is -1, and errno says why, when its end cannot be seen. */
int session_begin(struct session *p, const struct session_command *c, struct eddis_error *err);

/* Take in what it has said. */
void session_read(struct session *p);

/* Take in a line that its keeper or agent has said, or something else on the way there. */
void session_take(struct session *p, char *line);

/* Write of the input what the pipe takes; all of it wiped once it is written. */
void session_write(struct session *p);

/* Say that there is nothing more to be written. */
void session_wipe_input(struct session *p);

/* Kill the process and all of its session: what stands in the place of ssh may have started ssh. */
void session_kill(const struct session *p);

/* Kill the process alone, and not what it has started to look after it. */
void session_kill_alone(const struct session *p);

/* Ask the process to end in good order. */
void session_end(const struct session *p);

/* Reap the process and take in its last words.  with_helpers: what it had started to connect
 * through is killed.  Returns its exit code, or -1 while it runs; *ret_status is as waitpid's, 0
 * when that is not known.
 */
int session_reap(struct session *p, bool with_helpers, int *ret_status);

/* Close all descriptors of a process that was reaped or is left to itself. */
void session_forget(struct session *p);

/* Borrows the last of the lines that are not of eddis; *ret_n is its length. */
const char *session_last_line(const struct session *p, int *ret_n);

/* Forget the process and wipe the input.  Accepts one of which only session_init is done. */
void session_fini(struct session *p);

#endif
