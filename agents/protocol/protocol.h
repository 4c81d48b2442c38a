/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - what the driver and its agents say to each other
 *
 * One driver a job, one agent a node.  The agent dials out; the driver alone listens, with TLS and
 * a key made for the job, which the agents know from their briefs.
 *
 *   start      The driver starts keeper -> agent and writes one JSON document, the *brief*, to the
 *              agent's standard input, then closes it.  All that an agent may ever run, read or
 *              write comes in it; nothing that arrives over HTTP later can add to it.
 *              Agents that are started together get an invitation, with which each asks for its own
 *              brief first, of the driver whose key it names (protocol_join.h).
 *   register   POST /v1/agents            struct hello            -> 200 {} | 409 refused
 *   orders     GET /v1/agents/<id>/orders?after=<n>               -> 200 struct order
 *              A long poll: the order numbered n + 1 when it is there, else type "none" after at
 *              most a third of the lease.  Orders carry numbers and names of ranks only.
 *   reports    POST /v1/agents/<id>/reports   struct report       -> 200 {}
 *              Events at once, progress of the workers once a heartbeat, and at once when there
 *              are figures of a plan or a speed of which none were told.  A report that was not
 *              answered is sent again under the same `sequence`; the driver drops repeats.
 *
 * Each order is answered by an event:
 *
 *   profile    -> profile (text of a node_profile), unmeasured where it would have to be measured
 *                 and order.turn is not set, or failed
 *   prepare    -> prepared: node folder made, board made and the plan published, or failed
 *   check      -> checked: what all nodes must share is seen here, or failed
 *   start      -> rank_started for each rank as it comes up, mpirun_exit at the end; of the first
 *                 node, relay for every node on which mpirun wants a daemon of its own; of another,
 *                 mpirun_exit only when its daemon ended badly and not by us
 *   relay      -> nothing, or failed: run that daemon
 *   settle     -> nothing; workers that wait in eddis_commit go on with the first plan
 *   rebalance  -> nothing; the boards report from which step the new plan holds
 *   signal     -> nothing; SIGUSR2 to every rank
 *   stop       -> stopped: nothing of the generation is left on the node
 *   logs       -> pieces of that rank's log file, then logs
 *   pause      -> nothing; the ranks are stopped, and the lease does not count while the agent's
 *                 session with the driver's process is there, until
 *   continue   -> nothing
 *   bye        -> left, the last thing heard: the node's folder is removed, the agent exits 0
 *
 * Generation 0 is the network probe: prepared and started as any other, but what its ranks run is
 * eddis-net-probe, whose answer comes as the event network.
 *
 * Lease: an agent that gets no answer from the driver for brief.lease_ns kills its ranks, cleans
 * up and exits 3.  The keeper does the same when the agent dies or has not ticked for a lease.
 *
 * Time: clocks of nodes are never compared.  An event carries its age when it was sent, by the
 * agent's own clock; the driver takes arrival less age.
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
#include "protocol_hello.h"
#include "protocol_limits.h"
#include "protocol_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the brief: driver to agent, on standard input ---- */

