/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - loops that scale gradients and multiply factors */
#include "pack.h"

#include <stdint.h>
#include <string.h>

enum { PACK_BLOCK = 512 }; /* 16-bit elements converted at a time */

/* Set to[i] = from[i] * factor for n 16-bit numbers of this type; `to` and `from` may be equal. */
static void scale_half(enum comm_type type, uint16_t *to, const uint16_t *from, size_t n,
                       float factor)
{
    float wide[PACK_BLOCK];

    for (size_t at = 0; at < n; at += PACK_BLOCK) {
        size_t m = n - at < PACK_BLOCK ? n - at : PACK_BLOCK;

        comm_from_half(type, wide, from + at, m);
        for (size_t i = 0; i < m; i++)
            wide[i] *= factor;
        comm_to_half(type, to + at, wide, m);
    }
}

/* Set to[i] = from[i] * factor for i < n.  A factor of 1 copies bits, so that a single worker gets
 * its gradient back unchanged.
 */
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
    } else if (comm_type_half(type)) {
        scale_half(type, to, from, n, (float)factor);
    } else {
        const double *a = from;
        double *b = to;

        for (size_t i = 0; i < n; i++)
            b[i] = a[i] * factor;
    }
}

/* Add factor * transpose(u) * v to the float32 matrix `to` [m, n]. */
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

/* Add factor * transpose(u) * v to the float64 matrix `to` [m, n]. */
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

/* Set m elements of row i of the 16-bit matrix `to`, from column `at` on, to those of factor *
 * transpose(u) * v.  m is at most PACK_BLOCK.  Sums are float32.
 */
static void product_half_part(enum comm_type type, uint16_t *to, const struct pack_factors *p,
                              size_t i, size_t at, size_t m, float factor)
{
    float sum[PACK_BLOCK] = { 0 }, v[PACK_BLOCK], u;

    for (size_t k = 0; k < p->k; k++) {
        comm_from_half(type, &u, (const uint16_t *)p->u + k * p->m + i, 1);
        comm_from_half(type, v, (const uint16_t *)p->v + k * p->n + at, m);
        for (size_t j = 0; j < m; j++)
            sum[j] += u * factor * v[j];
    }
    comm_to_half(type, to + i * p->n + at, sum, m);
}

/* Set the 16-bit matrix `to` [m, n] to factor * transpose(u) * v, block by block. */
static void product_half(enum comm_type type, uint16_t *to, const struct pack_factors *p,
                         float factor)
{
    for (size_t i = 0; i < p->m; i++)
        for (size_t at = 0; at < p->n; at += PACK_BLOCK)
            product_half_part(type, to, p, i, at, p->n - at < PACK_BLOCK ? p->n - at : PACK_BLOCK,
                              factor);
}

void pack_product(enum comm_type type, void *to, const struct pack_factors *f, double factor)
{
    if (comm_type_half(type)) {
        product_half(type, to, f, (float)factor);
        return;
    }
    memset(to, 0, f->m * f->n * comm_type_bytes(type));
    if (type == COMM_FLOAT32)
        product_float32(to, f, (float)factor);
    else
        product_float64(to, f, factor);
}
