/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - convert arrays of 16-bit floating-point numbers to float32 and back
 *
 * float16 is IEEE 754 binary16, bfloat16 the upper half of a float32.  Rounding is to nearest, ties
 * to even.  Too large numbers become infinity; a NaN stays a NaN.  Conversion to float32 and back
 * changes nothing except that a signalling NaN becomes quiet.  Processors with suitable
 * instructions use them; the resulting bits are the same without.
 */
#ifndef EDDIS_COMM_HALF_H
#define EDDIS_COMM_HALF_H

#include <stddef.h>
#include <stdint.h>

/* Convert n float16 numbers to float32.  In all these functions the two arrays must not overlap. */
void float16s_to_floats(float *to, const uint16_t *from, size_t n);

/* Convert n float32 numbers to float16, rounded. */
void float16s_from_floats(uint16_t *to, const float *from, size_t n);

/* Convert n bfloat16 numbers to float32. */
void bfloat16s_to_floats(float *to, const uint16_t *from, size_t n);

/* Convert n float32 numbers to bfloat16, rounded. */
void bfloat16s_from_floats(uint16_t *to, const float *from, size_t n);

/* Convert n float16 numbers to float32 without special processor instructions; for tests and
 * measurements.
 */
void float16s_to_floats_portable(float *to, const uint16_t *from, size_t n);

/* Convert n float32 numbers to float16, rounded, without special processor instructions; for tests
 * and measurements.
 */
void float16s_from_floats_portable(uint16_t *to, const float *from, size_t n);

/* Convert n bfloat16 numbers to float32 without special processor instructions; for tests and
 * measurements.
 */
void bfloat16s_to_floats_portable(float *to, const uint16_t *from, size_t n);

/* Convert float32 to bfloat16 without special processor instructions; for tests and measurements.
 */
void bfloat16s_from_floats_portable(uint16_t *to, const float *from, size_t n);

#endif
