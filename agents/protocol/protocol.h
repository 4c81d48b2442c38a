/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - the messages between the driver and its agents
 *
 * A job has one driver, and one agent per node. Agents connect to the driver. Only the driver
 * listens, over TLS with a key made for this job; agents know the hash of the key from their
 * configuration.
 *
 *   start      The driver starts supervisor -> agent and writes the *agent configuration*, one JSON
 *              document (struct agent_config), to the agent's standard input, which it closes.  The
 *              document has all that an agent may ever run, read or write; no later message adds
 *              to it.  Agents that are started together get an invitation to request their
 *              configuration (protocol_join.h).
 *   register   POST /v1/agents            struct hello            -> 200 {} | 409 rejected
 *   orders     GET /v1/agents/<id>/orders?after=<n>               -> 200 struct order
 *              Long poll: returns order n + 1 as soon as it exists, or type "none" after at most
 *              a third of the lease.  Orders carry numbers and names of ranks only.
 *   reports    POST /v1/agents/<id>/reports   struct report       -> 200 {}
 *              Events are sent immediately, the workers' progress once a heartbeat.  Progress is
 *              also sent immediately if it has the first measurements of a plan or of a changed
 *              speed.  A report without an answer is repeated with the same `sequence`; the
 *              driver ignores a repeated report.
 *
 * The agent answers each order with an event:
 *
 *   profile    -> profile (text of a node_profile); unmeasured if the node must be
 *                 measured and order.turn is not set; or failed.  With order.wait_ns, before
 *                 both: gpus, once no other job uses the node's GPUs and this one has locked them
 *   prepare    -> prepared: node folder and board exist, the plan is published; or failed
 *   check      -> checked: this node sees the files that all nodes must share, and its interpreter
 *                 has printed its versions, if order.program_ns asks for them; or failed
 *   start      -> rank_started for each rank that starts, mpirun_exit at the end.  The first node
 *                 also sends relay for each node on which mpirun wants a daemon.  Other nodes send
 *                 mpirun_exit only if their daemon failed and eddis had not stopped it.
 *   relay      -> nothing, or failed.  The agent starts mpirun's daemon on its node.
 *   settle     -> nothing.  Workers that wait in eddis_commit continue with the first plan.
 *   rebalance  -> nothing.  The boards show the step at which the new plan takes effect.
 *   signal     -> nothing.  The agent sends SIGUSR2 to every rank.
 *   look       -> place for each rank whose location in its code could be found
 *   stop       -> stopped: no process or file of the generation remains on the node
 *   logs       -> chunks of the log of order.log_rank in reports, then logs; both with the
 *                 number of the order, since several orders may ask for parts of one log
 *   pause      -> nothing.  The ranks are stopped (SIGSTOP) until continue.  The lease does not run
 *                 while the agent's session with the driver's process exists.
 *   continue   -> nothing
 *   bye        -> left, the agent's last message: the node's folder is removed, the agent exits 0
 *
 * Generation 0 is the network probe. Generation 0 is prepared and started as any other generation,
 * but its ranks run eddis-net-probe, and its result is reported by the event network.
 *
 * Lease: an agent without an answer from the driver for agent_config.lease_ns kills its ranks,
 * cleans up and exits 3. If the agent is silent for a lease or ends, the supervisor does this.
 *
 * Time: clocks of nodes are never compared.  An event carries its age at the time of sending, by
 * the agent's own clock; the driver subtracts the age from the time of arrival.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_H

#include "lib/base/error.h"
#include "lib/board/layout.h"
#include "lib/model/core_loss.h"
#include "lib/model/gpu_state.h"
#include "lib/model/job.h"
#include "lib/model/link_load.h"
#include "lib/model/step_window.h"
#include "node_identity.h"
#include "protocol_event.h"
#include "protocol_hello.h"
#include "protocol_limits.h"
#include "protocol_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- agent configuration: driver to agent, on standard input ---- */

