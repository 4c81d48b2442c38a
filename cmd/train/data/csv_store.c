/* SPDX-License-Identifier: Apache-2.0 */
/* csv_store.c - keeps parsed rows, or the offsets at which they start, for access by number */
#include "csv_store.h"

#include "dataset_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Check whether all n values are whole numbers from 0 to 255, and none is -0. */
static bool all_bytes(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] >= 0 && x[i] <= 255) || x[i] != (float)(int)x[i] || signbit(x[i]))
            return false;
    return true;
}

/* Return the memory that a row and its label take, in bytes. */
static int64_t row_bytes(const struct csv_store *s, bool floats)
{
    return s->width * (floats ? (int64_t)sizeof(float) : 1) + (int64_t)sizeof(int32_t);
}

/* Enlarge the store's memory to `cap` rows, as floats if it has floats, else as bytes.  Return 0 or
 * -ENOMEM.
 */
static int resize(struct csv_store *s, int64_t cap, struct eddis_error *err)
{
    size_t n = (size_t)cap * (size_t)s->width;
    void *rows = s->floats ? realloc(s->floats, n * sizeof(float)) : realloc(s->bytes, n);
    int32_t *labels;

    if (!rows)
        return eddis_fail(err, -ENOMEM, "out of memory");
    if (s->floats)
        s->floats = rows;
    else
        s->bytes = rows;
    labels = realloc(s->labels, (size_t)cap * sizeof *labels);
    if (!labels)
        return eddis_fail(err, -ENOMEM, "out of memory");
    s->labels = labels;
    s->cap = cap;
    return 0;
}

/* Convert all stored rows from bytes to floats.  Return 0 or -ENOMEM. */
static int turn_to_floats(struct csv_store *s, struct eddis_error *err)
{
    size_t cap = (size_t)(s->cap > 0 ? s->cap : 1) * (size_t)s->width;

    s->floats = malloc(cap * sizeof(float));
    if (!s->floats)
        return eddis_fail(err, -ENOMEM, "out of memory");
    if (s->bytes)
        bytes_to_float(s->floats, s->bytes, s->n * s->width, 1);
    free(s->bytes);
    s->bytes = NULL;
    return 0;
}

int csv_store_add(struct csv_store *s, const float *x, int32_t label, struct eddis_error *err)
{
    bool floats = s->floats || !all_bytes(x, s->width);
    int rc = 0;

    if ((s->n + 1) * row_bytes(s, floats) > s->limit)
        return 0;
    if (floats && !s->floats)
        rc = turn_to_floats(s, err);
    if (rc == 0 && s->n == s->cap)
        rc = resize(s, s->cap ? s->cap + s->cap / 2 + 1 : 256, err);
    if (rc < 0)
        return rc;
    if (floats)
        for (int64_t i = 0; i < s->width; i++)
            s->floats[s->n * s->width + i] = x[i];
    else
        for (int64_t i = 0; i < s->width; i++)
            s->bytes[s->n * s->width + i] = (uint8_t)x[i];
    s->labels[s->n++] = label;
    return 1;
}

void csv_store_get(const struct csv_store *s, int64_t i, float scale, float *x)
{
    if (s->bytes) {
        bytes_to_float(x, s->bytes + i * s->width, s->width, scale);
        return;
    }
    for (int64_t k = 0; k < s->width; k++)
        x[k] = scale * s->floats[i * s->width + k];
}

void csv_store_fini(struct csv_store *s)
{
    free(s->bytes);
    free(s->floats);
    free(s->labels);
    *s = (struct csv_store){ .width = s->width, .limit = s->limit };
}

int csv_index_add(struct csv_index *x, int64_t offset, struct eddis_error *err)
{
    if (!x->offset) {
        x->offset = malloc(CSV_INDEX_MAX * sizeof *x->offset);
        x->stride = 1;
    }
    if (!x->offset)
        return eddis_fail(err, -ENOMEM, "out of memory");
    if (x->rows++ % x->stride)
        return 0;
    if (x->n == CSV_INDEX_MAX) {
        for (int64_t i = 0; 2 * i < x->n; i++)
            x->offset[i] = x->offset[2 * i];
        x->n /= 2;
        x->stride *= 2;
    }
    x->offset[x->n++] = offset;
    return 0;
}

void csv_index_fini(struct csv_index *x)
{
    free(x->offset);
    *x = (struct csv_index){ 0 };
}
