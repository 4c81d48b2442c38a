/* SPDX-License-Identifier: Apache-2.0 */
/* job_run.h - what all subjects of the driver know: the job under way and its nodes
 *
 * A subject has the rest to itself.  What two of them need is here, in a struct that the one lends
 * the other as const, or an event or action of state.h.
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
    struct node_identity identity; /* of its latest start; all "": never started */
    bool may_have_left;            /* it was here, and nobody saw that nothing of it stayed */
    int pid;                       /* of the agent that registered; 0: none yet */
    bool paused;                   /* it is ordered to stop its workers */
    int64_t sequence;              /* of its last report */
    bool shared_logs;              /* it writes them into our folder */
    char log_dir[512];             /* where it writes them; "" */
    char mpi_version[64];
    bool mpi_guarded;           /* as struct hello */
    bool mpi_v4_only;           /* likewise */
    struct node_address *known; /* [n_known] addresses of its node */
    int n_known;
    char came_from[HTTP_PEER_CHARS]; /* the one by which it came */
    char address[46];                /* on the network that was chosen; "" */
    int first_rank;                  /* of its node in the first generation */
    char trouble[384];               /* of a check: why the node cannot be used; "" */
};

/* The network that the nodes use, as it was chosen last. */
struct run_network {
    char subnet[64];            /* "10.1.0.0/24"; "" with one node */
    char reason[200];           /* its slowest link, for people; "" unknown */
    char *measured;             /* what the probe has measured, JSON; NULL: nothing */
    struct network_check check; /* what the ranks found of one that an earlier job had measured */
};

/* What the workers make of that network, where it is not what was measured: it is dropped then, for
 * the next job to measure anew.
 */
struct run_wire {
    double bytes_per_s; /* of the slowest node; 0: it is as it was measured */
    double latency_s;   /* 0: likewise */
};

/* The plans of the generation. */
struct run_plans {
    struct plan *plan;   /* the real one; NULL: none yet */
    struct plan *equal;  /* the equal split before it, of --measure-equal; NULL: none */
    int64_t equal_until; /* steps after which the real one is published; 0: at once */
    int64_t newest;      /* version that was published last; 0: none, the mode is open */
};

struct job_run {
    const struct driver_options *o;
    struct state state;
    struct run_agent *agent; /* [n_agents] */
    int n_agents;
    struct file_thread *records; /* writes into the job's folder */
    struct file_thread *looks;   /* reads: checkpoints, logs, what is remembered of other jobs */
    struct journal journal;
    struct job_status status;
    struct figures figures;
    struct run_wire wire;
    int64_t begun_ns;
    char *checkpoint_dir;      /* NULL: none */
    char *data_path;           /* what the program is told to read; NULL: not known */
    char *log_dir;             /* "": of a plan only, the agents take a folder that they remove */
    const struct event *event; /* being taken in: ACTION_LAST_LINES means its lines; else NULL */
};

/* Write an event into events.jsonl; people are told the text of a JOB_EVENT_SAY, and of a
 * straggler's, too.  agent or rank -1: of none.
 */
void job_run_say(struct job_run *r, enum job_event type, int agent, int rank, const char *text);

/* Give an order to an agent, to those of the generation, or to all that have not ended, also when
 * they have not registered yet: they will come for it.
 */
void job_run_order(struct job_run *r, int agent, const struct order *order);
void job_run_order_parts(struct job_run *r, const struct order *order);
void job_run_order_all(struct job_run *r, const struct order *order);

#endif
