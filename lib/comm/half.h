/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - 16-bit floating-point numbers to float32 and back, many at a time
 *
 * float16 is IEEE 754 binary16, bfloat16 the upper half of a float32.  Rounding is to nearest, ties
 * to even, and what is too large becomes an infinity; a NaN stays one.  Widening and narrowing
 * again changes nothing but a signalling NaN, to a quiet one.  Processors with instructions for it
 * use them; the bits are the same without.
 */
#ifndef EDDIS_COMM_HALF_H
#define EDDIS_COMM_HALF_H

#include <stddef.h>
#include <stdint.h>

/* Convert n numbers from one form to the other; the two must not overlap. */
void float16_widen(float *to, const uint16_t *from, size_t n);
void float16_narrow(uint16_t *to, const float *from, size_t n);
void bfloat16_widen(float *to, const uint16_t *from, size_t n);
void bfloat16_narrow(uint16_t *to, const float *from, size_t n);

/* Do the same without the processor's own instructions, for tests and measurements. */
void float16_widen_portable(float *to, const uint16_t *from, size_t n);
void float16_narrow_portable(uint16_t *to, const float *from, size_t n);
void bfloat16_widen_portable(float *to, const uint16_t *from, size_t n);
void bfloat16_narrow_portable(uint16_t *to, const float *from, size_t n);

#endif
