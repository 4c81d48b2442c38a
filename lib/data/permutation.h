/* SPDX-License-Identifier: Apache-2.0 */
/* permutation.h - the order of an epoch's samples, one element at a time
 *
 * A keyed bijection of [0, n): element i depends on (n, seed, epoch, i) alone.  So any worker can
 * compute any part of any epoch, without memory or work that grows with n.
 *
 *     x -> Feistel network on the smallest 2^w >= n -> + shift mod n
 *          again while the result is >= n
 *
 * Following the network's cycle until it returns to [0, n) is a bijection of [0, n) (Black and
 * Rogaway, Ciphers with arbitrary finite domains, CT-RSA 2002).  Since 2^w < 2 n, it takes less
 * than two evaluations on average, except that w is at least 6.  The rounds change the
 * halves in turn and do not swap them, so their widths may differ by one bit.  The round function
 * is splitmix64's finaliser over (half, round key).  All machines compute the same numbers, so a
 * checkpoint's (seed, epoch, step) always names the same samples.
 */
#ifndef EDDIS_DATA_PERMUTATION_H
#define EDDIS_DATA_PERMUTATION_H

#include <stdint.h>

enum { PERMUTATION_ROUNDS = 8 };

#define PERMUTATION_MAX (INT64_C(1) << 56) /* most elements */

/* The permutation of one epoch. */
struct permutation {
    uint64_t n;
    unsigned low_bits, high_bits; /* widths of the halves */
    uint64_t shift;
    uint64_t key[PERMUTATION_ROUNDS];
};

/* Prepare the permutation of n elements, 1 <= n <= PERMUTATION_MAX, for this seed and epoch. */
void permutation_init(struct permutation *p, int64_t n, uint64_t seed, int64_t epoch);

/* Return element i, 0 <= i < n. */
int64_t permutation_at(const struct permutation *p, int64_t i);

#endif
