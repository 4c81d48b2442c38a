/* SPDX-License-Identifier: Apache-2.0 */
/* agent_impl.h - the agent's state, shared by its files
 *
 *     agent.c         start, the loop, the end
 *     agent_orders.c  asks for orders and carries them out
 *     agent_events.c  handles children and wrappers, and reports to the driver
 *
 * Each file calls only files below it in this list. Log and events (event_sender.h), lease and
 * supervisor (watchdog.h) and the ranks' logs (agent_logs.h) are separate modules that do not use
 * struct agent.
 */
#ifndef EDDIS_AGENTS_NODE_AGENT_IMPL_H
#define EDDIS_AGENTS_NODE_AGENT_IMPL_H

#include "agent.h"
#include "agent_logs.h"
#include "event_sender.h"
#include "generation.h"
#include "gpu_lock.h"
#include "gpu_wait.h"
#include "openmpi.h"
#include "probe.h"
#include "program_probe.h"
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
#include <sys/types.h>

struct agent {
    struct agent_options options;
    struct agent_config *agent_config;
    struct folders folders;
    struct event_sender event_sender;
    struct session_log session_log; /* messages before the agent has registered */
    int cores;                      /* cores that this process may use */
    const struct openmpi *mpi;
    char mpi_version[OPENMPI_VERSION]; /* version of Open MPI; "": none was found */
    char mpi_guard[PATH_MAX]; /* path of the library that Open MPI's daemons load; "": none */
    bool mpi_guarded;         /* mpirun was seen to load the library mpi_guard */
    bool mpi_v4_only;         /* as in struct hello; always false if this node has no IPv6 */

    struct watchdog life;
    struct agent_logs logs;

    struct file_thread *files; /* thread for operations that a file system may block */
    bool looking;              /* a search for the newest checkpoint is in progress */
    int64_t look_ns;           /* start of the search */

    int events;  /* epoll descriptor for all descriptors below and the wrappers' pidfds */
    int signals; /* signalfd for the signals that the agent handles */
    int sender;  /* pid of the sender of Slurm's signals to this step; -1: not a Slurm step */
    /* in a Slurm step: SIGTERM, or SIGUSR1, was reported to the driver */
    bool sent_term, sent_usr1;

    struct http_client *http;
    struct outputs *outputs; /* the ranks' output for the next report */
    /* the agent has registered; a request for orders, or to register, is pending */
    bool registered, asking;
    int64_t ask_ns;  /* earliest time of the next request, after a failure */
    uint64_t chance; /* random state for the pause before this request */
    int64_t after;   /* number of the last order received */

    struct probe probe;
    int64_t probe_order;           /* generation of the order to profile */
    struct generation *generation; /* the present generation; NULL: none */
    /* killed processes of earlier generations that read the GPUs and have not ended; 0: unused */
    pid_t reader[8];
    struct gpu_lock gpus;     /* GPUs of the newest generation's workers */
    struct gpu_wait gpu_wait; /* GPUs that are locked before they are measured */
    struct order *gpu_order;  /* order to profile or to prepare that waits for GPUs; NULL: none */
    bool gpu_said;            /* the user was told for which job this one waits */
    /* times of the next try to lock them, and of the last one; 0: the order need not wait */
    int64_t gpu_next_ns, gpu_until_ns;
    int64_t check_order;          /* generation of the order to check; -1: none */
    int64_t check_until_ns;       /* time at which a file that is not visible counts as missing */
    struct program_probe program; /* the program's interpreter, for the order to check */
    char *versions;               /* what it has printed; NULL: nothing yet, or not asked for */
    struct stop stop;
    int64_t stop_generation; /* generation of the order to stop */

    int64_t progress_ns;              /* time of the next report of progress */
    struct progress *progress;        /* [BOARD_MAX_LOCAL] */
    bool progress_due;                /* report now, without waiting for progress_ns */
    struct report_limit report_limit; /* rate limit of reports that do not wait for progress_ns */
    bool bye; /* the agent leaves when no process or file of the job remains */
    bool over;
    int exit_code;
};

/* Leave the loop with this exit code; only the first code counts. */
static inline void agent_end(struct agent *a, int code)
{
    if (!a->over)
        a->exit_code = code;
    a->over = true;
}

/* Let the loop wake when fd becomes readable; ignore fd -1. Return 0 or -errno. */
static inline int agent_watch_fd(const struct agent *a, int fd)
{
    struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

    return fd < 0 || epoll_ctl(a->events, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

/* Replace the first of a's readers that is `from` by `to`; 0: unused. */
static inline void agent_note_reader(struct agent *a, pid_t from, pid_t to)
{
    for (size_t i = 0; i < sizeof a->reader / sizeof *a->reader; i++)
        if (a->reader[i] == from) {
            a->reader[i] = to;
            return;
        }
}

/* agent_orders.c */
/* Send the driver a request for the next order, or to register, unless a request is pending. */
void agent_ask(struct agent *a, int64_t now_ns);
/* If an order to profile or to prepare waits for the GPUs of another job, try again to lock them;
 * carry the order out, or report to the driver that they stay in use.
 */
void agent_step_prepare(struct agent *a, int64_t now_ns);
/* If a stop is in progress, send the signals that are due; when no process or file of the
 * generation remains, report this to the driver.
 */
void agent_step_stop(struct agent *a, int64_t now_ns);
/* Check whether all nodes' files in the shared folder are visible and the program's interpreter has
 * ended; if so, or if a time limit has passed, report the result to the driver.
 */
void agent_step_check(struct agent *a, int64_t now_ns);
/* Stop (SIGSTOP) the ranks' processes for a pause; called repeatedly during the pause, for
 * processes that have started since.
 */
void agent_hold(struct agent *a);

/* agent_events.c */
/* Handle the messages that the wrappers have sent: starts, ends and output of ranks. */
void agent_read_messages(struct agent *a);
/* Report to the driver the daemons that mpirun wants on other nodes. */
void agent_read_relays(struct agent *a);
/* Reap all ended children and handle their ends. */
void agent_reap(struct agent *a);
/* Find the code location of each rank's program with py-spy, and report it to the driver. */
void agent_look_at_stacks(struct agent *a, int64_t now_ns);
/* Report the end of ranks whose wrapper has died without a report. */
void agent_look_at_wrappers(struct agent *a);
/* Collect progress and events if a report is due, and send them to the driver. */
void agent_report(struct agent *a, int64_t now_ns);
/* Report to the driver that no process or file of the job remains, and wait a short time for the
 * answer. A driver that does not answer will notice the end of the session, or the silence of the
 * agent.
 */
void agent_leave(struct agent *a);

#endif