/* Agent configuration.  Strings and lists are owned. */
struct agent_config {
    int agent; /* number of the agent, which is also the number of its node */
    char job_id[128];
    char host[256]; /* the node's name, for messages to users */
    /* addresses of the driver, NULL-ended, "https://10.1.0.7:41233" */
    char **url;
    char pin[PROTOCOL_PIN];     /* hash of the driver's public key, "sha256//..." */
    char token[PROTOCOL_TOKEN]; /* token that authenticates only this agent; wiped after use */
    char mark[NODE_IDENTITY_DIGITS + 1]; /* see struct node_identity */
    char **command;                      /* program and its arguments, NULL-ended */
    char **setup;      /* lines for the user's shell, run before the command, NULL-ended */
    char *python_from; /* where the job sets the Python of this node; NULL: it does not */
    char *workdir;
    char **env;    /* the user's variables, "NAME=VALUE", NULL-ended */
    char *log_dir; /* folder for logs such as rank-0003.log; "": keep no logs */
    char log_marker[PROTOCOL_MARKER +
                    1];   /* digits in the name of the file ".<digits>" in the driver's log_dir */
    char *checkpoint_dir; /* folder of the checkpoints; NULL: none */
    /* id of the job that wrote the checkpoints in checkpoint_dir; "": job_id */
    char fence_job[128];
    int64_t fence_before;   /* upper bound of the generations of fence_job in earlier jobs */
    char *resume_from;      /* folder of the checkpoint to resume from; NULL: none */
    char *data_path;        /* path of the program's data, which must be readable; NULL: none */
    char *step_pattern;     /* pattern that finds step numbers in a rank's output; NULL: none */
    int64_t step_samples;   /* samples of one step that step_pattern finds; 0: unknown */
    int64_t quiet_ns;       /* idle time after which a rank is reported; 0: do not report */
    int64_t quiet_start_ns; /* as quiet_ns, before the first call of a program with libeddis */
    char **mpi_args;        /* further arguments of mpirun, NULL-ended */
    char **mpi_mca;         /* MCA parameters: name, value, ..., NULL-ended */
    bool bind;
    int64_t restarts;      /* maximum restarts of this job */
    int64_t log_max_bytes; /* largest log file of one rank */
    int64_t cache_ns;      /* maximum age of a cached profile; 0: always measure */
    /* time for all nodes to wait for their GPUs; 0: the order to profile will not have wait_ns */
    int64_t gpus_ns;
    struct job_emulated emulate[JOB_MAX_EMULATED];
    int n_emulate;
    int64_t lease_ns, heartbeat_ns;
};

/* Return the configuration as JSON, which the caller wipes and frees; NULL without memory. */
char *agent_config_text(const struct agent_config *b);

/* Parse n bytes of JSON and check the result.  On success return 0 and a new configuration in *ret,
 * for agent_config_free; otherwise a negative errno.
 */
int agent_config_parse(const char *text, size_t n, struct agent_config **ret,
                       struct eddis_error *err);
void agent_config_free(struct agent_config *b); /* wipes the token; accepts NULL */

/* ---- reports: agent to driver ---- */

