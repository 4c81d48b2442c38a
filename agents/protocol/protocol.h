/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - the messages between the driver and its agents
 *
 * A job has one driver, and one agent per node.  Agents connect to the driver.  Only the driver
 * listens, over TLS with a key made for the job, which agents know from their configuration.
 *
 *   start      The driver starts supervisor -> agent and writes the *agent configuration*, one JSON
 *              document (struct agent_config), to the agent's standard input, which it closes.  It
 *              holds all that an agent may ever run, read or write; no later message adds to it.
 *              Agents started together get an invitation to request it (protocol_join.h).
 *   register   POST /v1/agents            struct hello            -> 200 {} | 409 rejected
 *   orders     GET /v1/agents/<id>/orders?after=<n>               -> 200 struct order
 *              Long poll: returns order n + 1 as soon as it exists, or type "none" after at most
 *              a third of the lease.  Orders carry numbers and names of ranks only.
 *   reports    POST /v1/agents/<id>/reports   struct report       -> 200 {}
 *              Events are sent at once, the workers' progress once a heartbeat.  Progress is also
 *              sent at once if it has the first measurements of a plan or of a changed speed.
 *              An unanswered report is repeated with the same `sequence`; the driver drops repeats.
 *
 * The agent answers each order with an event:
 *
 *   profile    -> profile (text of a node_profile); unmeasured if it must be measured and
 *                 order.turn is not set; or failed
 *   prepare    -> prepared: node folder and board exist, the plan is published; or failed
 *   check      -> checked: this node sees the files that all nodes must share; or failed
 *   start      -> rank_started for each rank that starts, mpirun_exit at the end.  The first node
 *                 also sends relay for each node on which mpirun wants a daemon.  Other nodes send
 *                 mpirun_exit only if their daemon failed and eddis had not stopped it.
 *   relay      -> nothing, or failed.  The agent runs that daemon.
 *   settle     -> nothing.  Workers that wait in eddis_commit continue with the first plan.
 *   rebalance  -> nothing.  The boards report the step from which the new plan holds.
 *   signal     -> nothing.  The agent sends SIGUSR2 to every rank.
 *   look       -> place for each rank whose location in its code could be found
 *   stop       -> stopped: nothing of the generation is left on the node
 *   logs       -> chunks of that rank's log file, then logs
 *   pause      -> nothing.  The ranks are stopped (SIGSTOP) until continue.  The lease does not run
 *                 while the agent's session with the driver's process exists.
 *   continue   -> nothing
 *   bye        -> left, the agent's last message: the node's folder is removed, the agent exits 0
 *
 * Generation 0 is the network probe.  It is prepared and started as any other, but its ranks run
 * eddis-net-probe, and its result comes as the event network.
 *
 * Lease: an agent without an answer from the driver for agent_config.lease_ns kills its ranks,
 * cleans up and exits 3.  The supervisor does so if the agent is silent for a lease or ends.
 *
 * Time: clocks of nodes are never compared.  An event carries its age at the time of sending, by
 * the agent's own clock; the driver subtracts the age from the time of arrival.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_H

