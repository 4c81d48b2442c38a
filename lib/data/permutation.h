/* SPDX-License-Identifier: Apache-2.0 */
/* permutation.h - the order of an epoch's samples, one element at a time
 *
 * A keyed bijection of [0, n): element i is computed from (n, seed, epoch, i) alone, so any worker
 * can ask for any part of any epoch without memory or work that grows with n.
 *
 *     x -> Feistel network on the smallest 2^w >= n -> + shift mod n
 *          again while the result is >= n
 *
 * Walking along the network's own cycle until it comes back into [0, n) is a bijection of [0, n)
 * (Black and Rogaway, Ciphers with arbitrary finite domains, CT-RSA 2002); since 2^w < 2 n it takes
 * less than two evaluations on average (w is at least 6, however).  The halves alternate without
 * being swapped, so that they may differ by a bit.  The round function is splitmix64's finaliser
 * over (half, round key).  The same numbers on every machine: a checkpoint's (seed, epoch, step)
 * names its samples for ever.
 */
#ifndef EDDIS_DATA_PERMUTATION_H
#define EDDIS_DATA_PERMUTATION_H

#include <stdint.h>

enum { PERMUTATION_ROUNDS = 8 };

#define PERMUTATION_MAX (INT64_C(1) << 56) /* elements */

struct permutation {
    uint64_t n;
    unsigned low_bits, high_bits; /* of the halves */
    uint64_t shift;
    uint64_t key[PERMUTATION_ROUNDS];
};

/* Prepare the permutation of n elements, 1 <= n <= PERMUTATION_MAX, of this epoch. */
void permutation_init(struct permutation *p, int64_t n, uint64_t seed, int64_t epoch);

/* Return element i, 0 <= i < n. */
int64_t permutation_at(const struct permutation *p, int64_t i);

#endif
