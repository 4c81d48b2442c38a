/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - gradients into a buffer, times a weight, and back
 *
 * type is of floating point.  Numbers of 16 bits are multiplied and added up as float32 and rounded
 * once.
 */
#ifndef EDDIS_SYNC_PACK_H
#define EDDIS_SYNC_PACK_H

#include "lib/comm/combine.h"

/* Set to[i] = from[i] * factor, for i < n; to may be from. */
void pack_scaled(enum comm_type type, void *to, const void *from, size_t n, double factor);

struct pack_factors {
    const void *u, *v; /* [k, m] and [k, n], row by row */
    size_t k, m, n;
};

/* Set to [m, n], row by row, to factor times u transposed times v. */
void pack_product(enum comm_type type, void *to, const struct pack_factors *f, double factor);

#endif
