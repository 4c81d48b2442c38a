/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - gradients into a buffer, times a weight, and back
 *
 * type is COMM_FLOAT32 or COMM_FLOAT64.
 */
#ifndef EDDIS_SYNC_PACK_H
#define EDDIS_SYNC_PACK_H

#include "lib/comm/combine.h"

/* to[i] = from[i] * factor; to may be from. */
void pack_scaled(enum comm_type type, void *to, const void *from, size_t n, double factor);

/* to [m, n] = factor * u' v with u [k, m], v [k, n], all row by row. */
struct pack_factors {
    const void *u, *v;
    size_t k, m, n;
};
void pack_product(enum comm_type type, void *to, const struct pack_factors *f, double factor);

#endif
