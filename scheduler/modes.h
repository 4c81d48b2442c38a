/* SPDX-License-Identifier: Apache-2.0 */
/* modes.h - how fast each mode would be: samples per second, predicted in virtual time
 *
 * t_i is worker i's compute time for its batch, a third of it forward and the rest backward; G the
 * bytes of the gradients, F those of them that are float32; M the bytes of the centre; N the nodes;
 * L the bytes per second of each node's link.
 *
 *   sync     Buckets leave as back-propagation fills them, so a step is the latest of
 *                max t_i + the last bucket,
 *                the first bucket's filling + the whole all-reduce, and
 *                when the largest gradient is ready + what leaves from there on,
 *            where the ring needs 2 (N - 1) / N G / L, with G - F / 2 when 16 bits travel, and the
 *            time of converting them.  Layers are taken to compute as long as their bytes
 *            are many, which makes the largest one of a convolutional network late.
 *   hybrid   The same inside each group.  Every `period` steps its root exchanges models with the
 *            centre, which lies in stripes over the nodes (heterogeneity: SEASGD of ShmCaffe):
 *                T = max(period * step, write + accumulate) + read + local update + broadcast
 *            of which the broadcast, to its group, is of the parameters as they are.
 *            Reads and writes of different groups share the links: what a transfer takes grows by
 *            1 / (1 - load of the others), found by iteration.
 *   async    Hybrid with every worker a group.
 *
 * With the model or L unknown (0) exchanges cost nothing.  No clock is read; equal input, equal
 * output.
 */
#ifndef EDDIS_SCHEDULER_MODES_H
#define EDDIS_SCHEDULER_MODES_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "lib/model/program_facts.h"
#include "scheduler/time_model.h"

#include <stdint.h>

enum {
    MODES_PERIOD = 16,          /* while the model's size is not known */
    MODES_MAX_PERIOD = 1 << 14, /* no longer one is chosen by itself ... */
    MODES_LEAST_EXCHANGES = 4   /* ... nor one with fewer in the whole job */
};

struct modes_worker {
    struct time_model t;
    int64_t batch;
    int node; /* from 0, below n_nodes */
};

struct modes_setup {
    const struct modes_worker *worker; /* [n] */
    int n, n_nodes;
    int64_t model_bytes, bucket_bytes;
    struct program program; /* what of these bytes travels, as what; all 0: float32, alike */
    int64_t n_gradients;    /* that buckets are cut of, where bucket_bytes is 0; 0: unknown */
    double latency_s, bytes_per_s; /* of a node's link */
    int64_t steps;                 /* of the whole job; 0: unknown */
    enum sync_wire wire;           /* of gradients between nodes; SYNC_WIRE_AUTO: float32 */
};

/* Synchronous training. */
int modes_sync(const struct modes_setup *s, double *ret_samples_per_s, struct eddis_error *err);

/* Groups [n] that average models every `period` steps; NULL: every worker is one. */
int modes_elastic(const struct modes_setup *s, const int *group, int64_t period,
                  double *ret_samples_per_s, struct eddis_error *err);

/* Seconds of those who train one model together. */
struct modes_time {
    double compute_s;  /* of a step: of its slowest member */
    double exposed_s;  /* of a step beside it: gradients that compute does not hide */
    double exchange_s; /* of an exchange of models that steps do not hide */
    int nodes;         /* that they are on */
};

/* Fill ret [at most n] with the times of these groups, in their order: without exchanges at period
 * 0.  Returns how many there are, or -ENOMEM.
 */
int modes_times(const struct modes_setup *s, const int *group, int64_t period,
                struct modes_time *ret, struct eddis_error *err);

/* The shortest period at which exchanging models costs at most 1.5 % of the time, or the longest
 * that leaves the job MODES_LEAST_EXCHANGES.
 */
int modes_period(const struct modes_setup *s, const int *group, int64_t *ret,
                 struct eddis_error *err);

#endif
