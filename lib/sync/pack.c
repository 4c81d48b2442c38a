/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - the loops that scale gradients and multiply factors */
#include "pack.h"

#include <string.h>

/* A factor of 1 copies bits: the only worker's gradient comes back as it was. */
void pack_scaled(enum comm_type type, void *to, const void *from, size_t n, double factor)
{
    if (factor == 1.0) {
        if (to != from)
            memmove(to, from, n * comm_type_bytes(type));
    } else if (type == COMM_FLOAT32) {
        const float *a = from;
        float *b = to, f = (float)factor;

        for (size_t i = 0; i < n; i++)
            b[i] = a[i] * f;
    } else {
        const double *a = from;
        double *b = to;

        for (size_t i = 0; i < n; i++)
            b[i] = a[i] * factor;
    }
}

static void product_float32(float *restrict to, const struct pack_factors *p, float factor)
{
    for (size_t k = 0; k < p->k; k++) {
        const float *u = (const float *)p->u + k * p->m, *v = (const float *)p->v + k * p->n;

        for (size_t i = 0; i < p->m; i++) {
            float *row = to + i * p->n, w = u[i] * factor;

            for (size_t j = 0; j < p->n; j++)
                row[j] += w * v[j];
        }
    }
}

static void product_float64(double *restrict to, const struct pack_factors *p, double factor)
{
    for (size_t k = 0; k < p->k; k++) {
        const double *u = (const double *)p->u + k * p->m, *v = (const double *)p->v + k * p->n;

        for (size_t i = 0; i < p->m; i++) {
            double *row = to + i * p->n, w = u[i] * factor;

            for (size_t j = 0; j < p->n; j++)
                row[j] += w * v[j];
        }
    }
}

void pack_product(enum comm_type type, void *to, const struct pack_factors *f, double factor)
{
    memset(to, 0, f->m * f->n * comm_type_bytes(type));
    if (type == COMM_FLOAT32)
        product_float32(to, f, (float)factor);
    else
        product_float64(to, f, factor);
}
