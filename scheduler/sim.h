/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - a job in virtual time that is controlled by the same re-planning as a real one
 *
 * Each worker has a true law of its time for a batch, which the policy does not know. Steps last as
 * the laws and the seed determine. They fill windows (step_window.h), windows are reported as
 * agents report them, and a proposal takes force two or three steps later, as workers agree on it:
 *
 *     laws + jitter -> steps -> windows -> measurements -> replan -> plan -> batches of later
 * steps
 *
 * Workers that train one model together are a party: all in synchronous training, a group in hybrid
 * or local mode, each worker in asynchronous mode. An event is the end of a party's step. In local
 * mode all parties wait for each other at the end of a round, and a plan takes force there.
 *
 * A run is a function of its setup and the calls that follow: no clock is read.
 */
#ifndef EDDIS_SCHEDULER_SIM_H
#define EDDIS_SCHEDULER_SIM_H

#include "replan.h"
#include "stragglers.h"

#include "lib/base/error.h"

#include <stdint.h>

enum { SIM_MAX_WORKERS = 4096 };

/* A worker's true time: max(floor_s, fixed_s + sample_s * batch), and 0 for no samples. If that
 * exceeds quota_s, it is three times as long, as for a throttled worker; quota_s 0: never.
 */
struct sim_worker {
    double fixed_s, sample_s, floor_s, quota_s;
    double input_s;     /* time of the data path for a sample */
    int others;         /* other programs that share its core by time slices */
    double visit_s;     /* they stay about so long, and are gone as long; 0: they always stay */
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
    double epoch_steps;  /* steps of an epoch, whose end is a round's end; 0: unknown */
    int64_t overlap;     /* steps of a round that hide the combining of models before it */
    int64_t model_bytes; /* 0: there is no communication */
    int64_t wire_bytes;  /* bytes of the gradients between nodes; 0: as model_bytes */
    /* of modes_sending, instead of model_bytes and wire_bytes; buckets 0: eight equal buckets of
     * model_bytes
     */
    struct modes_sending sending;
    double latency_s;
    double jitter; /* standard deviation of a step's time, relative */
    double spike;  /* probability of a step that takes spike_ratio times as long */
    double spike_ratio;
    bool read_ahead;               /* input is read while the step before computes */
    struct replan *replan;         /* borrowed; NULL: the plan stays */
    bool keeps_plan;               /* `replan` learns, but its proposals are ignored */
    struct stragglers *stragglers; /* gets the same reports; borrowed, may be NULL */
};

struct sim;

/* Return a job before its first step in *ret; free it with sim_free. -EINVAL, -ENOMEM. */
int sim_new(const struct sim_setup *s, struct sim **ret, struct eddis_error *err);
void sim_free(struct sim *s);

/* Advance until rank 0 has done so many more steps. */
void sim_run(struct sim *s, int64_t steps);

/* Advance until this time: steps that end later are not done yet. */
void sim_run_until(struct sim *s, double until_s);

/* Set the factor on the time of this worker from now on. */
void sim_slow(struct sim *s, int rank, double times);

/* Set the bandwidth of every node's link from now on. */
void sim_link(struct sim *s, double bytes_per_s);

/* Set the data path's time per sample of this worker from now on. */
void sim_set_input(struct sim *s, int rank, double input_s);

/* Publish the caller's batches [n]; only if no plan waits to take force. */
void sim_publish(struct sim *s, const int64_t *batch);

double sim_now_s(const struct sim *s);
int64_t sim_samples(const struct sim *s); /* of all steps done */
int64_t sim_version(const struct sim *s); /* in force everywhere; 1 at first */
int64_t sim_step(const struct sim *s);    /* of rank 0 */
int64_t sim_period(const struct sim *s);  /* steps between exchanges */

/* Return the work of the simulation so far, to which its processor time is about proportional: a
 * step of a worker is 1, which takes about 0.3 us.
 */
int64_t sim_work(const struct sim *s);

/* Return how often the network was contradicted, and borrow the last contradiction. */
int sim_contradictions(const struct sim *s, const struct replan_contradiction **ret);

/* Borrow the batches in force [n]. */
const int64_t *sim_batch(const struct sim *s);

/* Return the mean own time of a worker's steps since the last call for it; 0: there were none. */
double sim_own_s(struct sim *s, int rank);

/* Return the longest own time of these batches [n] by the laws, without jitter. */
double sim_longest_s(const struct sim *s, const int64_t *batch);

/* Compute the exact integer optimum by the laws in ret [n], for batches from min to max [n] (NULL:
 * any) with the sum of the first plan. Return its longest own time; INFINITY: the bounds allow
 * none.
 */
double sim_best_s(const struct sim *s, int64_t min, const int64_t *max, int64_t *ret);

#endif
