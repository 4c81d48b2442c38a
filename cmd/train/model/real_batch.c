/* SPDX-License-Identifier: Apache-2.0 */
/* real_batch.c - converts samples in the float64 build, and returns them unchanged in the other */
#include "real_batch.h"

#include <errno.h>
#include <stdlib.h>

#ifdef EDDIS_TRAIN_FLOAT64
int real_batch_of(struct real_batch *b, const float *x, int64_t n, const real **ret,
                  struct eddis_error *err)
{
    if (n > b->capacity) {
        real *grown = realloc(b->converted, (size_t)n * sizeof *grown);

        if (!grown)
            return eddis_fail(err, -ENOMEM, "out of memory");
        b->converted = grown;
        b->capacity = n;
    }
    for (int64_t i = 0; i < n; i++)
        b->converted[i] = (real)x[i];
    *ret = b->converted;
    return 0;
}
#else
int real_batch_of(struct real_batch *b, const float *x, int64_t n, const real **ret,
                  struct eddis_error *err)
{
    (void)b, (void)n, (void)err;
    *ret = x;
    return 0;
}
#endif

void real_batch_fini(struct real_batch *b)
{
    free(b->converted);
    *b = (struct real_batch){ 0 };
}
