/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.h - N workers of unequal speed in one process, in virtual time
 *
 * Engines, algorithms, collectives, the Soft Memory Box and the ranges of samples are the library's
 * own.  Only the network (loop.h), the clock and the duration of computing are simulated:
 *
 *     take samples | exchange if due | compute for the given time | combine | update | ...
 *
 * A run depends only on its options: the seed decides the order of messages.  Every group takes its
 * samples from one counter.  In sync mode all ranks are one group.
 */
#ifndef EDDIS_BENCH_SIMULATION_H
#define EDDIS_BENCH_SIMULATION_H

#include "lib/data/ranges.h"
#include "lib/sync/engine.h"

/* A step of one rank. */
struct simulation_step {
    int64_t step, epoch;
    int64_t first, count; /* this rank's positions in the epoch's permutation */
    int64_t batch;        /* samples of its group */
    double lr_factor;
    int64_t hidden_ns;        /* how long steps hid the read of the exchange before this step */
    int64_t begin_ns, end_ns; /* virtual time, including the wait for samples and exchange */
};

/* Functions of the training that is simulated. */
struct simulation_hooks {
    void *arg;
    /* Write the mean gradient of the step's samples at the rank's present values to slot
     * [n_parameters].  Return how long this takes, ns.  count may be 0.
     */
    int64_t (*compute)(void *arg, int rank, const struct simulation_step *s, void *const *slot);
    /* Change the values by the combined gradient. */
    void (*update)(void *arg, int rank, const struct simulation_step *s, void *const *slot);
    /* Called after the rank's last exchange, while its values are still its own; may be NULL. */
    void (*last)(void *arg, int rank);
};

struct simulation_options {
    int n_ranks;
    const int *group_of; /* [n_ranks], groups in runs from 0 on */
    const int *node_of;  /* [n_ranks], in runs from 0 on */
    const char *algorithm;
    int64_t period;
    double moving_rate;                /* negative: 0.9 / groups */
    double outer_rate, outer_momentum; /* of DiLoCo */
    enum sync_wire
        wire;      /* format of gradients; in 16 bits each worker of a group is on its own host */
    uint64_t seed; /* 0: messages take no time */
    int64_t samples, epochs;
    const int64_t *batch;                     /* [n_ranks] */
    const struct engine_parameter *parameter; /* [n_parameters] */
    int n_parameters;
    void **value; /* [n_ranks * n_parameters], memory of the caller */
    struct simulation_hooks hooks;
};

struct simulation_result {
    int64_t end_ns;       /* when the last worker left */
    int64_t first_end_ns; /* when the first worker had done its last step */
    int64_t steps;        /* sum over all groups */
    int64_t samples;
};

/* Run until all samples are taken.  Then all values are the center variable, as SYNC_ADOPT leaves
 * them.  Return 0 or a negative errno; -EDEADLK: all workers wait for each other, which is a bug.
 */
int simulation_run(const struct simulation_options *o, struct simulation_result *ret,
                   struct eddis_error *err);

#endif
