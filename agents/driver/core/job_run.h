/* SPDX-License-Identifier: Apache-2.0 */
/* job_run.h - state shared by all modules of the driver: the running job and its nodes
 *
 * Each module owns its state. State that two modules use is declared here: one of them owns it, and
 * the other gets a const pointer. Modules also communicate by the events and actions of state.h.
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_JOB_RUN_H
#define EDDIS_AGENTS_DRIVER_CORE_JOB_RUN_H

#include "driver_options.h"

#include "agents/driver/metrics/metrics.h"
#include "journal.h"
#include "orders.h"

#include "agents/driver/state/state.h"
#include "agents/job/job_event.h"
#include "agents/protocol/program_versions.h"
#include "lib/base/file_thread.h"
#include "lib/model/network_check.h"

/* One node and the agent on this node; agent i is on the job's host i */
struct run_agent {
    struct orders orders;
    struct node_profile profile;
    struct node_identity identity; /* identity of the agent's latest start; all "": never started */
    bool may_have_left;            /* the agent ran, and processes of it may remain on the node */
    int pid;                       /* process id of the registered agent; 0: none yet */
    bool paused;                   /* the agent has an order to pause its workers */
    int64_t sequence;              /* number of the agent's last report */
    bool shared_logs;              /* the agent writes its logs into this job's log folder */
    char log_dir[512];             /* folder of the agent's logs; "": unknown */
    char mpi_version[64];
    bool mpi_guarded;           /* see struct hello */
    bool mpi_v4_only;           /* see struct hello */
    struct node_address *known; /* [n_known] addresses of the node */
    int n_known;
    char came_from[HTTP_PEER_CHARS]; /* address from which the agent connected */
    char address[46];                /* address of the node on the chosen network; "": none */
    int first_rank;                  /* lowest rank of the node in the first generation */
    char trouble[384]; /* result of a check: why the node cannot be used; "": it can be used */
    struct program_versions versions; /* result of a check: versions of the program's Python */
};

/* The network that was last chosen for the nodes */
struct run_network {
    char subnet[64];  /* address range of the network, "10.1.0.0/24"; "": there is one node */
    char reason[200]; /* description of the network's slowest link; "": unknown */
    char *measured;   /* results of the network probe, JSON; NULL: none */
    /* result of checking an earlier job's measurement, by this job's ranks */
    struct network_check check;
};

/* Bandwidth and latency of the slowest node */
struct run_wire {
    double bytes_per_s, latency_s;
};

/* The plans of the generation. */
struct run_plans {
    struct plan *plan; /* the plan by which the workers train; NULL: none yet */
    /* the equal split of --measure-equal that is used before `plan`; NULL: none */
    struct plan *equal;
    /* number of steps after which `plan` is published; 0: `plan` is used from the start */
    int64_t equal_until;
    int64_t newest; /* the last published plan version; 0: none, the sync mode is not chosen yet */
};

/* The running job, shared by all modules. */
struct job_run {
    const struct driver_options *o;
    struct state state;
    struct run_agent *agent; /* [n_agents] nodes and their agents */
    int n_agents;
    struct file_thread *records; /* thread that writes into the job's folder */
    struct file_thread *reader;  /* thread that reads checkpoints, logs and the cache */
    struct journal journal;
    struct job_status status;
    struct metrics metrics;
    /* network between all nodes by what the workers' steps show, if that differs from its
     * measurement; 0: as measured. The stored measurement is then deleted, so that the next job
     * measures again. */
    struct run_wire wire;
    /* network between the nodes that keep workers (nodes.drop), as parts of that between all nodes;
     * 0: all keep workers */
    struct run_wire part;
    int64_t begun_ns;
    char *checkpoint_dir; /* folder of the checkpoints; NULL: none */
    char *data_path;      /* the data file in the program's arguments; NULL: unknown */
    /* folder of the logs; "": a plan-only run, in which agents use a temporary folder */
    char *log_dir;
    const struct event *event; /* event that is being handled, for ACTION_LAST_LINES; NULL: none */
};

/* Append an event to events.jsonl.  Also show the text to the user if the type is JOB_EVENT_SAY,
 * JOB_EVENT_STRAGGLER or JOB_EVENT_STRAGGLER_OVER.  agent and rank: -1 for none.
 */
void job_run_say(struct job_run *r, enum job_event type, int agent, int rank, const char *text);

/* Append an event with formatted text as job_run_say does; nothing without memory. */
void job_run_sayf(struct job_run *r, enum job_event type, int agent, int rank, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Queue an order for one agent, which need not have registered yet. A failure is recorded as an
 * event.
 */
void job_run_order(struct job_run *r, int agent, const struct order *order);

/* Queue an order for every agent that has ranks in the present generation and can be reached. */
void job_run_order_parts(struct job_run *r, const struct order *order);

/* Queue an order for every agent that has neither ended nor been lost, even if it has not
 * registered yet.
 */
void job_run_order_all(struct job_run *r, const struct order *order);

#endif
