/* SPDX-License-Identifier: Apache-2.0 */
/* real_batch.h - converts samples, which are read as float, to the trainer's number type */
#ifndef EDDIS_TRAIN_REAL_BATCH_H
#define EDDIS_TRAIN_REAL_BATCH_H

#include "lib/base/error.h"
#include "real.h"

/* The memory of converted samples. */
struct real_batch {
    real *converted; /* used in the float64 build */
    int64_t capacity;
};

/* Return n numbers x as reals in *ret: x itself, or a copy that the next call overwrites. */
int real_batch_of(struct real_batch *b, const float *x, int64_t n, const real **ret,
                  struct eddis_error *err);

/* Free the copy.  Accept a zero-initialised struct. */
void real_batch_fini(struct real_batch *b);

#endif
