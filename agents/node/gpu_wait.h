/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_wait.h - waits until no other job uses the node's GPUs, and locks them before they are
 * measured
 *
 * The GPUs are listed while the agent registers. The driver lets the nodes of a job lock their GPUs
 * one node after another, in an order that is the same for all jobs (state_next_for_gpus), so two
 * jobs never wait for each other. On a node a job locks all GPUs or none.
 */
#ifndef EDDIS_AGENTS_NODE_GPU_WAIT_H
#define EDDIS_AGENTS_NODE_GPU_WAIT_H

#include "agents/protocol/protocol.h"
#include "gpu_lock.h"
#include "probe.h"

#include <stdbool.h>
#include <stdint.h>

/* The GPUs that the job may use on this node; zero: none, and not listed */
struct gpu_wait {
    struct probe list;           /* eddis-probe --gpus */
    char *gpus;                  /* its output; NULL: none yet, or it failed */
    int64_t since_ms;            /* time from which the job waits; 0: it does not */
    struct gpu_lock held, queue; /* locks; places in the queues of other jobs' GPUs */
};

/* Start to list the GPUs, unless the job emulates devices or its program uses none. A failure
 * leaves the list empty: the measurement that follows reports it.
 */
void gpu_wait_list(struct gpu_wait *w, const struct agent_config *b);

/* Keep the list of the ended probe with this wait status. */
void gpu_wait_listed(struct gpu_wait *w, int status);

/* Lock all listed GPUs that the order to profile names. Return 0; -EAGAIN: the list is not complete
 * yet; -EADDRINUSE: another job has one of them, which err names, no GPU was locked, and the job
 * has its place in the queue; or -ENOMEM.
 */
int gpu_wait_try(struct gpu_wait *w, const struct order *o, const char *job_id,
                 struct eddis_error *err);

/* Release all locks and places, kill the probe, and free the list. */
void gpu_wait_end(struct gpu_wait *w);

#endif
