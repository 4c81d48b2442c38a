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

/* The pending questions to Slurm */
struct slurm_query {
    struct job_run *run;
    /* thread that runs scontrol and sinfo; NULL: the job runs in no allocation */
    struct file_thread *thread;
    /* a question about the time limit is pending; a question about nodes is pending */
    bool asking_limit, asking_nodes;
    int asked_count; /* value of preempt_count when the signal arrived that the question is about */
    int asked_signal; /* this signal: SIGTERM or SIGUSR1 */
    int tries;        /* number of questions about this signal */
    int64_t nodes_ns; /* time from which the next question about nodes is allowed */
    /* seconds between two questions about nodes; 0: no question yet since a node became silent */
    int64_t again_s;
};

/* Check whether a record of "scontrol -o show job" shows that Slurm ends the job because of its
 * time limit, or that at now_s (Unix time in seconds) the job has at most warned_s seconds left.
 */
bool slurm_query_is_limit(const char *record, int64_t now_s, int64_t warned_s);

/* Check whether the output of "sinfo -h -a -N -O NodeList,StateComplete" says that a node is down,
 * drained or not.
 */
bool slurm_query_is_down(const char *table, const char *node);

/* If the job runs in an allocation, start the thread that runs scontrol and sinfo. Return 0 or a
 * negative errno.
 */
int slurm_query_open(struct slurm_query *a, struct eddis_error *err);

/* Return a descriptor that is readable if an answer may have arrived; -1: no thread asks Slurm. */
int slurm_query_fd(const struct slurm_query *a);

/* Ask Slurm the questions that are due, and pass its answers to the state machine. */
void slurm_query_turn(struct slurm_query *a, int64_t now_ns);

/* At the job's end, wait a short time for Slurm's answer about the time limit. When the function
 * returns, none of the programs that it or slurm_query_turn started runs any more.
 */
void slurm_query_settle(struct slurm_query *a);

/* Stop the thread that asks Slurm. If *a was not opened, do nothing. */
void slurm_query_close(struct slurm_query *a);

#endif