/* Progress of one worker, as on its progress page (struct board_page). */
struct progress {
    int rank, pid, phase; /* phase: enum eddis_phase */
    int64_t steps_done, steps_total, steps_in_epoch, samples_in_epoch, epochs;
    int64_t steps_here, samples_done;      /* steps and samples of the present process alone */
    int64_t restored_samples, restored_at; /* as in board_page */
    int64_t plan_version, plan_since, bytes_sent, overrun_ns;
    int64_t model_bytes;            /* 0: not registered yet */
    struct program program;         /* known together with model_bytes */
    int staleness;                  /* steps since the last exchange of models; 0 in sync mode */
    int64_t exchanges, exchange_ns; /* as in board_page */
    /* time since the worker's last step ended; -1: no step yet */
    int64_t page_age_ns;
    int64_t phase_age_ns; /* time since the phase began; -1: unknown */
    /* rank for which the worker has waited >= 1 s; -1: none */
    int waits_for;
    double loss;            /* last loss; NAN: none */
    struct board_times sum; /* sum over all steps */
    int64_t step_plan;      /* plan version of the last step */
    /* steps and samples done before the first step under step_plan */
    int64_t steps_before, samples_before;
    struct board_times sum_before; /* sum over steps_before */
    int64_t recent_steps;          /* number of steps in `recent` */
    int64_t recent_samples;
    struct board_times recent;   /* sum over the steps since the previous report */
    struct step_metrics metrics; /* of the latest steps under one plan and speed; plan 0: none */
    /* mean time per step that the thread waited for a core; NAN: unknown */
    double queued_s;
    struct core_loss core_loss; /* last reading, at most about two seconds old */
    struct gpu_state gpu;       /* last reading of its GPU, at most some seconds old; of several
                                 * that of the one that slows it */
    struct gpu_state gpus[GPU_MOST]; /* of a worker with several: those of all */
    int n_gpus;
    struct link_load link;      /* last reading, as old as core_loss */
    int64_t memory_bytes;       /* peak of memory under step_plan, approximate; 0: unknown */
    bool memory_told;           /* true: device memory, from the program; false: process memory */
    int64_t memory_limit_bytes; /* memory that the workers of memory_pool share; 0: unknown */
    /* a rank of the node that identifies the ranks that share this limit */
    int memory_pool;
    int64_t at_once;   /* most samples held at one time in the present step; 0: none yet */
    bool takes_pieces; /* the program keeps to the plan's size of micro-batches */
    bool stops;        /* the program has called eddis_stop */
    bool trained;      /* the worker found no step of the job left to do */
    bool ended;        /* as in board_page */
    int64_t checkpoints_written, checkpoints_failed, checkpoint_step; /* as in board_page */
    char checkpoint_why[BOARD_WHY];
    bool steps_only; /* only the step numbers are known, from calls or from the output */
    bool own_times;  /* steps_only: the worker's own part of each step is known, too */
    /* own_times: as metrics, but nothing is planned by it; plan 1, or 0: none; count 1: unknown */
    struct step_metrics reported;
    struct model_check models; /* as in board_page */
    int64_t loss_step;         /* as in board_page */
    struct board_metric metric[BOARD_METRICS];
};

/* Complete lines that a rank printed: a copy, for the screen, of lines in the rank's log file. */
struct output {
    int rank;
    int64_t dropped; /* number of lines directly before `text` that are only in the log file */
    char *text;
    bool early; /* printed by the job's setup before the program began, or by MPI */
};

/* A chunk of a rank's log file on its way to the job's folder. */
struct log_chunk {
    int rank;       /* rank, PROTOCOL_LOG_AGENT or PROTOCOL_LOG_MPIRUN */
    int64_t order;  /* number of the order "logs" that asked for the log */
    int64_t offset; /* offset of the chunk in the log, in bytes */
    char *text;
};

/* Events and progress of one node since the previous report. */
struct report {
    int agent;
    int64_t sequence;    /* number of the report, from 1 */
    struct event *event; /* [n_events] events, oldest first */
    int n_events;
    struct progress *worker; /* [n_workers] progress of workers */
    int n_workers;
    struct output *output; /* [n_outputs] output of ranks */
    int n_outputs;
    struct log_chunk *piece; /* [n_pieces] chunks of logs */
    int n_pieces;
};

/* Return the report as JSON, which the caller frees; NULL without memory. */
char *report_text(const struct report *r);

/* Parse n bytes of JSON into a new report for report_free.  Return 0 or a negative errno. */
int report_parse(const char *text, size_t n, struct report **ret, struct eddis_error *err);
void report_free(struct report *r); /* accepts NULL */

#endif
