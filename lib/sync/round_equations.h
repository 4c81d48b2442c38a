/* SPDX-License-Identifier: Apache-2.0 */
/* round_equations.h - the arithmetic at the end of a round of local training, over arrays
 *
 * local.c says what the letters stand for.  Pure functions; the arrays must not overlap.
 */
#ifndef EDDIS_SYNC_ROUND_EQUATIONS_H
#define EDDIS_SYNC_ROUND_EQUATIONS_H

#include "lib/comm/collective.h"

#include <stddef.h>

/* Set d [n] to factor (t - x), where x has this type.  d and t have it too, but are float32 for a
 * 16-bit type, whose t counts as rounded.
 */
void round_come(enum comm_type type, void *d, const void *t, const void *x, size_t n,
                double factor);

/* Set x [n] to t + (x - e), with the types of round_come; e has that of t. */
void round_move(enum comm_type type, void *x, const void *t, const void *e, size_t n);

/* The numbers of an outer step. */
struct round_outer {
    double factor, rate, momentum;
};

/* Take the outer step along factor d [n] from t, with momentum b; b NULL: none.  All have this
 * type, float32 or float64.
 */
void round_outer(enum comm_type type, void *t, void *b, const void *d, size_t n,
                 struct round_outer o);

#endif
