/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - copies gradients into and out of a buffer, multiplied by a weight
 *
 * type is a floating-point type.  16-bit numbers are multiplied and summed in float32 and rounded
 * once.
 */
#ifndef EDDIS_SYNC_PACK_H
#define EDDIS_SYNC_PACK_H

#include "lib/comm/combine.h"

/* Set to[i] = from[i] * factor for i < n; `to` and `from` may be equal.  A factor of 1 copies the
 * bits.
 */
void pack_scaled(enum comm_type type, void *to, const void *from, size_t n, double factor);

/* A matrix given by its factors: the product of u transposed and v. */
struct pack_factors {
    const void *u, *v; /* [k, m] and [k, n], row by row */
    size_t k, m, n;
};

/* Set `to` [m, n], in row-major order, to factor * transpose(u) * v. */
void pack_product(enum comm_type type, void *to, const struct pack_factors *f, double factor);

#endif
