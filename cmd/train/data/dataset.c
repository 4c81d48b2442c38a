/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - opens a data set by its format and reads samples */
#include "dataset.h"

#include "dataset_impl.h"

#include <assert.h>
#include <errno.h>

int dataset_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err)
{
    struct dataset_options full = *o;
    int rc;

    if (full.memory_bytes <= 0)
        full.memory_bytes = INT64_C(1) << 30;
    if (!full.temporary_folder)
        full.temporary_folder = "/var/tmp";
    rc = full.labels ? idx_open(&full, ret, err) : csv_open(&full, ret, err);
    if (rc == 0 && !(*ret)->info.header_note)
        (*ret)->info.header_note = (*ret)->info.row_note = "";
    return rc;
}

const struct dataset_info *dataset_info(const struct dataset *d)
{
    return &d->info;
}

void dataset_set_factors(struct dataset *d, const float *factor)
{
    d->factor = factor;
}

/* Multiply each of the `width` values of n rows by its factor. */
static void multiply(float *x, const float *factor, int64_t n, int64_t width)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < width; k++)
            x[i * width + k] *= factor[k];
}

int dataset_read(struct dataset *d, const int64_t *index, int64_t n, float scale, float *x,
                 int32_t *label, struct eddis_error *err)
{
    int rc;

    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= d->info.n_samples)
            return eddis_fail(err, -ERANGE, "there is no sample %lld among %lld",
                              (long long)index[i], (long long)d->info.n_samples);
    rc = d->ops->read(d, index, n, scale, x, label, err);
    if (rc >= 0 && d->factor)
        multiply(x, d->factor, n, d->info.n_features);
    return rc;
}

void dataset_close(struct dataset *d)
{
    if (d)
        d->ops->close(d);
}
