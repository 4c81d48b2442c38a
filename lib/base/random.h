/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - secrets from the kernel, and a seeded stream for permutations and tests
 *
 * The stream is splitmix64 (Steele, Lea, Flood, OOPSLA 2014): one 64-bit word of state, the same
 * numbers on every machine, so a seed names a permutation for ever.
 */
#ifndef EDDIS_BASE_RANDOM_H
#define EDDIS_BASE_RANDOM_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* Write n random lower-case hexadecimal digits and a 0 to ret [n + 1].  Fails rather than give
 * anything predictable.
 */
int random_hex(char *ret, size_t n, struct eddis_error *err);

/* Next number of the stream; *state is its seed at first. */
uint64_t random_next(uint64_t *state);

/* Uniform in [0, n), n > 0, without bias. */
uint64_t random_below(uint64_t *state, uint64_t n);

/* Uniform in [0, 1). */
double random_unit(uint64_t *state);

/* Of the standard normal distribution (Box and Muller 1958); takes two numbers of the stream. */
double random_normal(uint64_t *state);

/* Mix two numbers into one seed, so that (seed, epoch) and (seed, epoch + 1) are unrelated. */
uint64_t random_mix(uint64_t a, uint64_t b);

#endif
