/* SPDX-License-Identifier: Apache-2.0 */
/* half.c - converting 16-bit numbers, by the processor where it can
 *
 * bfloat16 is one loop of integers, which the compiler makes vectors of: once for any processor and
 * once for those with AVX2, so that both give the same bits.  float16 has instructions of its own.
 */
#include "half.h"

#include <stdbool.h>
#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

static uint32_t float_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

static float bits_float(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

enum {
    FLOAT_MAGNITUDE = 0x7fffffff,
    FLOAT_INFINITY = 0x7f800000,
    FLOAT_QUIET = 0x00400000,
};

/* A loop that is compiled into each function that calls it, for that one's processors. */
#define LOOP static inline __attribute__((always_inline))

/* ---- float16, without the processor's help ---- */

/* Shifts the exponent into place and mends its two special values: the largest is infinity or
 * NaN, and 0 counts in steps of 2^-24, which a subtraction makes of 2^-14 + steps.
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

static uint16_t float16_from_float(float f)
{
    const uint32_t overflow = UINT32_C(143) << 23, tiny = UINT32_C(113) << 23;
    const uint32_t magic = UINT32_C(126) << 23; /* its last bit is worth 2^-24 */
    uint32_t u = float_bits(f), sign = u >> 16 & 0x8000, a = u & FLOAT_MAGNITUDE;
    uint32_t special = a > FLOAT_INFINITY ? 0x7e00 | (a >> 13 & 0x3ff) : 0x7c00;
    uint32_t small = float_bits(bits_float(a) + bits_float(magic)) - magic;
    uint32_t normal = (a - (UINT32_C(112) << 23) + 0xfff + (a >> 13 & 1)) >> 13;

    return (uint16_t)(sign | (a >= overflow ? special : a < tiny ? small : normal));
}

void float16_widen_portable(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = float16_to_float(from[i]);
}

void float16_narrow_portable(uint16_t *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = float16_from_float(from[i]);
}

/* ---- bfloat16, for any processor ---- */

/* No choice by a branch, and unsigned throughout: else it is no vector. */
LOOP void widen_loop(float *restrict to, const uint16_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = bits_float((uint32_t)from[i] << 16);
}

LOOP void narrow_loop(uint16_t *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u = float_bits(from[i]);
        uint32_t rounded = u + 0x7fff + (u >> 16 & 1); /* never carries out of an infinity */
        uint32_t nan = u | FLOAT_QUIET;

        to[i] = (uint16_t)(((u & FLOAT_MAGNITUDE) > FLOAT_INFINITY ? nan : rounded) >> 16);
    }
}

void bfloat16_widen_portable(float *to, const uint16_t *from, size_t n)
{
    widen_loop(to, from, n);
}

void bfloat16_narrow_portable(uint16_t *to, const float *from, size_t n)
{
    narrow_loop(to, from, n);
}

/* ---- with the processor's help ---- */

#if defined __x86_64__

/* Not every compiler's builtin knows f16c; a processor with AVX2 has it (the level x86-64-v3). */
static bool is_fast(void)
{
    return __builtin_cpu_supports("avx2");
}

/* Those of float16 return how many they have converted: the rest is not a whole vector. */
__attribute__((target("avx,f16c"))) static size_t float16_widen_fast(float *to,
                                                                     const uint16_t *from, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
    return i;
}

__attribute__((target("avx,f16c"))) static size_t float16_narrow_fast(uint16_t *to,
                                                                      const float *from, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

__attribute__((target("avx2"))) static void bfloat16_widen_fast(float *to, const uint16_t *from,
                                                                size_t n)
{
    widen_loop(to, from, n);
}

__attribute__((target("avx2"))) static void bfloat16_narrow_fast(uint16_t *to, const float *from,
                                                                 size_t n)
{
    narrow_loop(to, from, n);
}

#else

static bool is_fast(void)
{
    return false;
}

static size_t float16_widen_fast(float *to, const uint16_t *from, size_t n)
{
    (void)to;
    (void)from;
    (void)n;
    return 0;
}

static size_t float16_narrow_fast(uint16_t *to, const float *from, size_t n)
{
    (void)to;
    (void)from;
    (void)n;
    return 0;
}

static void bfloat16_widen_fast(float *to, const uint16_t *from, size_t n)
{
    widen_loop(to, from, n);
}

static void bfloat16_narrow_fast(uint16_t *to, const float *from, size_t n)
{
    narrow_loop(to, from, n);
}

#endif

void float16_widen(float *to, const uint16_t *from, size_t n)
{
    size_t done = is_fast() ? float16_widen_fast(to, from, n) : 0;

    float16_widen_portable(to + done, from + done, n - done);
}

void float16_narrow(uint16_t *to, const float *from, size_t n)
{
    size_t done = is_fast() ? float16_narrow_fast(to, from, n) : 0;

    float16_narrow_portable(to + done, from + done, n - done);
}

void bfloat16_widen(float *to, const uint16_t *from, size_t n)
{
    if (is_fast())
        bfloat16_widen_fast(to, from, n);
    else
        bfloat16_widen_portable(to, from, n);
}

void bfloat16_narrow(uint16_t *to, const float *from, size_t n)
{
    if (is_fast())
        bfloat16_narrow_fast(to, from, n);
    else
        bfloat16_narrow_portable(to, from, n);
}
