/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - a job in virtual time that drives the re-planning which a real one is driven by
 *
 * Each worker has a true law of its time for a batch, which nobody is told.  Steps last as the laws
 * and the seed say; they fill windows (step_window.h), windows are reported as agents report them,
 * and a proposal takes force two or three steps later, as workers agree on it:
 *
 *     laws + jitter -> steps -> windows -> figures -> rebalance -> plan -> batches of later steps
 *
 * Workers that keep one model together are a party: all in synchronous training, a group in hybrid,
 * each worker by itself in asynchronous.  The event is the end of a party's step.
 *
 * A run is a function of its setup and of the calls that follow: no clock is read.
 */
#ifndef EDDIS_SCHEDULER_SIM_H
#define EDDIS_SCHEDULER_SIM_H

#include "rebalance.h"
#include "stragglers.h"

#include "lib/base/error.h"

#include <stdint.h>

enum { SIM_MAX_WORKERS = 4096 };

/* What a worker really does: max(floor_s, fixed_s + sample_s * batch), and 0 for no samples.  If
 * that exceeds quota_s, as of a worker that is throttled, it is three times as long; 0: never.
 */
struct sim_worker {
    double fixed_s, sample_s, floor_s, quota_s;
    double input_s;     /* the data path's time for a sample */
    int others;         /* programs that compute on its core, taking turns with it ... */
    double visit_s;     /* ... for about so long at a time, and are gone as long; 0: always */
    double bytes_per_s; /* of its node's link; 0: messages take no time */
    int node, group;    /* from 0, in runs */
    int64_t batch;      /* of the first plan */
};

struct sim_setup {
    const struct sim_worker *worker; /* [n], copied */
    int n;
    uint64_t seed;
    const char *algorithm;
    int64_t period;      /* steps between exchanges of models; 0 in synchronous training */
    int64_t model_bytes; /* 0: there is no communication */
    int64_t wire_bytes; /* what gradients are between nodes, where narrower; 0: as long as models */
    double latency_s;
    double jitter; /* standard deviation of a step's time, relative */
    double spike;  /* probability of a step that takes spike_ratio times as long */
    double spike_ratio;
    bool read_ahead;               /* input is read while the step before computes */
    struct rebalance *rebalance;   /* borrowed; NULL: the plan stays */
    struct stragglers *stragglers; /* is told what rebalance is; borrowed, may be NULL */
};

struct sim;

/* Returns a job before its first step.  -EINVAL, -ENOMEM. */
int sim_new(const struct sim_setup *s, struct sim **ret, struct eddis_error *err);
void sim_free(struct sim *s);

/* Go on until rank 0 has done so many more steps. */
void sim_run(struct sim *s, int64_t steps);

/* From now on this worker takes so many times as long as its law says. */
void sim_slow(struct sim *s, int rank, double times);

/* From now on every node's link carries so much. */
void sim_link(struct sim *s, double bytes_per_s);

/* From now on this worker's data path takes so long for a sample. */
void sim_set_input(struct sim *s, int rank, double input_s);

/* Publish batches [n] of the caller's own; only while no plan waits to take force. */
void sim_publish(struct sim *s, const int64_t *batch);

double sim_now_s(const struct sim *s);
int64_t sim_samples(const struct sim *s); /* of all steps done */
int64_t sim_version(const struct sim *s); /* in force everywhere; 1 at first */
int64_t sim_step(const struct sim *s);    /* of rank 0 */
int64_t sim_period(const struct sim *s);  /* steps between exchanges */

/* Return how often the network was contradicted, and borrow the last contradiction. */
int sim_contradictions(const struct sim *s, const struct rebalance_contradiction **ret);

/* Borrows the batches in force [n]. */
const int64_t *sim_batch(const struct sim *s);

/* Mean own time of a worker's steps since the last call for it; 0: there were none. */
double sim_own_s(struct sim *s, int rank);

/* What the laws say without jitter: the longest own time of these batches [n]. */
double sim_longest_s(const struct sim *s, const int64_t *batch);

/* The exact integer optimum of these, for batches from min to max [n] (NULL: any) that add up as
 * those of the first plan do; ret [n].
 */
double sim_best_s(const struct sim *s, int64_t min, const int64_t *max, int64_t *ret);

#endif
