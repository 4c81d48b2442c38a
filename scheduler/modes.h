/* SPDX-License-Identifier: Apache-2.0 */
/* modes.h - predicts the samples per second of each mode, in virtual time
 *
 * t_i is worker i's compute time for its batch, a third of it forward and the rest backward.
 * G: bytes of the gradients; F: the part of them that is float32; M: bytes of the center variable;
 * N: number of nodes; L: bytes per second of each node's link.
 *
 *     sync     Buckets are sent as back-propagation fills them, so a step takes the longest of
 *                  max t_i + the last bucket,
 *                  the time to fill the first bucket + the whole all-reduce, and
 *                  the time when the largest gradient is ready + sending it and all later ones.
 *              The ring sends 2 (N - 1) / N G / L, with G - F / 2 instead of G if 16 bits are sent,
 *              plus the conversion.  Layers are assumed to compute in proportion to their bytes,
 *              so the largest layer of a convolutional network is ready late.
 *     hybrid   The same inside each group.  Every `period` steps the group's root exchanges models
 *              with the center, which is striped over the nodes (heterogeneity: SEASGD of
 * ShmCaffe): T = max(period * step, write + accumulate) + read + local update + broadcast The
 * broadcast to the group sends the parameters in their own format.  Reads and writes of different
 * groups share the links: a transfer takes 1 / (1 - load of the others) times as long, found by
 * iteration. async    Hybrid with every worker a group.
 *
 * If the model or L is unknown (0), exchanges cost nothing. No clock is read; equal input gives
 * equal output.
 */
#ifndef EDDIS_SCHEDULER_MODES_H
#define EDDIS_SCHEDULER_MODES_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "lib/model/program_facts.h"
#include "scheduler/time_model.h"

#include <stdint.h>

enum {
    MODES_PERIOD = 16,          /* period while the model's size is unknown */
    MODES_MAX_PERIOD = 1 << 14, /* longest period that eddis chooses */
    MODES_LEAST_EXCHANGES = 4   /* exchanges of the whole job that a chosen period leaves */
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
    struct program
        program; /* which of these bytes are sent, in which format; all 0: all are float32 */
    int64_t n_gradients;           /* in buckets, used if bucket_bytes is 0; 0: unknown */
    double latency_s, bytes_per_s; /* of a node's link */
    int64_t steps;                 /* of the whole job; 0: unknown */
    enum sync_wire wire;           /* of gradients between nodes; SYNC_WIRE_AUTO: float32 */
};

/* Predict the samples per second of synchronous training. */
double modes_sync(const struct modes_setup *s);

/* Predict groups [n] that average models every `period` steps; group NULL: each worker is a group.
 * -ENOMEM.
 */
int modes_elastic(const struct modes_setup *s, const int *group, int64_t period,
                  double *ret_samples_per_s, struct eddis_error *err);

/* Seconds of workers that train one model together. */
struct modes_time {
    double compute_s;  /* of a step: compute of the slowest member */
    double exposed_s;  /* of a step: communication of gradients that compute does not hide */
    double exchange_s; /* of an exchange of models: the part that steps do not hide */
    int nodes;         /* number of nodes that they run on */
};

/* Fill ret [at most n] with the times of these groups, in their order; period 0: without exchanges.
 * Return how many there are, or -ENOMEM.
 */
int modes_times(const struct modes_setup *s, const int *group, int64_t period,
                struct modes_time *ret, struct eddis_error *err);

/* Find the shortest period at which exchanges of models cost at most 1.5 % of the time, or the
 * longest that leaves the job MODES_LEAST_EXCHANGES. -ENOMEM.
 */
int modes_period(const struct modes_setup *s, const int *group, int64_t *ret,
                 struct eddis_error *err);

#endif
