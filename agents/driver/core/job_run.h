/* SPDX-License-Identifier: Apache-2.0 */
/* job_run.h - state shared by all modules of the driver: the running job and its nodes
 *
 * Each module owns its state.  State shared by two modules is declared here: one module owns it and
 * passes the other a const pointer.  Modules also communicate by the events and actions of state.h.
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_JOB_RUN_H
#define EDDIS_AGENTS_DRIVER_CORE_JOB_RUN_H

#include "driver_options.h"

#include "agents/driver/metrics/metrics.h"
#include "journal.h"
#include "orders.h"

#include "agents/driver/state/state.h"
#include "agents/job/job_event.h"
#include "lib/base/file_thread.h"
#include "lib/model/network_check.h"

/* One node and the agent on it; agent i is on the job's host i. */
struct run_agent {
    struct orders orders;
    struct node_profile profile;
    struct node_identity identity; /* identity of its latest start; all "": never started */
    bool may_have_left;            /* it ran, and its processes may not have ended */
    int pid;                       /* process id of the registered agent; 0: none yet */
    bool paused;                   /* it has orders to pause its workers */
    int64_t sequence;              /* number of its last report */
    bool shared_logs;              /* it writes its logs into this job's log folder */
    char log_dir[512];             /* the folder of its logs; "": unknown */
    char mpi_version[64];
    bool mpi_guarded;           /* see struct hello */
    bool mpi_v4_only;           /* see struct hello */
    struct node_address *known; /* [n_known] addresses of its node */
    int n_known;
    char came_from[HTTP_PEER_CHARS]; /* address that it connected from */
    char address[46];                /* its address on the chosen network; "": none */
    int first_rank;                  /* lowest rank of its node in the first generation */
    char trouble[384];               /* of a check: why the node cannot be used; "": none */
};

/* The network that was chosen last for the nodes. */
struct run_network {
    char subnet[64];            /* "10.1.0.0/24"; "" with one node */
    char reason[200];           /* description of its slowest link; "": unknown */
    char *measured;             /* results of the network probe, JSON; NULL: none */
    struct network_check check; /* the ranks' revalidation of a measurement by an earlier job */
};

/* Corrections from the workers' steps, if the network differs from its measurement.  The stored
 * measurement is then deleted, so that the next job measures again.
 */
struct run_wire {
    double bytes_per_s; /* bandwidth of the slowest node; 0: as measured */
    double latency_s;   /* 0: as measured */
};

/* The plans of the generation. */
struct run_plans {
    struct plan *plan;   /* the plan to train by; NULL: none yet */
    struct plan *equal;  /* the equal split of --measure-equal that runs before it; NULL: none */
    int64_t equal_until; /* steps after which the real plan is published; 0: at once */
    int64_t newest;      /* the last published plan version; 0: none, the sync mode is still open */
};

/* The running job, shared by all modules. */
struct job_run {
    const struct driver_options *o;
    struct state state;
    struct run_agent *agent; /* [n_agents] */
    int n_agents;
    struct file_thread *records; /* thread that writes into the job's folder */
    struct file_thread *looks;   /* thread that reads checkpoints, logs and the cache */
    struct journal journal;
    struct job_status status;
    struct metrics metrics;
    struct run_wire wire;
    int64_t begun_ns;
    char *checkpoint_dir;      /* NULL: none */
    char *data_path;           /* the data file in the program's arguments; NULL: unknown */
    char *log_dir;             /* "": plan-only run, the agents use a temporary folder */
    const struct event *event; /* the event being handled, for ACTION_LAST_LINES; NULL: none */
};

/* Append an event to events.jsonl.  Also show the text to the user if the type is JOB_EVENT_SAY,
 * JOB_EVENT_STRAGGLER or JOB_EVENT_STRAGGLER_OVER.  agent and rank: -1 for none.
 */
void job_run_say(struct job_run *r, enum job_event type, int agent, int rank, const char *text);

/* Append an event with formatted text as job_run_say does; nothing without memory. */
void job_run_sayf(struct job_run *r, enum job_event type, int agent, int rank, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Queue an order for one agent, which may register later.  A failure is recorded as an event. */
void job_run_order(struct job_run *r, int agent, const struct order *order);

/* Queue an order for every agent that has ranks in the present generation and can be reached. */
void job_run_order_parts(struct job_run *r, const struct order *order);

/* Queue an order for every agent that has neither ended nor been lost, even if it has not
 * registered yet.
 */
void job_run_order_all(struct job_run *r, const struct order *order);

#endif
