/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.h - read one batch in a thread while the one before is computed
 *
 *     prefetch_start(p, index, n);       // of step t + 1
 *     ... compute step t from the batch before
 *     prefetch_wait(p, &batch, err);     // batch of step t + 1
 *
 * Two batches exist: what prefetch_wait returned stays valid until the prefetch_wait after it.
 */
#ifndef EDDIS_DATA_PREFETCH_H
#define EDDIS_DATA_PREFETCH_H

#include "dataset.h"

struct prefetch;

struct prefetch_batch {
    int64_t n;
    const float *x;       /* [n, n_features] */
    const int32_t *label; /* [n] */
    int64_t read_ns;      /* that the thread took for it */
};

/* Make the thread.  d is borrowed until prefetch_free. */
int prefetch_new(struct dataset *d, float scale, struct prefetch **ret, struct eddis_error *err);

/* Begin to read samples index [n], which are copied.  At most one batch is under way. */
int prefetch_start(struct prefetch *p, const int64_t *index, int64_t n, struct eddis_error *err);

/* Wait for the batch that was started.  Blocks on the disk only. */
int prefetch_wait(struct prefetch *p, struct prefetch_batch *ret, struct eddis_error *err);

/* End the thread after what it is reading, and free p, which may be NULL. */
void prefetch_free(struct prefetch *p);

#endif
