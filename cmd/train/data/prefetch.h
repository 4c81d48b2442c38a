/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.h - reads one batch in a thread while the previous one is computed
 *
 *     prefetch_start(p, index, n);       // samples of step t + 1
 *     ... compute step t from the previous batch
 *     prefetch_wait(p, &batch, err);     // batch of step t + 1
 *
 * There are two buffers: a batch returned by prefetch_wait is valid until the next prefetch_wait.
 */
#ifndef EDDIS_DATA_PREFETCH_H
#define EDDIS_DATA_PREFETCH_H

#include "dataset.h"

struct prefetch;

/* A batch that was read; borrowed. */
struct prefetch_batch {
    int64_t n;
    const float *x;       /* [n, n_features] */
    const int32_t *label; /* [n] labels of the samples */
    int64_t read_ns;      /* time that reading the batch took */
};

/* Start the thread, in *ret. d is borrowed until prefetch_free; scale: as in dataset_read. Return 0
 * or a negative errno.
 */
int prefetch_new(struct dataset *d, float scale, struct prefetch **ret, struct eddis_error *err);

/* Let the thread begin to read the samples with the numbers index [n], which are copied. The
 * previous batch must have been waited for. Return 0 or a negative errno.
 */
int prefetch_start(struct prefetch *p, const int64_t *index, int64_t n, struct eddis_error *err);

/* Block until the batch that was started is read, and store it in *ret, borrowed until the next
 * prefetch_wait. Return 0, or the error with which reading the batch failed.
 */
int prefetch_wait(struct prefetch *p, struct prefetch_batch *ret, struct eddis_error *err);

/* End the thread after the batch that it reads now, and free p. Accepts NULL. */
void prefetch_free(struct prefetch *p);

#endif
