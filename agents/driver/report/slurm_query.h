/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_query.h - what Slurm says of the job and its nodes, asked without waiting for its
 * controller
 *
 * Slurm is asked for two things that no agent can tell: whether a signal came with the end of the
 * job's time limit, and whether a node that is silent is down.
 */
#ifndef EDDIS_AGENTS_DRIVER_REPORT_SLURM_QUERY_H
#define EDDIS_AGENTS_DRIVER_REPORT_SLURM_QUERY_H

#include "agents/driver/core/job_run.h"

#include <stdbool.h>
#include <stdint.h>

struct slurm_ask {
    struct job_run *run;
    struct file_thread *thread; /* NULL: the job is in no allocation */
    bool asking_limit, asking_nodes;
    int asked_count;  /* of the signal that was asked about, see preempt_count */
    int asked_signal; /* SIGTERM or SIGUSR1 */
    int tries;        /* of questions about it */
    int64_t nodes_ns; /* when nodes may be asked for again */
    int64_t again_s;  /* behind the last question; 0: there was none while one is silent */
};

/* Whether a record of "scontrol -o show job" is of a job that Slurm ends at its time limit, or that
 * has at most warned_s seconds left at now_s, which is seconds since 1970.
 */
bool slurm_ask_is_limit(const char *record, int64_t now_s, int64_t warned_s);

/* Whether "sinfo -h -a -N -O NodeList,StateComplete" says that a node is down, be it drained or
 * not.
 */
bool slurm_ask_is_down(const char *table, const char *node);

/* Start the thread where the job runs in an allocation. */
int slurm_ask_open(struct slurm_ask *a, struct eddis_error *err);

/* Return a descriptor that is readable when there may be an answer; -1: there is none. */
int slurm_ask_fd(const struct slurm_ask *a);

/* Ask what is to be known now, and give the state machine the answers that have come. */
void slurm_ask_turn(struct slurm_ask *a, int64_t now_ns);

/* The job is over: wait a moment for what was asked about its end; then nothing that was started
 * runs any more.
 */
void slurm_ask_settle(struct slurm_ask *a);

/* Accepts one that was not opened. */
void slurm_ask_close(struct slurm_ask *a);

#endif
