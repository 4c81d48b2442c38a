/* SPDX-License-Identifier: Apache-2.0 */
/* start_impl.h - what the files behind start.h share
 *
 *     start.c        opening, what is known of hosts, the end
 *     queue.c        who is started when, and when again; what is told of each
 *     session.c      the process that stands for a node's keeper
 *     start_step.c         one that stands for the keepers of several
 *     start_local.c  the ways onto a node: on this machine,
 *     start_ssh.c    by a login,
 *     start_slurm.c  and by a step of a Slurm allocation
 */
#ifndef EDDIS_AGENTS_DRIVER_START_START_IMPL_H
#define EDDIS_AGENTS_DRIVER_START_START_IMPL_H

#include "session.h"
#include "start.h"

#include "lib/base/strlist.h"

enum start_stage {
    START_IDLE,
    START_QUEUED,
    START_LOGIN,      /* the process runs, nothing of eddis was heard */
    START_UP,         /* the keeper of this version answers and is given its input */
    START_REGISTERED, /* the agent dialled back */
    START_LEAVING,    /* it has said farewell */
    START_OVER,
};

/* A host as a way onto it sees it. */
struct start_place {
    const char *name;                     /* as people know it */
    const struct job_host *host;          /* NULL: this machine */
    const struct job_ssh *ssh;            /* for what the host does not say; NULL: nothing */
    const struct slurm_allocation *slurm; /* NULL: none */
    int group;                            /* of its nodes, from 0 */
    int64_t launch_ns;
};

enum start_verdict { START_GIVE_UP, START_AGAIN, START_GONE };

/* A way onto a node. */
struct start_ops {
    const char *name, *summary;
    bool logs_in;            /* takes one of the START_LOGINS; it is another machine */
    bool is_shared;          /* its process stands for several nodes (start_step.h) */
    int parent_death_signal; /* of the process here; 0: it shall live on when the driver dies */
    const char *begins;      /* what it does before eddis is heard, for people */

    /* Append the words that run eddis-keeper with args on these hosts: on one, unless the way is
     * shared.
     */
    int (*argv)(const struct start_place *const *at, int n, char *const *args, struct strlist *ret,
                struct eddis_error *err);

    /* Append the variables of that process; NULL: it has ours. */
    void (*environment)(struct strlist *ret);

    /* Append the words that end the step of this number; NULL: it has none. */
    void (*cancel)(const struct start_place *at, int step, struct strlist *ret);

    /* Whether what those say means that there was nothing to end; NULL: never. */
    bool (*is_over)(const char *said);

    /* Say why it ended, with this exit code, before eddis was heard: a sentence that names the host
     * and what to do.  START_GONE: the sentence is about all hosts of the way, and names none.
     */
    enum start_verdict (*judge)(const struct start_place *at, const struct session *p, int code,
                                char *ret, size_t size);

    /* Whether an end with this status, as waitpid's, is that of the session alone; NULL: never. */
    bool (*is_cut)(int status);
};

struct start_node {
    const struct start_ops *ops;
    struct start_place at;
    enum start_stage stage;
    struct strlist args;    /* of eddis-keeper */
    struct session session; /* with a step: what was heard of this node, without a process */
    int step;               /* that stands for it; -1: none */
    bool emptied;           /* its step: nothing is there any more, as keeper or agent has said */
    int tries;              /* that met a limit of connections */
    int64_t at_ns;          /* queued: not before */
    int64_t deadline_ns;    /* for registering, or for the session's end */
    bool has_event;
    struct start_event event;
};

struct starter {
    int n;
    struct start_node *node;  /* [n] */
    struct start_step **step; /* [n_steps] that were ever begun */
    int n_steps;
    int events; /* epoll */
    int n_logins, n_events;
    bool clean; /* starter_clean may kill what it finds */
    uint64_t random;
    int64_t next_ns;
};

extern const struct start_ops start_local; /* start_local.c */
extern const struct start_ops start_ssh;   /* start_ssh.c */
extern const struct start_ops start_slurm; /* start_slurm.c */

/* queue.c: what steps take from it.  The number of whom to watch is that of a host, or n and that
 * of a step.
 */
enum start_watch { START_WATCH_FROM, START_WATCH_TO, START_WATCH_PID, START_WATCHES };

int queue_watch(struct starter *s, int whom, enum start_watch kind, int fd, uint32_t events);
void queue_login(struct starter *s, int host);
void queue_hear(struct starter *s, int host);
void queue_failed(struct starter *s, int host, int code, const char *text);
void queue_ended(struct starter *s, int host, int code);
void queue_lost(struct starter *s, int host, int code, bool cut, const struct session *p);

/* start_ssh.c: say that there is no eddis on that node. */
void start_say_missing(const struct start_place *at, char *ret, size_t size);

/* start_ssh.c: the words of a shell that finds eddis-keeper below a prefix, $1. */
extern const char start_find_keeper[];

/* start_local.c: reap what is left here, for patience_ns, and then kill it. */
int start_local_clean(int64_t patience_ns, int64_t deadline_ns, struct eddis_error *err);

/* start_ssh.c: return of two settings the host's own; and whether the host is reached by ssh even
 * if it is this machine.
 */
struct job_ssh start_ssh_settings(const struct start_place *at);
bool start_ssh_needed(const struct job_host *h);

#endif
