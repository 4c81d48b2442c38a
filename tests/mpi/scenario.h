/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h - a whole training through eddis.h, with every result checked
 *
 * Each worker runs it with its own handle: threads over the in-process loop, or processes over
 * MPI.  Failures are printed and counted; the workers go on, so that none waits for ever.
 */
#ifndef EDDIS_TESTS_SCENARIO_H
#define EDDIS_TESTS_SCENARIO_H

#include "lib/eddis.h"

#define SCENARIO_SAMPLES 300
#define SCENARIO_EPOCHS  4
/* What the program reports of each step. */
#define SCENARIO_COMPUTE_NS 12345
#define SCENARIO_WORK       1000.5
#define SCENARIO_MEMORY     4096

struct scenario {
    int64_t batch;
    int64_t epochs; /* 0: SCENARIO_EPOCHS */
    int late;       /* the data are given before eddis_commit, not at opening */
    int read_ahead; /* as of eddis_options */
    int drop_last;
    int64_t min_count;
    int measured; /* buckets as measured, instead of small ones */
    int plans;    /* the split changes in between: weights are compared with 1e-6 anyway */
    /* Called by rank 0 after each step, or before the first with -1; may be NULL. */
    void (*after_step)(void *arg, int64_t step);
    void *arg;
    int64_t steps;      /* done, at the end */
    int64_t done;       /* samples that this worker has counted itself */
    int64_t splits;     /* times the own count changed between whole steps */
    unsigned all_flags; /* of all steps */
};

/* Options to open with. */
struct eddis_options scenario_options(const struct scenario *s);

/* Returns the number of failures. */
int scenario_run(struct eddis *e, struct scenario *s);

/* Collectives of every kind and type, blocking and not, between and inside steps. */
int scenario_collectives(struct eddis *e);

/* Collectives of every kind in every scope, each group and node as often as it likes.  Rank r is of
 * group group_of[r] and node node_of[r]; NULL: as eddis_world says.
 */
int scenario_scopes(struct eddis *e, const int *group_of, const int *node_of);

#endif
