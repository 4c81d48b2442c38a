/* SPDX-License-Identifier: Apache-2.0 */
/* half.c - converts 16-bit numbers, by the processor's instructions if it has them
 *
 * bfloat16 is one integer loop, which the compiler vectorises: once for any processor and once for
 * those with AVX2, so that both give the same bits.  float16 has processor instructions.
 */
#include "half.h"

#include <stdbool.h>
#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

/* Return the bits of a float. */
static uint32_t float_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

/* Return the float with these bits. */
static float bits_float(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

/* Bits of a float32. */
enum {
    FLOAT_MAGNITUDE = 0x7fffffff,
    FLOAT_INFINITY = 0x7f800000,
    FLOAT_QUIET = 0x00400000,
};

/* Marks a loop that is compiled into each caller, for the caller's target processor. */
#define LOOP static inline __attribute__((always_inline))

/* ---- float16, without processor instructions ---- */

/* Return a float16 as float32.  Shift the exponent into place and correct its two special values:
 * the largest means infinity or NaN; 0 means multiples of 2^-24, computed as (2^-14 + multiple) -
 * 2^-14.
 */
static float float16_to_float(uint16_t h)
{
    const uint32_t exponent = 0x7c00 << 13, tiny = UINT32_C(113) << 23;
    uint32_t u = (uint32_t)(h & 0x7fff) << 13, e = u & exponent;
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, normal = u + (UINT32_C(112) << 23);
    uint32_t special = (u & 0x007fffff ? FLOAT_QUIET : 0) | (u + (UINT32_C(224) << 23));
    uint32_t small = float_bits(bits_float(u + tiny) - bits_float(tiny));

    return bits_float(sign | (e == exponent ? special : e == 0 ? small : normal));
}

/* Return a float32 as float16, rounded to nearest, ties to even. */
static uint16_t float16_from_float(float f)
{
    const uint32_t overflow = UINT32_C(143) << 23, tiny = UINT32_C(113) << 23;
    const uint32_t magic = UINT32_C(126) << 23; /* its lowest bit has the value 2^-24 */
    uint32_t u = float_bits(f), sign = u >> 16 & 0x8000, a = u & FLOAT_MAGNITUDE;
    uint32_t special = a > FLOAT_INFINITY ? 0x7e00 | (a >> 13 & 0x3ff) : 0x7c00;
    uint32_t small = float_bits(bits_float(a) + bits_float(magic)) - magic;
    uint32_t normal = (a - (UINT32_C(112) << 23) + 0xfff + (a >> 13 & 1)) >> 13;

    return (uint16_t)(sign | (a >= overflow ? special : a < tiny ? small : normal));
}

void float16s_to_floats_portable(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = float16_to_float(from[i]);
}

void float16s_from_floats_portable(uint16_t *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = float16_from_float(from[i]);
}

/* ---- bfloat16, for any processor ---- */

/* Convert n bfloat16 numbers to float32.  The loop uses unsigned numbers and no branches; otherwise
 * the compiler does not vectorise it.
 */
LOOP void to_float_loop(float *restrict to, const uint16_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = bits_float((uint32_t)from[i] << 16);
}

/* Convert n float32 numbers to bfloat16, rounded to nearest, ties to even. */
LOOP void from_float_loop(uint16_t *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u = float_bits(from[i]);
        uint32_t rounded = u + 0x7fff + (u >> 16 & 1); /* an infinity never overflows */
        uint32_t nan = u | FLOAT_QUIET;

        to[i] = (uint16_t)(((u & FLOAT_MAGNITUDE) > FLOAT_INFINITY ? nan : rounded) >> 16);
    }
}

void bfloat16s_to_floats_portable(float *to, const uint16_t *from, size_t n)
{
    to_float_loop(to, from, n);
}

void bfloat16s_from_floats_portable(uint16_t *to, const float *from, size_t n)
{
    from_float_loop(to, from, n);
}

/* ---- with processor instructions ---- */

#if defined __x86_64__

/* Compiles a function for processors with AVX2. */
#define AVX2 __attribute__((target("avx2")))

/* Check whether the processor has AVX2, and so f16c too (level x86-64-v3); some compilers' builtin
 * does not know f16c.
 */
static bool is_fast(void)
{
    return __builtin_cpu_supports("avx2");
}

/* Convert the first n / 8 * 8 of n float16 numbers to float32; return their number. */
__attribute__((target("avx,f16c"))) static size_t
float16s_to_floats_fast(float *to, const uint16_t *from, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
    return i;
}

/* Convert the first n / 8 * 8 of n float32 numbers to float16; return their number. */
__attribute__((target("avx,f16c"))) static size_t
float16s_from_floats_fast(uint16_t *to, const float *from, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

#else

#define AVX2

/* Return false: on other processors the portable loops convert all numbers. */
static bool is_fast(void)
{
    return false;
}

/* Convert no number, and so return 0. */
static size_t float16s_to_floats_fast(float *to, const uint16_t *from, size_t n)
{
    return 0;
}

/* Convert no number, and so return 0. */
static size_t float16s_from_floats_fast(uint16_t *to, const float *from, size_t n)
{
    return 0;
}

#endif

/* Convert n bfloat16 numbers to float32, by the loop compiled for AVX2. */
AVX2 static void bfloat16s_to_floats_fast(float *to, const uint16_t *from, size_t n)
{
    to_float_loop(to, from, n);
}

/* Convert n float32 numbers to bfloat16, by the loop compiled for AVX2. */
AVX2 static void bfloat16s_from_floats_fast(uint16_t *to, const float *from, size_t n)
{
    from_float_loop(to, from, n);
}

void float16s_to_floats(float *to, const uint16_t *from, size_t n)
{
    size_t done = is_fast() ? float16s_to_floats_fast(to, from, n) : 0;

    float16s_to_floats_portable(to + done, from + done, n - done);
}

void float16s_from_floats(uint16_t *to, const float *from, size_t n)
{
    size_t done = is_fast() ? float16s_from_floats_fast(to, from, n) : 0;

    float16s_from_floats_portable(to + done, from + done, n - done);
}

void bfloat16s_to_floats(float *to, const uint16_t *from, size_t n)
{
    if (is_fast())
        bfloat16s_to_floats_fast(to, from, n);
    else
        bfloat16s_to_floats_portable(to, from, n);
}

void bfloat16s_from_floats(uint16_t *to, const float *from, size_t n)
{
    if (is_fast())
        bfloat16s_from_floats_fast(to, from, n);
    else
        bfloat16s_from_floats_portable(to, from, n);
}