struct brief {
    int agent; /* number of the agent = of its node */
    char job_id[128];
    char host[256];                      /* name by which people know the node */
    char **url;                          /* of the driver, NULL-ended, "https://10.1.0.7:41233" */
    char pin[PROTOCOL_PIN];              /* of the driver's key, "sha256//..." */
    char token[PROTOCOL_TOKEN];          /* of this agent alone; wiped from memory after use */
    char mark[NODE_IDENTITY_DIGITS + 1]; /* of its struct node_identity */
    char **command;                      /* NULL-ended */
    char **setup; /* NULL-ended lines for the user's shell, before the command */
    char *workdir;
    char **env;                           /* NULL-ended "NAME=VALUE": the user's additions */
    char *log_dir;                        /* where rank-0003.log goes; "": nothing is to stay */
    char log_marker[PROTOCOL_MARKER + 1]; /* the driver's log_dir holds a file ".<digits>" */
    char *checkpoint_dir;                 /* NULL: none */
    char fence_job[128];                  /* whose those are; "": job_id's */
    int64_t fence_before;   /* generations of that name in earlier jobs, counted generously */
    char *resume_from;      /* a checkpoint's folder, NULL: none */
    char *data_path;        /* read by the storage probe, NULL: none */
    char *step_pattern;     /* finds steps in a rank's output, NULL: none */
    int64_t step_samples;   /* of one of them; 0: unknown */
    int64_t quiet_ns;       /* ranks that do nothing for so long are told of; 0: nobody asks */
    int64_t quiet_start_ns; /* the same of programs that use libeddis, before they have begun to */
    char **mpi_args;        /* NULL-ended */
    char **mpi_mca;         /* NULL-ended: name, value, ... */
    bool bind;
    int64_t restarts;      /* at most, of this job */
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

/* ---- reports: agent to driver ---- */

/* EDDIS_EXIT_MEMORY of lib/eddis.h. */
enum { PROTOCOL_EXIT_MEMORY = 79 };

enum event_type {
    EVENT_PROFILE,
    EVENT_UNMEASURED, /* there is no profile yet: measuring takes a turn */
    EVENT_PREPARED,
    EVENT_CHECKED,
    EVENT_RANK_STARTED,
    EVENT_RANK_EXIT,
    EVENT_MPIRUN_EXIT,
    EVENT_RELAY,   /* mpirun wants a daemon on relay.host */
    EVENT_NETWORK, /* text of what the network probe measured, of its rank 0, in parts (parts.h), or
                    * of any other rank that one did not answer it, see lib/model/network.h; step:
                    * bytes that are to follow */
    EVENT_CHOICE,  /* text of what rank 0 has chosen of the communication, lib/model/choice.h */
    EVENT_COMMITTED, /* rank 0 waits for the job's mode; step: bytes of its model */
    EVENT_STOPPED,   /* step: of the newest checkpoint that is seen here; -1 none, or
                      * PROTOCOL_STEP_UNKNOWN: the folder does not answer */
    EVENT_LOGS,      /* all of the rank's log that was asked for has been sent */
    EVENT_FAILED,    /* an order could not be carried out; text says why */
    EVENT_UNSETTLED, /* likewise, when its ranks wait for it: the one that settles the mode */
    EVENT_NOTE,      /* something people should read once */
    EVENT_QUIET,     /* a rank of which no step is known neither prints nor computes; step: for how
                      * long, in ns; 0: it does again */
    EVENT_PLACE,     /* where a rank stands, as was asked; text: "it waits in ...", "": unknown,
                      * code: of agents/node/watch/stack_inspect.h */
    EVENT_SIGNAL,    /* Slurm has sent this one to the agents' step: SIGTERM or SIGUSR1 */
    EVENT_REFUSED,   /* mpirun or its daemon here has refused connections, so many, from the address
                      * `text`: see agents/guard/guard.h */
    EVENT_LEFT,      /* nothing of the job is left on the node, nor is the agent in a moment */
};

struct event {
    enum event_type type;
    int64_t age_ns; /* when it was sent */
    int64_t generation;
    int rank; /* -1: none */
    int pid;
    int code;     /* exit code, or -1 when it ended by a signal */
    int signal;   /* 0: none */
    bool by_us;   /* it ended after we had begun to stop it */
    bool oom;     /* killed by the kernel for lack of memory, or exited PROTOCOL_EXIT_MEMORY */
    bool lingers; /* it ended well but left MPI open, which mpirun hears of when it is stopped */
    bool echo;    /* it exited since a collective operation failed because of another, as it says */
    bool alone;   /* it has trained, and met nobody, as far as can be seen */
    bool first;   /* killed before a rank of its node failed that was heard of earlier */
    int64_t step; /* -1: none */
    struct program program; /* of EVENT_COMMITTED, the step of which is the bytes of the model */
    int64_t peak_bytes;  /* most memory that the rank's processes held, one of them; 0: unknown */
    int64_t limit_bytes; /* where oom: what its control group, or else the machine, has; likewise */
    int64_t refused;     /* connections since the event before from that address */
    struct relay relay;
    char *text;       /* profile, sentence; "" when unused */
    char *last_lines; /* of a rank that failed: its last output, at most
                       * PROTOCOL_LAST_LINES lines; "" otherwise */
};

/* Progress of one worker: what its board page says, in plain numbers. */
struct progress {
    int rank, pid, phase;
    int64_t steps_done, steps_total, steps_in_epoch, samples_in_epoch, epochs;
    int64_t steps_here, samples_done;      /* by this process */
    int64_t restored_samples, restored_at; /* as in board_page */
    int64_t plan_version, plan_since, bytes_sent, overrun_ns;
    int64_t model_bytes;                  /* 0: not told yet */
    struct program program;               /* told with it */
    int staleness;                        /* 0 in synchronous modes */
    int64_t exchanges, exchange_ns;       /* as in board_page */
    int64_t page_age_ns;                  /* since its last step ended; -1: none yet */
    int64_t phase_age_ns;                 /* since the phase began; -1: unknown */
    int waits_for;                        /* rank that it has waited for a second or more; -1 */
    double loss;                          /* NAN: none */
    struct board_times sum;               /* over all steps */
    int64_t step_plan;                    /* version that the last step was done under */
    int64_t steps_before, samples_before; /* of all, those before the first one under it */
    struct board_times sum_before;
    int64_t recent_steps; /* steps in `recent` */
    int64_t recent_samples;
    struct board_times recent;   /* sum over the steps since the report before */
    struct step_figures figures; /* of its latest steps, of one plan and speed; plan 0: none yet */
    double
        queued_s; /* of a step of figures, mean: its thread waited for a processor; NAN unknown */
    struct core_loss core_loss; /* as read last, within a second or two */
    struct link_load link;      /* likewise */
    int64_t memory_bytes;       /* most held at once under step_plan, about; 0: unknown */
    bool memory_told; /* that is of the device, as the program tells; else of the process */
    int64_t memory_limit_bytes; /* what memory_bytes of all workers of memory_pool may come to on
                                 * this node, which others use too; 0: unknown */
    int memory_pool;            /* a rank of those that are under one limit here */
    int64_t at_once;            /* samples that it holds at most in the present step; 0: none yet */
    bool takes_pieces;          /* the program promises to keep to a plan's piece */
    bool stops;                 /* its program has called eddis_stop */
    bool trained;               /* it found none of the job's steps left */
    bool ended;                 /* as in board_page */
    int64_t checkpoints_written, checkpoints_failed, checkpoint_step; /* as in board_page */
    char checkpoint_why[BOARD_WHY];
    bool told;                 /* it tells the numbers of its steps, or prints them, no more */
    struct model_check models; /* as in board_page */
    int64_t loss_step;         /* likewise */
    struct board_metric metric[BOARD_METRICS];
};

/* Whole lines that a rank has printed, a copy for the screen of what is in its log file. */
struct output {
    int rank;
    int64_t dropped; /* lines before these that are in the file only */
    char *text;
    bool early; /* before its program has begun, as of the job's setup; or lines of MPI's own */
};

/* A part of a rank's log file on its way to the job's folder. */
struct log_piece {
    int rank;
    int64_t offset;
    char *text;
};

struct report {
    int agent;
    int64_t sequence;    /* from 1 */
    struct event *event; /* [n_events] */
    int n_events;
    struct progress *worker; /* [n_workers] */
    int n_workers;
    struct output *output; /* [n_outputs] */
    int n_outputs;
    struct log_piece *piece; /* [n_pieces] */
    int n_pieces;
};

char *report_text(const struct report *r);
int report_parse(const char *text, size_t n, struct report **ret, struct eddis_error *err);
void report_free(struct report *r); /* accepts NULL */

#endif
