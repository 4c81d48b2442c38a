/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - secrets from the kernel, and a seeded stream for permutations and tests
 *
 * The stream is splitmix64 (Steele, Lea, Flood, OOPSLA 2014), with one 64-bit word of state.  It
 * gives the same numbers on every machine, so a seed identifies a permutation permanently.
 */
#ifndef EDDIS_BASE_RANDOM_H
#define EDDIS_BASE_RANDOM_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* Write n random lower-case hexadecimal digits and a 0 to ret [n + 1], from the kernel's generator.
 * Fails rather than return anything predictable.
 */
int random_hex(char *ret, size_t n, struct eddis_error *err);

/* Return the next number of the stream and advance *state, which is initially the seed. */
uint64_t random_next(uint64_t *state);

/* Return a uniform number in [0, n), n > 0, without bias. */
uint64_t random_below(uint64_t *state, uint64_t n);

/* Return a uniform number in [0, 1). */
double random_unit(uint64_t *state);

/* Return a number of the standard normal distribution (Box and Muller 1958); uses two numbers of
 * the stream.
 */
double random_normal(uint64_t *state);

/* Return a seed mixed from two numbers, so that (seed, epoch) and (seed, epoch + 1) give unrelated
 * streams.
 */
uint64_t random_mix(uint64_t a, uint64_t b);

#endif
