/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - what the driver and its agents say to each other
 *
 * One driver a job, one agent a node.  The agent dials out; the driver alone listens.
 *
 *   start      The driver starts keeper -> agent and writes one JSON document, the *brief*, to the
 *              agent's standard input, then closes it.  All that an agent may ever run, read or
 *              write comes in it; nothing that arrives over HTTP later can add to it.
 *   register   POST /v1/agents            struct hello            -> 200 {} | 409 refused
 *   orders     GET /v1/agents/<id>/orders?after=<n>               -> 200 struct order
 *              A long poll: the order numbered n + 1 when it is there, else type "none" after at
 *              most a third of the lease.  Orders carry numbers and names of ranks only.
 *   reports    POST /v1/agents/<id>/reports   struct report       -> 200 {}
 *              Events at once, progress of the workers at most once a second.  A report that was
 *              not answered is sent again under the same `sequence`; the driver drops repeats.
 *
 * Each order is answered by an event:
 *
 *   profile    -> profile (text of a node_profile), or failed
 *   prepare    -> prepared: node folder made, board made and the plan published, or failed
 *   start      -> rank_started for each rank as it comes up, mpirun_exit at the end
 *   rebalance  -> nothing; the boards report from which step the new plan holds
 *   signal     -> nothing; SIGUSR2 to every rank
 *   stop       -> stopped: nothing of the generation is left on the node
 *   bye        -> nothing; the agent removes the node's folder and exits 0
 *
 * Lease: an agent that gets no answer from the driver for brief.lease_ns kills its ranks, cleans
 * up and exits 3.  The keeper does the same when the agent dies or has not ticked for a lease.
 *
 * Time: clocks of nodes are never compared.  An event carries its age when it was sent, by the
 * agent's own clock; the driver takes arrival less age.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_H
#define EDDIS_AGENTS_PROTOCOL_H

#include "lib/base/error.h"
#include "lib/board/layout.h"
#include "lib/model/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROTOCOL_VERSION = 1,
    PROTOCOL_LAST_LINES = 20,
    PROTOCOL_LINE = 400,
    PROTOCOL_MAX_AGENTS = 65536,
    PROTOCOL_FOLDER = 32,
};

/* ---- the brief: driver to agent, on standard input ---- */

struct brief {
    int agent; /* number of the agent = of its node */
    char job_id[128];
    char url[256];                    /* of the driver, "http://127.0.0.1:41233" */
    char token[65];                   /* of the role "agent"; wiped from memory after use */
    char folder[PROTOCOL_FOLDER + 1]; /* hexadecimal digits, names of its folders on the node */
    char **command;                   /* NULL-ended */
    char *workdir;
    char **env;           /* NULL-ended "NAME=VALUE": the user's additions */
    char *log_dir;        /* where rank-0003.log goes */
    char *checkpoint_dir; /* NULL: none */
    char *resume_from;    /* a checkpoint's folder, NULL: none */
    char *data_path;      /* read by the storage probe, NULL: none */
    char **mpi_args;      /* NULL-ended */
    char **mpi_mca;       /* NULL-ended: name, value, ... */
    bool bind;
    int64_t log_max_bytes; /* of one rank */
    int64_t cache_ns;      /* how old a cached profile may be; 0: measure anew */
    struct job_emulated emulate[JOB_MAX_EMULATED];
    int n_emulate;
    int64_t lease_ns, heartbeat_ns;
};

/* Returns JSON text that the caller wipes and frees; NULL without memory. */
char *brief_text(const struct brief *b);
int brief_parse(const char *text, size_t n, struct brief **ret, struct eddis_error *err);
void brief_free(struct brief *b); /* wipes the token; accepts NULL */

/* ---- register ---- */

struct hello {
    int protocol, agent, pid;
    char host[256];
    char eddis_version[16];
    char mpi_version[64];
};

char *hello_text(const struct hello *h);
int hello_parse(const char *text, size_t n, struct hello *ret, struct eddis_error *err);

/* ---- orders: driver to agent ---- */

