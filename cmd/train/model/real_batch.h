/* SPDX-License-Identifier: Apache-2.0 */
/* real_batch.h - samples, which are read as float, in the number type of the trainer */
#ifndef EDDIS_TRAIN_REAL_BATCH_H
#define EDDIS_TRAIN_REAL_BATCH_H

#include "lib/base/error.h"
#include "real.h"

struct real_batch {
    real *converted; /* in the float64 build */
    int64_t capacity;
};

/* Return n numbers as reals in *ret: x itself, or a copy that the next call overwrites. */
int real_batch_of(struct real_batch *b, const float *x, int64_t n, const real **ret,
                  struct eddis_error *err);

/* Accepts one that is zero-initialised. */
void real_batch_fini(struct real_batch *b);

#endif
