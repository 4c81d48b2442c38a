/* SPDX-License-Identifier: Apache-2.0 */
/* combine.h - element-wise sum, minimum and maximum of buffers */
#ifndef EDDIS_COMM_COMBINE_H
#define EDDIS_COMM_COMBINE_H

#include <stdbool.h>
#include <stddef.h>

/* Element types.  The numbers equal those of enum eddis_dtype and enum eddis_op, which lib/
 * asserts.
 */
enum comm_type {
    COMM_FLOAT32 = 1,
    COMM_FLOAT64 = 2,
    COMM_INT32 = 3,
    COMM_INT64 = 4,
    COMM_UINT8 = 5,
    COMM_FLOAT16 = 6,
    COMM_BFLOAT16 = 7,
};

/* The rules by which elements are combined. */
enum comm_rule { COMM_SUM = 1, COMM_MIN = 2, COMM_MAX = 3 };

/* Return the bytes of one element; 0: there is no such type. */
size_t comm_type_bytes(enum comm_type type);

/* Check whether the type is 16-bit floating point. */
bool comm_type_half(enum comm_type type);

/* Check whether the rule exists. */
bool comm_rule_valid(enum comm_rule rule);

/* Compute acc[i] = acc[i] rule in[i] for n elements.  Integers wrap around.  16-bit numbers are
 * added in float32 and rounded once.
 */
void combine(enum comm_type type, enum comm_rule rule, void *acc, const void *in, size_t n);

/* Convert n float32 numbers to the 16-bit type `half`, rounded.  The arrays must not overlap. */
void comm_to_half(enum comm_type half, void *to, const float *from, size_t n);

/* Convert n numbers of the 16-bit type `half` to float32.  The arrays must not overlap. */
void comm_from_half(enum comm_type half, float *to, const void *from, size_t n);

/* Compute acc[i] = acc[i] + in[i] for n elements; `in` has the 16-bit type `half`, acc is float32.
 * The arrays must not overlap.
 */
void combine_widened(enum comm_type half, float *acc, const void *in, size_t n);

/* Compute out[i] = in[0][i] rule in[1][i] rule ... in[k - 1][i], in this order, for n elements and
 * k >= 1.  The bits are those of k - 1 calls of combine, but 16-bit numbers stay float32 until the
 * last input.  out must not overlap an input.
 */
void combine_many(enum comm_type type, enum comm_rule rule, void *out, const void *const *in, int k,
                  size_t n);

#endif
