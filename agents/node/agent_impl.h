/* SPDX-License-Identifier: Apache-2.0 */
/* agent_impl.h - the agent's state, for the files that make it up
 *
 *     agent.c         start, the loop, the end
 *     agent_orders.c  asks for orders and carries them out
 *     agent_events.c  what children and wrappers do, and what the driver is told of it
 *
 * Each calls those below it only.  Log and events (event_sender.h), lease and keeper (watchdog.h) and the
 * ranks' logs (agent_logs.h) are subjects of their own, which do not know the agent.
 */
#ifndef EDDIS_AGENTS_NODE_AGENT_IMPL_H
#define EDDIS_AGENTS_NODE_AGENT_IMPL_H

#include "agent.h"
#include "agent_logs.h"
#include "event_sender.h"
#include "generation.h"
#include "openmpi.h"
#include "probe.h"
#include "report_limit.h"
#include "session_log.h"
#include "stop.h"
#include "watchdog.h"

#include "agents/node/keep/folders.h"
#include "agents/node/output/outputs.h"
#include "agents/protocol/protocol.h"
#include "lib/base/file_thread.h"
#include "lib/http/client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

struct agent {
    struct agent_options options;
    struct brief *brief;
    struct folders folders;
    struct voice voice;
    struct session_log session_log; /* until it has registered */
    int cores;                      /* that this process may use */
    const struct openmpi *mpi;
    char mpi_version[OPENMPI_VERSION]; /* "": none was found */
    char mpi_guard[PATH_MAX];          /* library that its daemons are to load; "": none */
    bool mpi_guarded;                  /* mpirun was seen to load it */
    bool mpi_v4_only;                  /* as struct hello; false where there is no IPv6 */

    struct lifeline life;
    struct agent_logs logs;

    struct file_thread *files; /* for what a file system can hold up */
    bool looking;              /* at the checkpoints of a generation that has ended */
    int64_t look_ns;           /* since then */

    int events;  /* epoll: all descriptors below, and the wrappers' pidfds */
    int signals; /* signalfd */
    int sender;  /* pid of who sends Slurm's signals to this step; -1: this is none of Slurm's */
    bool told_term, told_usr1; /* in a step: the driver was, of that signal */

    struct http_client *http;
    struct outputs *outputs; /* what ranks have printed, for the next report */
    bool registered, asking; /* a request for orders (or to be registered) is under way */
    int64_t ask_ns;          /* when to ask again after a failure */
    uint64_t chance;         /* of that pause */
    int64_t after;           /* number of the last order */

    struct probe probe;
    int64_t probe_order;           /* generation of the order that asked for it */
    struct generation *generation; /* NULL: none */
    int64_t check_order;           /* generation of the order to check; -1: none */
    int64_t check_until_ns;        /* what is not seen by then is not there */
    struct stop stop;
    int64_t stop_generation; /* of the order to stop */

    int64_t progress_ns;       /* when next */
    struct progress *progress; /* [BOARD_MAX_LOCAL] */
    bool progress_due;         /* without waiting for that */
    struct hurry hurry;        /* for news of steps */
    bool bye;                  /* leave when nothing is left */
    bool over;
    int exit_code;
};

/* Leave the loop; the first code counts. */
static inline void agent_end(struct agent *a, int code)
{
    if (!a->over)
        a->exit_code = code;
    a->over = true;
}

/* Wake the loop when fd is readable.  Nothing is done when fd is -1. */
static inline int agent_watch_fd(const struct agent *a, int fd)
{
    struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

    return fd < 0 || epoll_ctl(a->events, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

/* agent_orders.c */
void agent_ask(struct agent *a, int64_t now_ns);
void agent_step_stop(struct agent *a, int64_t now_ns);
void agent_step_check(struct agent *a, int64_t now_ns);
void agent_hold(struct agent *a); /* in a pause: what runs of the ranks stops, too */

/* agent_events.c */
void agent_read_messages(struct agent *a);
void agent_read_relays(struct agent *a);
void agent_reap(struct agent *a);
void agent_look_at_stacks(struct agent *a, int64_t now_ns); /* a generation's, and tell */
void agent_look_at_wrappers(struct agent *a);
void agent_report(struct agent *a, int64_t now_ns);
void agent_leave(struct agent *a); /* tell that nothing is left */

#endif
