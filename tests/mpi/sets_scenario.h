/* SPDX-License-Identifier: Apache-2.0 */
/* sets_scenario.h - training of two sets of parameters, against one process in float64
 *
 * Each worker runs it with its own handle: threads over the in-process loop, or processes over
 * MPI.  Failures are printed and counted; the workers go on, so that none waits for ever.
 */
#ifndef EDDIS_TESTS_SETS_SCENARIO_H
#define EDDIS_TESTS_SETS_SCENARIO_H

#include "lib/eddis.h"

struct sets_scenario {
    int go_back; /* the first checkpoint is restored at once */
    /* Called by rank 0 after each step, may be NULL. */
    void (*after_step)(void *arg, int64_t step);
    void *arg;
    int64_t steps, splits, checkpoints; /* seen, at the end; splits: changes of the own count */
    int64_t samples;                    /* of all workers */
};

/* Steps of all kinds: two sets by turns, three rounds of one, both at once, two backward passes
 * with weights of their own, one set left out, workers that announce nothing.  In the end all have
 * the same values.  Returns the number of failures.
 */
int sets_scenario(struct eddis *e, struct sets_scenario *s);

/* What the last rank does unlike the others. */
enum sets_mismatch {
    SETS_ORDER, /* takes the sets in another order */
    SETS_MORE,  /* makes another round of a set */
    SETS_ONE,   /* the same, of the only set */
    SETS_LAYERS /* the same, where layers are announced and waited for one by one */
};

/* Every rank is to get -EPROTO with the names of two.  Returns the number of failures. */
int sets_mismatch(struct eddis *e, enum sets_mismatch how);

#endif
