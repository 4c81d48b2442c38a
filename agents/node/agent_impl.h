/* SPDX-License-Identifier: Apache-2.0 */
/* agent_impl.h - the agent's state, for the files that make it up
 *
 *     agent.c         start, the loop, lease and keeper, the end
 *     agent_orders.c  asks for orders and carries them out
 *     agent_logs.c    where its ranks' output lies, and how it is sent on
 *     agent_events.c  what children and wrappers do, and how it is told to the driver
 */
#ifndef EDDIS_AGENTS_NODE_AGENT_IMPL_H
#define EDDIS_AGENTS_NODE_AGENT_IMPL_H

#include "agent.h"
#include "generation.h"
#include "openmpi.h"
#include "probe.h"
#include "reporter.h"
#include "session_log.h"
#include "stop.h"

#include "agents/node/keep/folders.h"
#include "agents/node/keep/tick.h"
#include "agents/node/output/log_place.h"
#include "agents/node/output/log_send.h"
#include "agents/node/output/node_log.h"
#include "agents/node/output/outputs.h"
#include "agents/protocol/protocol.h"
#include "lib/http/client.h"

#include <stdbool.h>
#include <stdint.h>

struct agent {
    struct agent_options options;
    struct brief *brief;
    struct folders folders;
    struct node_log *log;
    struct session_log session_log;
    int cores; /* that this process may use */
    const struct openmpi *mpi;
    char mpi_version[OPENMPI_VERSION]; /* "": none was found */

    struct tick_page *page;
    struct tick_watch keeper_watch;
    pid_t keeper;
    int keeper_fd;
    bool keeper_lost;

    int events;  /* epoll: all descriptors below, and the wrappers' pidfds */
    int signals; /* signalfd */

    struct http_client *http;
    struct reporter *reporter;
    struct log_place logs;    /* where the ranks' are */
    int64_t newest;           /* generation that was prepared here */
    struct log_send *sending; /* of them, what the driver wants */
    bool logs_asked;          /* it has wanted some */
    bool log_trouble;         /* a rank's log could not be written, which was said */
    struct outputs *outputs;  /* what ranks have printed, for the next report */
    bool registered, asking;  /* a request for orders (or to be registered) is under way */
    int64_t ask_ns;           /* when to ask again after a failure */
    int64_t after;            /* number of the last order */
    int64_t silence_ns;       /* since the driver was heard, by our own looks */

    struct probe probe;
    int64_t probe_order;           /* generation of the order that asked for it */
    struct generation *generation; /* NULL: none */
    int64_t check_order;           /* generation of the order to check; -1: none */
    int64_t check_until_ns;        /* what is not seen by then is not there */
    struct stop stop;
    int64_t stop_generation; /* of the order to stop */

    int64_t beat_ns, progress_ns; /* when next */
    struct progress *progress;    /* [BOARD_MAX_LOCAL] */
    bool progress_due;            /* without waiting for that */
    bool bye;                     /* leave when nothing is left */
    bool over;
    int exit_code;
};

/* agent.c */
void agent_heard(void *agent);                     /* the driver has answered */
void agent_end(struct agent *a, int code);         /* leave the loop */
int agent_watch_fd(const struct agent *a, int fd); /* wake the loop when fd is readable */

/* agent_orders.c */
void agent_ask(struct agent *a, int64_t now_ns);
void agent_step_stop(struct agent *a, int64_t now_ns);
void agent_step_check(struct agent *a, int64_t now_ns);

/* agent_logs.c */
int agent_open_logs(struct agent *a, struct eddis_error *err);
int agent_send_log(struct agent *a, const struct order *o, struct eddis_error *err);
void agent_tell_logs(struct agent *a); /* which have been sent */
void agent_close_logs(struct agent *a);

/* agent_events.c */
void agent_note(struct agent *a, int64_t generation, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void agent_failed(struct agent *a, int64_t generation, const struct eddis_error *why);
void agent_tell(struct agent *a, struct event *e, int64_t at_ns);
void agent_read_messages(struct agent *a);
void agent_read_relays(struct agent *a);
void agent_reap(struct agent *a);
void agent_look_at_wrappers(struct agent *a);
void agent_report(struct agent *a, int64_t now_ns);
void agent_leave(struct agent *a); /* tell that nothing is left */

#endif
