/* SPDX-License-Identifier: Apache-2.0 */
/* driver_impl.h - what the driver's files share
 *
 *     driver.c          opening, the loop, closing
 *     driver_hear.c     what came in: requests, reports, ended agents
 *     driver_act.c      carrying out the state machine's actions
 *     driver_plan.c     plans for the nodes that are there
 *     driver_launch.c   orders to prepare a generation
 *     driver_network.c  which network the nodes use
 *     driver_probe.c    what was measured of it
 *     learned.c         what earlier runs have told of the program
 *     driver_check.c    what a check has found out about every node
 *     driver_logs.c     logs that are on their nodes
 *     brief_make.c      from the job to an agent's brief
 */
#ifndef EDDIS_AGENTS_DRIVER_DRIVER_IMPL_H
#define EDDIS_AGENTS_DRIVER_DRIVER_IMPL_H

#include "figures.h"
#include "inbox.h"
#include "job_run.h"
#include "listeners.h"

#include "agents/driver/start/start.h"
#include "agents/driver/state/state.h"
#include "scheduler/networks.h"
#include "scheduler/planner.h"

/* Who looks at logs at one time, at most. */
enum { DRIVER_LOOKERS = 16 };

struct driver {
    struct job_run run;
    struct inbox *inbox;
    struct listeners listeners;
    struct starter *starter;
    char waiting[512]; /* whom the start waits for, as it was said last */
    int64_t waiting_ns;
    int signals;               /* signalfd */
    struct plan *plan, *equal; /* the real one; the equal split before it, or NULL */
    int64_t newest_version;    /* published */
    int64_t agreed_version;    /* the workers have agreed from which step it holds */
    int *plan_agent;           /* [n_agents] of the plan's nodes */
    char network[64];          /* that was chosen, "10.1.0.0/24"; "" with one node */
    struct networks networks;  /* that may be chosen, best first; the first next_network have been
                                * tried */
    int next_network;
    char network_reason[200]; /* what is known of it, for people */
    char *network_key;        /* of the one chosen, for the cache */
    char *measured;           /* of it, JSON; NULL: nothing */
    bool choice_given;        /* the plan that is replayed fixes how ranks communicate */
    int64_t model_bytes;      /* of the program's model, as it was told last; 0: never */
    char network_why[512];    /* "10.1.0.0/24: c01 got no answer of c02; ...", of those tried */
    char log_marker[PROTOCOL_FOLDER + 1]; /* file in it, by which agents see that they share it */
    struct fetch *fetch;
    int64_t fetch_end_ns;  /* logs are being fetched, until then; 0: not */
    struct looker *looker; /* [DRIVER_LOOKERS] */
    struct figures figures;
    bool told_trouble;  /* that something could not be recorded */
    int64_t metrics_ns; /* next line of metrics.jsonl */
};

/* driver_hear.c */
void driver_take_item(struct driver *d, struct inbox_item *i);
void driver_hear_start(struct driver *d, const struct start_event *e);

/* driver_act.c */
void driver_act(struct driver *d);
void driver_order_bye(struct driver *d);

/* driver_plan.c */
void driver_plan(struct driver *d);
int64_t driver_equal_until(const struct driver *d);
int driver_publish(struct driver *d, const struct plan *p, int64_t flags, struct eddis_error *err);
struct board_plan *driver_board_plan(const struct plan *p, int64_t version, int64_t flags);

/* driver_launch.c */
void driver_prepare(struct driver *d);
void driver_relay(struct driver *d, int agent, const struct event *e);

/* driver_network.c */
void driver_network(struct driver *d);
void driver_forget_network(struct driver *d);
void driver_keep_network(struct driver *d); /* it has carried a job's probe: for the next job */

/* driver_probe.c: whether the event says that the network works; else it has been told. */
bool driver_probed(struct driver *d, const struct event *e);
void driver_describe_network(struct driver *d); /* fills network_reason */

/* driver_known.c: what a plan may know; and what this run tells, kept for the next */
void driver_known(struct driver *d, struct planner_known *ret);
void driver_hear_choice(struct driver *d, const struct event *e);
void driver_hear_model(struct driver *d, int64_t bytes);

/* driver_check.c: all but the last do nothing unless it is a check */
void driver_check_trouble(struct driver *d, int agent, const char *text);
bool driver_check_waits(const struct driver *d);           /* for nodes that have not answered */
void driver_check_heard(struct driver *d, int64_t now_ns); /* of one more node */
void driver_check_tell(struct driver *d);

/* driver_logs.c: what is of a job that ends is fetched first; false: there is nothing to fetch */
int driver_logs_open(struct driver *d, struct eddis_error *err);
bool driver_logs_begin(struct driver *d, int64_t now_ns);
void driver_logs_stop(struct driver *d); /* as far as it has come */
void driver_logs_note(struct driver *d, int agent, const struct event *e);
int driver_logs_pieces(struct driver *d, int agent, const struct report *r,
                       struct eddis_error *err);
void driver_logs_event(struct driver *d, int agent, const struct event *e);
void driver_logs_look(struct driver *d, const struct inbox_item *i, int64_t now_ns);
void driver_logs_tick(struct driver *d, int64_t now_ns);
void driver_logs_close(struct driver *d);

/* driver.c */
void driver_fill_status(struct driver *d);

/* Start the agent of a host, the first time or again; it has to register by deadline_ns. */
int driver_start_agent(struct driver *d, int agent, int64_t deadline_ns, struct eddis_error *err);

/* brief_make.c: returns the brief as JSON text, to be wiped and freed. */
int driver_brief(const struct driver *d, int agent, char **ret, struct eddis_error *err);

#endif
