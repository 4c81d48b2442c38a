/* SPDX-License-Identifier: Apache-2.0 */
/* start_impl.h - what start.c and its ways share */
#ifndef EDDIS_AGENTS_DRIVER_START_START_IMPL_H
#define EDDIS_AGENTS_DRIVER_START_START_IMPL_H

#include "start.h"

#include "lib/base/strlist.h"

#include <sys/types.h>

enum { START_LINE = 512, START_SAID = 2048, START_TRIES = 8 };

enum start_stage {
    START_IDLE,
    START_QUEUED,
    START_LOGIN,      /* the process runs, nothing of eddis was heard */
    START_UP,         /* the keeper of this version answers and is given its input */
    START_REGISTERED, /* the agent dialled back */
    START_LEAVING,    /* it has said farewell */
    START_OVER,
};

struct start_node {
    const struct start_ops *ops;
    enum start_stage stage;
    char **args; /* NULL-ended, owned */
    char *input; /* owned; NULL: none, or all of it was written and wiped */
    size_t input_n, input_at;
    bool told; /* the input has been written */
    pid_t pid; /* leader of a session; 0: none */
    int pidfd, to, from;
    int tries;           /* that met a limit of connections */
    int64_t at_ns;       /* queued: not before */
    int64_t deadline_ns; /* for registering, or for the session's end */
    char line[START_LINE];
    size_t line_n;
    char said[START_SAID];  /* the last lines that are not of eddis */
    char words[START_LINE]; /* the last of eddis */
    bool has_event;
    struct start_event event;
};

enum start_verdict { START_GIVE_UP, START_AGAIN };

struct start_ops {
    const char *name, *summary;
    bool logs_in;            /* takes one of the START_LOGINS */
    int parent_death_signal; /* of the process here; 0: it shall live on when the driver dies */
    const char *begins;      /* what it does before eddis is heard, for people */

    /* Append the words that run eddis-keeper with args on the host. */
    int (*argv)(const struct starter *s, int host, char *const *args, struct strlist *ret,
                struct eddis_error *err);

    /* Why it ended, with this exit code, before eddis was heard: a sentence that names the host and
     * what to do.
     */
    enum start_verdict (*judge)(const struct starter *s, int host, int code, char *ret,
                                size_t size);

    /* Whether an end with this status, as waitpid's, is that of the session alone; NULL: never. */
    bool (*is_cut)(int status);
};

struct starter {
    struct start_options o;
    struct start_node *node; /* [o.n] */
    int events;              /* epoll */
    int n_logins, n_events;
    bool clean; /* starter_clean may kill what it finds */
    uint64_t random;
    int64_t next_ns;
};

extern const struct start_ops start_local; /* start_local.c */
extern const struct start_ops start_ssh;   /* start_ssh.c */

/* start.c: the last line of several, borrowed; *ret_n is its length. */
const char *start_last_line(const char *said, int *ret_n);

/* start_local.c */
int start_local_clean(int64_t patience_ns, int64_t deadline_ns, struct eddis_error *err);

/* start_ssh.c: of two settings the host's own, and whether it is to be reached without ssh. */
struct job_ssh start_ssh_settings(const struct starter *s, int host);
bool start_ssh_needed(const struct job_host *h);

#endif