enum order_type {
    ORDER_NONE, /* nothing new: the lease is renewed */
    ORDER_PROFILE,
    ORDER_PREPARE,
    ORDER_START,
    ORDER_REBALANCE,
    ORDER_SIGNAL,
    ORDER_STOP,
    ORDER_BYE,
};

/* How a stop goes, as rows of {signal, wait} in agents/node/stop.c. */
enum stop_ladder {
    STOP_ORDERLY, /* TERM to the ranks, grace, then as STOP_FAILURE */
    STOP_FAILURE, /* KILL to mpirun, TERM to the ranks, 1 s, KILL: all gone within 3 s */
    STOP_KILL,    /* KILL to all at once */
};

struct order_rank {
    int rank, local_rank;
    char device_id[64]; /* as profiled: "numa:0", "GPU-...", "emulated:1" */
    char cpus[256];     /* "" : not bound */
    int64_t batch;
    double weight;
    double fixed_s, sample_s; /* of an emulated device, else 0 */
};

struct order {
    int64_t number; /* from 1, one sequence per agent; 0 with ORDER_NONE */
    enum order_type type;
    int64_t generation;
    /* prepare */
    int n_ranks;             /* of the job */
    struct order_rank *rank; /* [n_local] of this node */
    int n_local;
    char mode[16], algorithm[16];
    uint64_t seed;
    int64_t bucket_bytes, warmup_steps, checkpoint_every, checkpoint_keep;
    bool emulated;
    bool resume;            /* start from the brief's resume_from */
    int64_t report_at_step; /* report as soon as every worker has done so many; 0: as ever */
    /* prepare and rebalance */
    struct board_plan *plan; /* version, flags, batches of all ranks; NULL otherwise */
    int n_plan;              /* ranks in plan->batch */
    /* stop */
    enum stop_ladder ladder;
    int64_t grace_ns;
};

char *order_text(const struct order *o);
int order_parse(const char *text, size_t n, struct order **ret, struct eddis_error *err);
void order_free(struct order *o); /* accepts NULL */

/* ---- reports: agent to driver ---- */

enum event_type {
    EVENT_PROFILE,
    EVENT_PREPARED,
    EVENT_RANK_STARTED,
    EVENT_RANK_EXIT,
    EVENT_MPIRUN_EXIT,
    EVENT_STOPPED,
    EVENT_FAILED, /* an order could not be carried out; text says why */
    EVENT_NOTE,   /* something people should read once */
};

struct event {
    enum event_type type;
    int64_t age_ns; /* when it was sent */
    int64_t generation;
    int rank; /* -1: none */
    int pid;
    int code;         /* exit code, or -1 when it ended by a signal */
    int signal;       /* 0: none */
    bool by_us;       /* it ended after we had begun to stop it */
    bool oom;         /* killed by the kernel for lack of memory */
    char *text;       /* profile, sentence; "" when unused */
    char *last_lines; /* of a rank that failed: its last output, at most
                       * PROTOCOL_LAST_LINES lines; "" otherwise */
};

/* Progress of one worker: what its board page says, in plain numbers. */
struct progress {
    int rank, pid, phase;
    int64_t steps_done, steps_total, steps_in_epoch, epochs;
    int64_t steps_here, samples_done; /* by this process */
    int64_t plan_version, plan_since, bytes_sent, overrun_ns;
    int64_t page_age_ns;                  /* since its last step ended; -1: none yet */
    double loss;                          /* NAN: none */
    struct board_times sum;               /* over all steps */
    int64_t step_plan;                    /* version that the last step was done under */
    int64_t steps_before, samples_before; /* of all, those before the first one under it */
    struct board_times sum_before;
    int64_t recent_steps; /* steps in `recent` */
    int64_t recent_samples;
    struct board_times recent; /* sum over the steps since the report before */
    struct board_metric metric[BOARD_METRICS];
};

struct report {
    int agent;
    int64_t sequence;    /* from 1 */
    struct event *event; /* [n_events] */
    int n_events;
    struct progress *worker; /* [n_workers] */
    int n_workers;
};

char *report_text(const struct report *r);
int report_parse(const char *text, size_t n, struct report **ret, struct eddis_error *err);
void report_free(struct report *r); /* accepts NULL */

#endif
