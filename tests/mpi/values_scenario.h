/* SPDX-License-Identifier: Apache-2.0 */
/* values_scenario.h - trainings about parameters and their gradients, with every result checked
 *
 * Each worker runs them with its own handle, opened by scenario_options: threads over the
 * in-process loop, or processes over MPI.  Failures are printed and counted; the workers go on, so
 * that none waits for ever.  All return the number of failures.
 */
#ifndef EDDIS_TESTS_VALUES_SCENARIO_H
#define EDDIS_TESTS_VALUES_SCENARIO_H

#include "lib/eddis.h"

/* Return a parameter of n numbers. */
struct eddis_parameter values_vector(float *value, int64_t n);

/* eddis_announce_many, and what it refuses. */
int values_many(struct eddis *e);

/* Parameters of no dimension, of no elements, and without a gradient. */
int values_shapes(struct eddis *e);

/* Values that are in host memory only when the library reads or writes them, and never at the same
 * place.  folder: for checkpoints; NULL: none is written.
 */
int values_elsewhere(struct eddis *e, const char *folder);

/* Parameters and gradients of 16 bits. */
int values_half(struct eddis *e);

/* Gradients of 16 bits whose weights are the program's: of any size, unlike in each step. */
int values_weighed(struct eddis *e);

/* Says that a rank has done this step (INT64_MAX: its last) and waits until all have done all but a
 * few as many.
 */
struct values_pace {
    void (*turn)(void *arg, int rank, int64_t step);
    void *arg;
};

/* Several models of 16 bits, which no gradient moves, come to their mean. */
int values_drift(struct eddis *e, const struct values_pace *pace);

#endif
