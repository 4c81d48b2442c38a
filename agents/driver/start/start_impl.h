/* SPDX-License-Identifier: Apache-2.0 */
/* start_impl.h - what the files behind start.h share
 *
 *     start.c        opening, what is known of hosts, the end
 *     queue.c        who is started when, and when again; what is told of each
 *     session.c      the process that stands for a node's keeper
 *     start_local.c  the ways onto a node: on this machine,
 *     start_ssh.c    and by a login
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
    const char *name;            /* as people know it */
    const struct job_host *host; /* NULL: this machine */
    const struct job_ssh *ssh;   /* for what the host does not say; NULL: nothing */
    int64_t launch_ns;
};

enum start_verdict { START_GIVE_UP, START_AGAIN };

/* A way onto a node. */
struct start_ops {
    const char *name, *summary;
    bool logs_in;            /* takes one of the START_LOGINS */
    int parent_death_signal; /* of the process here; 0: it shall live on when the driver dies */
    const char *begins;      /* what it does before eddis is heard, for people */

    /* Append the words that run eddis-keeper with args on the host. */
    int (*argv)(const struct start_place *at, char *const *args, struct strlist *ret,
                struct eddis_error *err);

    /* Say why it ended, with this exit code, before eddis was heard: a sentence that names the host
     * and what to do.
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
    struct strlist args; /* of eddis-keeper */
    struct session session;
    int tries;           /* that met a limit of connections */
    int64_t at_ns;       /* queued: not before */
    int64_t deadline_ns; /* for registering, or for the session's end */
    bool has_event;
    struct start_event event;
};

struct starter {
    int n;
    struct start_node *node; /* [n] */
    int events;              /* epoll */
    int n_logins, n_events;
    bool clean; /* starter_clean may kill what it finds */
    uint64_t random;
    int64_t next_ns;
};

extern const struct start_ops start_local; /* start_local.c */
extern const struct start_ops start_ssh;   /* start_ssh.c */

/* start_local.c: reap what is left here, for patience_ns, and then kill it. */
int start_local_clean(int64_t patience_ns, int64_t deadline_ns, struct eddis_error *err);

/* start_ssh.c: return of two settings the host's own; and whether the host is reached by ssh even
 * if it is this machine.
 */
struct job_ssh start_ssh_settings(const struct start_place *at);
bool start_ssh_needed(const struct job_host *h);

#endif
