/* SPDX-License-Identifier: Apache-2.0 */
/* start_impl.h - declarations shared by the files that implement start.h
 *
 *     start.c        open, questions about hosts, the end
 *     queue.c        when a host is started and retried, and the events of its start
 *     session.c      the process that connects to a node's supervisor
 *     start_step.c   one process that connects to several nodes' supervisors
 *     start_local.c  the ways to a node: on this machine,
 *     start_ssh.c    by a login,
 *     start_slurm.c  and by a step of a Slurm allocation
 */
#ifndef EDDIS_AGENTS_DRIVER_START_START_IMPL_H
#define EDDIS_AGENTS_DRIVER_START_START_IMPL_H

#include "session.h"
#include "start.h"

#include "lib/base/strlist.h"

/* The stages of a start, see start.h. */
enum start_stage {
    START_IDLE,
    START_QUEUED,
    START_LOGIN,      /* the process runs; the supervisor has not printed its version */
    START_UP,         /* the supervisor has printed its version, and gets its input */
    START_REGISTERED, /* the agent has registered */
    START_LEAVING,    /* the agent has reported that it leaves */
    START_OVER,
};

/* A host, as the functions of struct start_ops need it */
struct start_place {
    const char *name;                     /* name for the user */
    const struct job_host *host;          /* the job's entry for the host; NULL: this machine */
    const struct job_ssh *ssh;            /* defaults for the host's ssh settings; NULL: none */
    const struct slurm_allocation *slurm; /* NULL: none */
    int group;                            /* group of the host in the allocation, from 0 */
    int64_t launch_ns;
};

/* What to do after a failed start: report it, try again, or give up all hosts with the same
 * start_ops
 */
enum start_verdict { START_GIVE_UP, START_AGAIN, START_GONE };

/* The functions of one way to a node. */
struct start_ops {
    const char *name;
    bool logs_in;       /* counts towards START_LOGINS; the node is another machine */
    bool is_shared;     /* one process serves several nodes (start_step.h) */
    const char *begins; /* what it does before the supervisor answers, for the user */

    /* Append the command that runs the supervisor with args on these hosts; n is 1 unless the way
     * is shared.
     */
    int (*argv)(const struct start_place *const *at, int n, char *const *args, struct strlist *ret,
                struct eddis_error *err);

    /* Append to ret the environment of the process; NULL: the process has the driver's. */
    void (*environment)(struct strlist *ret);

    /* Append to ret the command that ends the step of this number; NULL: this way has no steps. */
    void (*cancel)(const struct start_place *at, int step, struct strlist *ret);

    /* Check whether the output of the command from `cancel` means that the step had already ended;
     * NULL: never.
     */
    bool (*is_over)(const char *said);

    /* Write to ret why the process ended with this exit code before the supervisor printed its
     * version: a sentence that names the host and a remedy. With START_GONE the sentence is about
     * all hosts and names no host.
     */
    enum start_verdict (*judge)(const struct start_place *at, const struct session *p, int code,
                                char *ret, size_t size);

    /* Check whether the end of the process with this status (of waitpid) may be the end of the
     * session only, so that the agent still runs; NULL: never.
     */
    bool (*is_cut)(int status);
};

/* One host and its start. */
struct start_node {
    const struct start_ops *ops;
    struct start_place at;
    enum start_stage stage;
    struct strlist args; /* arguments of the supervisor */
    /* process and output; for a node of a step only the output, without a process */
    struct session session;
    int step;            /* number of the step to which the node belongs; -1: none */
    bool emptied;        /* node of a step: it was reported that nothing remains on the node */
    int tries;           /* number of attempts that met a limit of connections */
    int64_t at_ns;       /* earliest time of a queued start */
    int64_t deadline_ns; /* deadline for registering, or for the session's end */
    bool has_event;
    struct start_event event; /* the unread event, if has_event */
};

/* All hosts of a job and their starts. */
struct starter {
    int n;
    struct start_node *node; /* [n] hosts and their starts */
    /* [n_steps] all steps that were started, also those that have ended */
    struct start_step **step;
    int n_steps;
    int events;             /* epoll descriptor */
    int n_logins, n_events; /* number of logins in progress; number of unread events */
    bool clean;             /* starter_clean may kill any child process */
    uint64_t random;        /* state of the random generator for retry delays */
    int64_t next_ns;        /* time at which starter_turn must be called */
};

extern const struct start_ops start_local; /* start_local.c */
extern const struct start_ops start_ssh;   /* start_ssh.c */
extern const struct start_ops start_slurm; /* start_slurm.c */

/* The functions queue_* are in queue.c. `whom` is the number of a host, or n plus the number of a
 * step.
 */
enum start_watch { START_WATCH_FROM, START_WATCH_TO, START_WATCH_PID, START_WATCHES };

/* Watch a descriptor of a host or step for epoll events.  Return 0 or -errno. */
int queue_watch(struct starter *s, int whom, enum start_watch kind, int fd, uint32_t events);

/* Start and watch the process that runs the supervisor on n hosts (1 unless the way is shared), in
 * this session. p is the first of the hosts.
 */
int queue_run(struct starter *s, int whom, const struct start_node *p,
              const struct start_place *const *at, int n, struct session *session,
              struct eddis_error *err);

/* Record that the step's process for this host runs. */
void queue_login(struct starter *s, int host);

/* Handle the version line of the host's supervisor, if it has just arrived. */
void queue_hear(struct starter *s, int host);

/* Report that this host could not be started; text: the reason. */
void queue_failed(struct starter *s, int host, const char *text);

/* Handle the end of the supervisor on a step's node, with this exit code. */
void queue_ended(struct starter *s, int host, int code);

/* Handle the end of p, the process of the step to which this host belongs; cut: agents may still
 * run.
 */
void queue_lost(struct starter *s, int host, int code, bool cut, const struct session *p);

/* start_ssh.c: write to ret a sentence for the user that eddis is not installed on this host. */
void start_say_missing(const struct start_place *at, char *ret, size_t size);

/* start_ssh.c: append the command that runs eddis-keeper with args on this other machine. */
int start_keeper_command(const struct job_host *h, char *const *args, struct strlist *ret,
                         struct eddis_error *err);

/* start_local.c: reap child processes for patience_ns, then kill the remaining ones. Blocks at most
 * until deadline_ns. Return 0 or a negative errno.
 */
int start_local_clean(int64_t patience_ns, int64_t deadline_ns, struct eddis_error *err);

/* start_ssh.c: return the host's ssh settings, completed by the defaults.  Strings are borrowed. */
struct job_ssh start_ssh_settings(const struct start_place *at);

/* start_ssh.c: check whether the host has ssh settings of its own, so that ssh is used even for
 * this machine.
 */
bool start_ssh_needed(const struct job_host *h);

#endif
