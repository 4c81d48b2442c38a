/* SPDX-License-Identifier: Apache-2.0 */
/* permutation.c - permutes the numbers below n by a small cipher */
#include "permutation.h"

#include "lib/base/random.h"

/* Least number of bits of the cipher's numbers: halves of one or two bits would not mix.  For n
 * below 64 permutation_at tries a few more numbers instead.
 */
enum { MIN_BITS = 6 };

/* Return the bits of x mixed by splitmix64's finaliser: every bit of the result depends on every
 * bit of x.
 */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void permutation_init(struct permutation *p, int64_t n, uint64_t seed, int64_t epoch)
{
    uint64_t state = random_mix(seed, (uint64_t)epoch);
    unsigned bits = MIN_BITS;

    while (bits < 62 && (UINT64_C(1) << bits) < (uint64_t)n)
        bits++;
    p->n = (uint64_t)n;
    p->low_bits = bits / 2;
    p->high_bits = bits - p->low_bits;
    for (int i = 0; i < PERMUTATION_ROUNDS; i++)
        p->key[i] = random_next(&state);
    p->shift = random_below(&state, p->n);
}

/* Return the image of x under a bijection of [0, 2^(low_bits + high_bits)): each line of the loop
 * changes one half of the bits by a function of the other half.
 */
static uint64_t network(const struct permutation *p, uint64_t x)
{
    const uint64_t low_mask = (UINT64_C(1) << p->low_bits) - 1;
    const uint64_t high_mask = (UINT64_C(1) << p->high_bits) - 1;
    uint64_t low = x & low_mask, high = x >> p->low_bits;

    for (int i = 0; i < PERMUTATION_ROUNDS; i += 2) {
        low ^= scramble(high + p->key[i]) & low_mask;
        high ^= scramble(low + p->key[i + 1]) & high_mask;
    }
    return high << p->low_bits | low;
}

int64_t permutation_at(const struct permutation *p, int64_t i)
{
    uint64_t x = (uint64_t)i;

    do
        x = network(p, x);
    while (x >= p->n);
    x += p->shift;
    return (int64_t)(x < p->n ? x : x - p->n);
}
