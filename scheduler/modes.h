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
 *     hybrid   Steps inside each group are as in sync.  Every `period` steps the group's root
 *              exchanges models with the center variable, which is striped over the nodes
 *              (heterogeneity: SEASGD of ShmCaffe):
 *                  T = max(period * step + least, write + accumulate + read)
 *                      + local update + broadcast
 *              Steps hide the read, but of a read as short as a tenth of a step nothing, and of a
 *              longer one as much is counted: least = min(read, step / 10).
 *              The broadcast to the group sends the parameters in their own format.  If the group
 *              is on several nodes, the root sends both write and broadcast by its link, so steps
 *              begin after both:
 *                  T = period * step + read + local update + write + broadcast
 *              Reads and writes of different groups share the links, with each other and with the
 *              all-reduces of steps: a transfer takes 1 / (1 - load of the other groups) times as
 *              long, found by iteration.
 *     async    As hybrid, with every worker as a group.
 *     local    With B samples in a step of all workers, B_g of them in group g of G groups, a round
 *              of `period` steps has period * B samples, and period * B_g of them are the group's.
 *              It takes them in steps_g equal steps of at most min(B_g, B / G rounded up) samples;
 *              with period 1 in one step.  Equal rounds fill an epoch, none longer than the period.
 *              Steps inside each group are as in sync.  At the end of a round all workers combine
 *              the differences of their models, while they make the first `overlap` steps of the
 *              next round, in which only the rest of it takes time:
 *                  hidden_g = min(overlap, steps_g) * step_g
 *                  rest_g = max(0, all-reduce + local update - hidden_g)
 *                  T = max over g (steps_g * step_g + rest_g)
 *              The ring sends 2 (N - 1) / N M / L, with M / 2 instead of M if 16 bits are sent,
 *              plus the conversion.
 *
 * If the size of the model or L is unknown (0), exchanges cost no time. No clock is read; equal
 * input gives equal output.
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
    MODES_LEAST_EXCHANGES = 4,  /* least number of exchanges of a job at a period eddis chooses */
    /* longest round of a period that eddis chooses, in seconds: a stop or a checkpoint waits for
     * the end of a round
     */
    MODES_ROUND_S = 60,
};

struct modes_worker {
    struct time_model t;
    int64_t batch;
    int node; /* node of the worker, from 0, below n_nodes */
};

struct modes_setup {
    const struct modes_worker *worker; /* [n] workers by rank */
    int n, n_nodes;
    int64_t model_bytes, bucket_bytes;
    struct program
        /* which bytes of the model are sent, and in which format; all members 0: all bytes are
         * float32
         */
        program;
    /* number of gradients sent in buckets, used if bucket_bytes is 0; 0: unknown */
    int64_t n_gradients;
    double latency_s, bytes_per_s; /* latency and bandwidth of a node's link */
    int64_t steps;                 /* number of steps of the whole job; 0: unknown */
    /* steps of an epoch, whose end is a round's end, the last in part; 0: unknown */
    double epoch_steps;
    /* format in which nodes send gradients; SYNC_WIRE_AUTO: float32 */
    enum sync_wire wire;
    int64_t overlap; /* steps of a round that hide the combining of models; 0: none */
};

/* Return the predicted samples per second of synchronous training; 0 if a step takes no time. */
double modes_sync(const struct modes_setup *s);

/* Predict the samples per second of groups that average models every `period` steps. group [n]: the
 * group of each worker; NULL: each worker is a group. Return 0 or -ENOMEM.
 */
int modes_elastic(const struct modes_setup *s, const int *group, int64_t period,
                  double *ret_samples_per_s, struct eddis_error *err);

/* Return the mean global batches of the rounds that fill an epoch of epoch_steps global batches; 0:
 * the epoch's length is unknown, and all rounds have `period`.
 */
double modes_round_batches(double epoch_steps, int64_t period);

/* Return the global batches of the longest and of the shortest round of an epoch, as
 * lib/data/sample_rounds divides it if no group has a min_count; see modes_round_batches.
 */
double modes_longest_round(double epoch_steps, int64_t period);
double modes_shortest_round(double epoch_steps, int64_t period);

/* Predict the samples per second of groups that combine their models at the end of rounds of
 * `period` steps; see modes_elastic.
 */
int modes_rounds(const struct modes_setup *s, const int *group, int64_t period,
                 double *ret_samples_per_s, struct eddis_error *err);

/* Predict the samples per second of these groups if exchanges of models took no time, which no
 * period exceeds. Return 0 or -ENOMEM.
 */
int modes_unexchanged(const struct modes_setup *s, const int *group, double *ret_samples_per_s,
                      struct eddis_error *err);

/* What is sent, for a simulation of single steps. The wire bytes take as long on a link as what is
 * sent in the setup's format, conversion included.
 */
struct modes_sending {
    double gradient_bytes, wire_bytes; /* of the gradients of a step; 0: the program sends them */
    double model_bytes;                /* of the center variable */
    double model_wire_bytes;           /* of the differences of models at the end of a round */
    double buckets;                    /* number of equal buckets of the gradients */
    /* fractions of the gradients' bytes: those ready after the largest gradient, and those not yet
     * sent when it is ready; left 0: the size of the largest gradient is unknown
     */
    double behind, left;
};

/* Fill *ret with what the model of s sends. */
void modes_sending(const struct modes_setup *s, struct modes_sending *ret);

/* Seconds that workers which train one model together spend */
struct modes_time {
    double compute_s; /* in a step: computing by the slowest member */
    /* in a step: communication of gradients that is not hidden behind computing */
    double exposed_s;
    double exchange_s; /* an exchange of models, with the read that steps hide, not the write */
    double hidden_s;   /* part of exchange_s that steps hide */
    int nodes;         /* number of nodes on which these workers run */
};

/* Fill ret [at most n] with the times of the groups in `group` [n] (see modes_elastic), in the
 * order of their numbers; period 0: without exchanges of models. Return the number of groups, or
 * -ENOMEM.
 */
int modes_times(const struct modes_setup *s, const int *group, int64_t period,
                struct modes_time *ret, struct eddis_error *err);

/* As modes_times, for groups that combine their models at the end of rounds. exchange_s is without
 * the wait for slower groups. period: at least 1.
 */
int modes_round_times(const struct modes_setup *s, const int *group, int64_t period,
                      struct modes_time *ret, struct eddis_error *err);

#endif
