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
    const int32_t *label; /* [n] */
    int64_t read_ns;      /* time that reading it took */
};

/* Start the thread.  d is borrowed until prefetch_free; scale: as in dataset_read. */
int prefetch_new(struct dataset *d, float scale, struct prefetch **ret, struct eddis_error *err);

/* Begin to read the samples index [n], which are copied.  At most one batch may be under way. */
int prefetch_start(struct prefetch *p, const int64_t *index, int64_t n, struct eddis_error *err);

/* Wait for the batch that was started and store it in *ret, borrowed.  Return the failure of its
 * reading, if any.
 */
int prefetch_wait(struct prefetch *p, struct prefetch_batch *ret, struct eddis_error *err);

/* End the thread after its present read, and free p.  Accept NULL. */
void prefetch_free(struct prefetch *p);

#endif
