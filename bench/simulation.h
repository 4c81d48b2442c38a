/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.h - N workers of unlike speed in one process, in virtual time
 *
 * Engines, algorithms, collectives, the Soft Memory Box and the ranges of samples are the library's
 * own; only the wire (lib/comm/loop.h), the clock and the length of a step's compute are not:
 *
 *     take samples | exchange when due | compute: duration as told | combine | update | ...
 *
 * A run is a function of its options: the order of messages comes from the seed.  Every group takes
 * its samples from one counter, and in sync mode all ranks are one group.
 */
#ifndef EDDIS_BENCH_SIMULATION_H
#define EDDIS_BENCH_SIMULATION_H

#include "lib/data/ranges.h"
#include "lib/sync/engine.h"

struct simulation_step {
    int64_t step, epoch;
    int64_t first, count; /* this rank's positions in the epoch's permutation */
    int64_t batch;        /* of its group */
    double lr_factor;
    int64_t begin_ns, end_ns; /* virtual time, the wait for samples and exchange included */
};

struct simulation_hooks {
    void *arg;
    /* Write the mean gradient over the step's samples to slot [n_parameters] from the rank's values
     * as they are now; returns how long it takes.  count may be 0.
     */
    int64_t (*compute)(void *arg, int rank, const struct simulation_step *s, void *const *slot);
    /* Change the values by the combined gradient. */
    void (*update)(void *arg, int rank, const struct simulation_step *s, void *const *slot);
    /* The rank has made its last exchange, its values are still its own; may be NULL. */
    void (*last)(void *arg, int rank);
};

struct simulation_options {
    int n_ranks;
    const int *group_of; /* [n_ranks], groups in runs from 0 on */
    const int *node_of;  /* [n_ranks], in runs from 0 on */
    const char *algorithm;
    int64_t period;
    double moving_rate; /* negative: 0.9 / groups */
    enum sync_wire
        wire;      /* of gradients; of 16 bits: each worker of a group is on a host of its own */
    uint64_t seed; /* 0: messages take no time */
    int64_t samples, epochs;
    const int64_t *batch;                     /* [n_ranks] */
    const struct engine_parameter *parameter; /* [n_parameters] */
    int n_parameters;
    void **value; /* [n_ranks * n_parameters], their data is the caller's */
    struct simulation_hooks hooks;
};

struct simulation_result {
    int64_t end_ns;       /* when the last worker left */
    int64_t first_end_ns; /* when the first had done its last step */
    int64_t steps;        /* of all groups */
    int64_t samples;
};

/* Run until the counter is exhausted; all values are the centre then, as SYNC_ADOPT leaves it.
 * -EDEADLK: nothing can happen any more, which is a fault.
 */
int simulation_run(const struct simulation_options *o, struct simulation_result *ret,
                   struct eddis_error *err);

#endif