#include "lib/base/error.h"
#include "lib/board/layout.h"
#include "lib/model/core_loss.h"
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
    int agent; /* number of the agent, which is that of its node */
    char job_id[128];
    char host[256];                      /* the node's name, for messages to users */
    char **url;                          /* the driver's, NULL-ended, "https://10.1.0.7:41233" */
    char pin[PROTOCOL_PIN];              /* hash of the driver's key, "sha256//..." */
    char token[PROTOCOL_TOKEN];          /* authenticates this agent only; wiped after use */
    char mark[NODE_IDENTITY_DIGITS + 1]; /* see struct node_identity */
    char **command;                      /* NULL-ended */
    char **setup; /* NULL-ended lines for the user's shell, before the command */
    char *workdir;
    char **env;    /* NULL-ended "NAME=VALUE": the user's additions */
    char *log_dir; /* folder of rank-0003.log; "": keep no logs */
    char log_marker[PROTOCOL_MARKER +
                    1];     /* digits of the file ".<digits>" in the driver's log_dir */
    char *checkpoint_dir;   /* NULL: none */
    char fence_job[128];    /* job id of those checkpoints; "": job_id */
    int64_t fence_before;   /* upper bound of the generations of fence_job in earlier jobs */
    char *resume_from;      /* a checkpoint's folder, NULL: none */
    char *data_path;        /* the program's data: must be readable; NULL: none */
    char *step_pattern;     /* finds step numbers in a rank's output, NULL: none */
    int64_t step_samples;   /* samples of one such step; 0: unknown */
    int64_t quiet_ns;       /* report ranks that do nothing for so long; 0: do not */
    int64_t quiet_start_ns; /* likewise, before the first call of a program with libeddis */
    char **mpi_args;        /* NULL-ended */
    char **mpi_mca;         /* NULL-ended: name, value, ... */
    bool bind;
    int64_t restarts;      /* most restarts of this job */
    int64_t log_max_bytes; /* largest log file of one rank */
    int64_t cache_ns;      /* greatest age of a cached profile; 0: measure anew */
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
    int64_t steps_here, samples_done;      /* by this process */
    int64_t restored_samples, restored_at; /* as in board_page */
    int64_t plan_version, plan_since, bytes_sent, overrun_ns;
    int64_t model_bytes;                  /* 0: not registered yet */
    struct program program;               /* known together with model_bytes */
    int staleness;                        /* 0 in synchronous modes */
    int64_t exchanges, exchange_ns;       /* as in board_page */
    int64_t page_age_ns;                  /* time since its last step ended; -1: none yet */
    int64_t phase_age_ns;                 /* time since the phase began; -1: unknown */
    int waits_for;                        /* rank for which it has waited >= 1 s; -1: none */
    double loss;                          /* NAN: none */
    struct board_times sum;               /* over all steps */
    int64_t step_plan;                    /* plan version of the last step */
    int64_t steps_before, samples_before; /* done before the first step under step_plan */
    struct board_times sum_before;        /* over these */
    int64_t recent_steps;                 /* of `recent` */
    int64_t recent_samples;
    struct board_times recent;   /* sum over the steps since the previous report */
    struct step_metrics metrics; /* of its latest steps under one plan and speed; plan 0: none */
    double queued_s;            /* mean wait of its thread for a core per such step; NAN: unknown */
    struct core_loss core_loss; /* last reading, a second or two old at most */
    struct link_load link;      /* likewise */
    int64_t memory_bytes;       /* most held at once under step_plan, about; 0: unknown */
    bool memory_told;           /* true: device memory, from the program; false: process memory */
    int64_t memory_limit_bytes; /* memory that the workers of memory_pool share; 0: unknown */
    int memory_pool;            /* one of the ranks that share this limit on the node */
    int64_t at_once;            /* most samples held at once in the present step; 0: none yet */
    bool takes_pieces;          /* the program keeps to the plan's size of micro-batches */
    bool stops;                 /* its program has called eddis_stop */
    bool trained;               /* none of the job's steps was left for it */
    bool ended;                 /* as in board_page */
    int64_t checkpoints_written, checkpoints_failed, checkpoint_step; /* as in board_page */
    char checkpoint_why[BOARD_WHY];
    bool told;                 /* only its step numbers are known, from calls or its output */
    struct model_check models; /* as in board_page */
    int64_t loss_step;         /* likewise */
    struct board_metric metric[BOARD_METRICS];
};

/* Whole lines that a rank printed: a copy for the screen of lines in its log file. */
struct output {
    int rank;
    int64_t dropped; /* lines before these that are in the file only */
    char *text;
    bool early; /* printed by the job's setup, before the program began, or by MPI itself */
};

/* A chunk of a rank's log file on its way to the job's folder. */
struct log_chunk {
    int rank;       /* or PROTOCOL_LOG_AGENT, PROTOCOL_LOG_MPIRUN */
    int64_t offset; /* in the file, bytes */
    char *text;
};

/* Events and progress of one node since the previous report. */
struct report {
    int agent;
    int64_t sequence;    /* from 1 */
    struct event *event; /* [n_events] */
    int n_events;
    struct progress *worker; /* [n_workers] */
    int n_workers;
    struct output *output; /* [n_outputs] */
    int n_outputs;
    struct log_chunk *piece; /* [n_pieces] */
    int n_pieces;
};

/* Return the report as JSON, which the caller frees; NULL without memory. */
char *report_text(const struct report *r);

/* Parse n bytes of JSON into a new report for report_free.  Return 0 or a negative errno. */
int report_parse(const char *text, size_t n, struct report **ret, struct eddis_error *err);
void report_free(struct report *r); /* accepts NULL */

#endif
