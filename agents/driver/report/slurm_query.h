/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_query.h - ask Slurm about the job and its nodes without blocking on its controller
 *
 * Slurm answers two questions that no agent can answer: whether a signal came because of the job's
 * time limit, and whether a silent node is down.
 */
#ifndef EDDIS_AGENTS_DRIVER_REPORT_SLURM_QUERY_H
#define EDDIS_AGENTS_DRIVER_REPORT_SLURM_QUERY_H

#include "agents/driver/core/job_run.h"

#include <stdbool.h>
#include <stdint.h>

/* The questions to Slurm that are pending. */
struct slurm_query {
    struct job_run *run;
    struct file_thread *thread; /* runs scontrol and sinfo; NULL: the job is in no allocation */
    bool asking_limit, asking_nodes; /* a question about the time limit, about nodes, is pending */
    int asked_count;                 /* preempt_count when the signal in question came */
    int asked_signal;                /* SIGTERM or SIGUSR1 */
    int tries;                       /* questions about that signal */
    int64_t nodes_ns;                /* when the next question about nodes may follow */
    int64_t again_s; /* seconds between two such questions; 0: none yet while a node is silent */
};

/* Check whether a record of "scontrol -o show job" shows that Slurm ends the job at its time limit,
 * or that at most warned_s seconds are left at now_s (Unix time in seconds).
 */
bool slurm_query_is_limit(const char *record, int64_t now_s, int64_t warned_s);

/* Check whether the output of "sinfo -h -a -N -O NodeList,StateComplete" says that a node is down,
 * drained or not.
 */
bool slurm_query_is_down(const char *table, const char *node);

/* Start the thread that runs scontrol and sinfo, if the job runs in an allocation. */
int slurm_query_open(struct slurm_query *a, struct eddis_error *err);

/* Return a descriptor that is readable if an answer may have come; -1: none. */
int slurm_query_fd(const struct slurm_query *a);

/* Ask Slurm the questions that are due, and pass its answers to the state machine. */
void slurm_query_turn(struct slurm_query *a, int64_t now_ns);

/* At the job's end, wait a moment for Slurm's answer about the time limit.  When it returns, no
 * program that was started runs any more.
 */
void slurm_query_settle(struct slurm_query *a);

/* Stop the thread that asks Slurm.  Accepts one that was not opened. */
void slurm_query_close(struct slurm_query *a);

#endif
