/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - the history of a job's program, its workers and their network, as input for a plan
 *
 * The history begins with what earlier jobs of the program measured, and is updated by this job.
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_HISTORY_H
#define EDDIS_AGENTS_DRIVER_HISTORY_HISTORY_H

#include "agents/driver/core/job_run.h"
#include "past.h"

/* What has been measured of the program. */
struct history {
    struct job_run *run;               /* borrowed */
    const struct run_network *network; /* the network that the plan uses; borrowed */
    char algorithm[16];        /* algorithm of the last launched plan; "": no plan was launched */
    enum sync_wire wire;       /* wire format of the last launched plan; SYNC_WIRE_AUTO: none */
    struct past_model model;   /* the program's model, as last reported */
    struct past_times times;   /* the workers' times per batch, in seconds */
    struct past_memory memory; /* the workers' limits by memory */
    struct past_efficiencies efficiencies; /* of modes, measured with the program */
    bool limited;     /* a worker of this job lacked memory: plans keep to the limits since */
    int retries;      /* restarts of this job with fewer samples for a worker */
    bool memory_kept; /* the cache has an entry with these memory limits for the next job */
    bool loaded;      /* the cache has been read */
    bool precision_reported; /* this job's program has reported its precision; the first counts */
};

/* Fill *ret with the history of the program and its network, for the planner; *ret borrows from *k.
 * The first call reads the cache.
 */
void history_fill(struct history *k, struct planner_history *ret);

/* Record the network between the nodes that keep workers, as the workers show it; a member 0:
 * unchanged. The network between all nodes changes in proportion.
 */
void history_correct(struct job_run *run, struct run_wire wire);

/* Record the size of the model and the traits of the program, also in the cache for the next job.
 * The first precision that a worker of this job reports counts.  If the size differs from the
 * recorded size, discard the workers' times, memory limits and efficiencies. Return whether size or
 * traits have changed.
 */
bool history_model(struct history *k, int64_t bytes, const struct program *p);

/* Record how many gradients the workers' buckets hold, also in the cache for the next job; 0:
 * unknown.
 */
void history_gradients(struct history *k, int64_t n);

/* Record how many samples the job trains in all epochs and in one, also in the cache for the next
 * job; 0: unknown. Return whether a number has changed.
 */
bool history_samples(struct history *k, int64_t n, int64_t in_epoch);

/* Store the workers' times in the cache for the next job. */
void history_keep_times(struct history *k);

/* Store the workers' memory limits in the cache for the next job. */
void history_keep_memory(struct history *k);

/* Free the workers' times, memory limits and efficiencies in *k; neither k itself nor the cache is
 * removed. */
void history_fini(struct history *k);

#endif
