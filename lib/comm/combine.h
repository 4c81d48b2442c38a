/* SPDX-License-Identifier: Apache-2.0 */
/* combine.h - element by element sum, minimum and maximum of two buffers */
#ifndef EDDIS_COMM_COMBINE_H
#define EDDIS_COMM_COMBINE_H

#include <stdbool.h>
#include <stddef.h>

/* The numbers are those of enum eddis_dtype and enum eddis_op; lib/ asserts it. */
enum comm_type {
    COMM_FLOAT32 = 1,
    COMM_FLOAT64 = 2,
    COMM_INT32 = 3,
    COMM_INT64 = 4,
    COMM_UINT8 = 5,
    COMM_FLOAT16 = 6,
    COMM_BFLOAT16 = 7,
};

enum comm_rule { COMM_SUM = 1, COMM_MIN = 2, COMM_MAX = 3 };

/* Return the bytes of one element; 0 when there is no such type. */
size_t comm_type_bytes(enum comm_type type);

/* Return whether its numbers are of 16-bit floating point. */
bool comm_type_half(enum comm_type type);

/* Return whether there is such a rule. */
bool comm_rule_valid(enum comm_rule rule);

/* Compute acc[i] = acc[i] rule in[i] for n elements; integers wrap around.  The 16-bit numbers are
 * added as float32 and rounded once.
 */
void combine(enum comm_type type, enum comm_rule rule, void *acc, const void *in, size_t n);

/* Convert n float32 to 16-bit numbers, rounded, and back; and compute acc[i] = acc[i] + in[i], in
 * float32.  The two must not overlap.
 */
void comm_narrow(enum comm_type half, void *to, const float *from, size_t n);
void comm_widen(enum comm_type half, float *to, const void *from, size_t n);
void combine_widened(enum comm_type half, float *acc, const void *in, size_t n);

/* Compute out[i] = in[0][i] rule in[1][i] rule ... in[k - 1][i], in this order, for n elements and
 * k >= 1: the bits of k - 1 calls of combine, but the 16-bit numbers stay float32 until the last is
 * in. out must not overlap an input.
 */
void combine_many(enum comm_type type, enum comm_rule rule, void *out, const void *const *in, int k,
                  size_t n);

#endif
