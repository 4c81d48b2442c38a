/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_impl.h - what a file format fills in */
#ifndef EDDIS_DATA_DATASET_IMPL_H
#define EDDIS_DATA_DATASET_IMPL_H

#include "dataset.h"

#include <stddef.h>

struct dataset_ops {
    /* As dataset_read, indices checked. */
    int (*read)(struct dataset *d, const int64_t *index, int64_t n, float scale, float *x,
                int32_t *label, struct eddis_error *err);

    /* Accepts a half-built instance. */
    void (*close)(struct dataset *d);
};

struct dataset {
    const struct dataset_ops *ops;
    struct dataset_info info;
    const float *factor; /* [n_features], borrowed, or NULL */
};

enum { DATASET_MAX_FEATURES = 1 << 24 };

int csv_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err);
int idx_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err);

/* x [n] = scale * bytes [n] */
static inline void bytes_to_float(float *x, const uint8_t *bytes, int64_t n, float scale)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = scale * (float)bytes[i];
}

#endif
