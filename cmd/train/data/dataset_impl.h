/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_impl.h - the operations that each file format implements */
#ifndef EDDIS_DATA_DATASET_IMPL_H
#define EDDIS_DATA_DATASET_IMPL_H

#include "dataset.h"

#include <stddef.h>

/* The operations of a file format. */
struct dataset_ops {
    /* Do dataset_read without factors, which the caller applies; the indices are valid. */
    int (*read)(struct dataset *d, const int64_t *index, int64_t n, float scale, float *x,
                int32_t *label, struct eddis_error *err);

    /* Close the file and free d. Accepts an instance that was not built completely. */
    void (*close)(struct dataset *d);
};

/* The first member of each format's own struct. */
struct dataset {
    const struct dataset_ops *ops;
    struct dataset_info info;
    const float *factor; /* [n_features], borrowed, or NULL */
};

enum { DATASET_MAX_FEATURES = 1 << 24 };

/* Open a CSV file in *ret, as dataset_open does. Return 0; -EINVAL: the file is malformed; or
 * another negative errno, with nothing left open.
 */
int csv_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err);

/* Open an IDX file of images and an IDX file of labels in *ret, as dataset_open does. Return 0;
 * -EINVAL: a file is malformed; or another negative errno, with nothing left open.
 */
int idx_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err);

/* Set x[i] = scale * bytes[i] for i < n. */
static inline void bytes_to_float(float *x, const uint8_t *bytes, int64_t n, float scale)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = scale * (float)bytes[i];
}

#endif
