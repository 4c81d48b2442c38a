/* SPDX-License-Identifier: Apache-2.0 */
/* combine.c - loops over elements; 16-bit numbers are converted to float32 in blocks */
#include "combine.h"
#include "half.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t comm_type_bytes(enum comm_type type)
{
    switch (type) {
    case COMM_FLOAT32:
    case COMM_INT32:
        return 4;
    case COMM_FLOAT64:
    case COMM_INT64:
        return 8;
    case COMM_UINT8:
        return 1;
    case COMM_FLOAT16:
    case COMM_BFLOAT16:
        return 2;
    }
    return 0;
}

bool comm_type_half(enum comm_type type)
{
    return type == COMM_FLOAT16 || type == COMM_BFLOAT16;
}

bool comm_rule_valid(enum comm_rule rule)
{
    return rule == COMM_SUM || rule == COMM_MIN || rule == COMM_MAX;
}

/* Define a function that combines n elements of one type.  Sums use SUM_TYPE, which is unsigned for
 * integers because signed overflow is undefined.
 */
#define COMBINE(NAME, TYPE, SUM_TYPE)                                                              \
    static void NAME(enum comm_rule rule, TYPE *restrict acc, const TYPE *restrict in, size_t n)   \
    {                                                                                              \
        if (rule == COMM_SUM)                                                                      \
            for (size_t i = 0; i < n; i++)                                                         \
                acc[i] = (TYPE)((SUM_TYPE)acc[i] + (SUM_TYPE)in[i]);                               \
        else if (rule == COMM_MIN)                                                                 \
            for (size_t i = 0; i < n; i++)                                                         \
                acc[i] = in[i] < acc[i] ? in[i] : acc[i];                                          \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                acc[i] = in[i] > acc[i] ? in[i] : acc[i];                                          \
    }

COMBINE(combine_float32, float, float)
COMBINE(combine_float64, double, double)
COMBINE(combine_int32, int32_t, uint32_t)
COMBINE(combine_int64, int64_t, uint64_t)
COMBINE(combine_uint8, uint8_t, uint8_t)

/* ---- 16-bit floating point, a block at a time ---- */

enum {
    HALF_BLOCK = 1024, /* elements; two such blocks of float32 fit into the L1 cache */
};

void comm_from_half(enum comm_type half, float *to, const void *from, size_t n)
{
    if (half == COMM_FLOAT16)
        float16s_to_floats(to, from, n);
    else
        bfloat16s_to_floats(to, from, n);
}

void comm_to_half(enum comm_type half, void *to, const float *from, size_t n)
{
    if (half == COMM_FLOAT16)
        float16s_from_floats(to, from, n);
    else
        bfloat16s_from_floats(to, from, n);
}

void combine_widened(enum comm_type half, float *acc, const void *in, size_t n)
{
    float wide[HALF_BLOCK];

    for (size_t at = 0; at < n; at += HALF_BLOCK) {
        size_t m = n - at < HALF_BLOCK ? n - at : HALF_BLOCK;

        comm_from_half(half, wide, (const uint16_t *)in + at, m);
        combine_float32(COMM_SUM, acc + at, wide, m);
    }
}

/* Combine k arrays in [k] of n 16-bit numbers into out, computing in float32, in blocks; out may be
 * in[0].
 */
static void half_many(enum comm_type type, enum comm_rule rule, void *out, const void *const *in,
                      int k, size_t n)
{
    float acc[HALF_BLOCK], next[HALF_BLOCK];

    for (size_t at = 0; at < n; at += HALF_BLOCK) {
        size_t m = n - at < HALF_BLOCK ? n - at : HALF_BLOCK;

        comm_from_half(type, acc, (const uint16_t *)in[0] + at, m);
        for (int i = 1; i < k; i++) {
            comm_from_half(type, next, (const uint16_t *)in[i] + at, m);
            combine_float32(rule, acc, next, m);
        }
        comm_to_half(type, (uint16_t *)out + at, acc, m);
    }
}

/* ---- two buffers ---- */

void combine(enum comm_type type, enum comm_rule rule, void *acc, const void *in, size_t n)
{
    switch (type) {
    case COMM_FLOAT32:
        combine_float32(rule, acc, in, n);
        break;
    case COMM_FLOAT64:
        combine_float64(rule, acc, in, n);
        break;
    case COMM_INT32:
        combine_int32(rule, acc, in, n);
        break;
    case COMM_INT64:
        combine_int64(rule, acc, in, n);
        break;
    case COMM_UINT8:
        combine_uint8(rule, acc, in, n);
        break;
    case COMM_FLOAT16:
    case COMM_BFLOAT16:
        half_many(type, rule, acc, (const void *const[]){ acc, in }, 2, n);
        break;
    }
}

/* ---- many buffers ---- */

enum {
    MANY_STREAMS = 8,        /* inputs read in parallel: twice as fast as one after the other */
    MANY_BLOCK_BYTES = 4096, /* with more inputs, intermediate sums stay in the L1 cache */
};

/* Define a function NAME that sums k arrays of a type, k from 2 to MANY_STREAMS.  Its loop is
 * inlined for every k, so that the sum stays in a register.
 */
#define SUM_STREAMS(NAME, TYPE)                                                                    \
    static inline __attribute__((always_inline)) void NAME##_of(                                   \
        TYPE *restrict out, const TYPE *const *in, int k, size_t n)                                \
    {                                                                                              \
        const TYPE *stream[MANY_STREAMS];                                                          \
                                                                                                   \
        memcpy(stream, in, (size_t)k * sizeof *in);                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            TYPE sum = stream[0][i];                                                               \
                                                                                                   \
            for (int s = 1; s < k; s++)                                                            \
                sum += stream[s][i];                                                               \
            out[i] = sum;                                                                          \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void NAME(void *out, const void *const *source, int k, size_t n)                        \
    {                                                                                              \
        const TYPE *const *in = (const TYPE *const *)source;                                       \
                                                                                                   \
        switch (k) {                                                                               \
        case 2:                                                                                    \
            NAME##_of(out, in, 2, n);                                                              \
            break;                                                                                 \
        case 3:                                                                                    \
            NAME##_of(out, in, 3, n);                                                              \
            break;                                                                                 \
        case 4:                                                                                    \
            NAME##_of(out, in, 4, n);                                                              \
            break;                                                                                 \
        case 5:                                                                                    \
            NAME##_of(out, in, 5, n);                                                              \
            break;                                                                                 \
        case 6:                                                                                    \
            NAME##_of(out, in, 6, n);                                                              \
            break;                                                                                 \
        case 7:                                                                                    \
            NAME##_of(out, in, 7, n);                                                              \
            break;                                                                                 \
        default:                                                                                   \
            NAME##_of(out, in, 8, n);                                                              \
            break;                                                                                 \
        }                                                                                          \
    }

SUM_STREAMS(sum_float32, float)
SUM_STREAMS(sum_float64, double)

/* Sum k arrays of n elements of `width` bytes into out, for any k from 2 on, by calls of `sum`, in
 * blocks; each intermediate sum is the first input of the next call.
 */
static void sum_many(void (*sum)(void *out, const void *const *in, int k, size_t n), size_t width,
                     void *out, const void *const *in, int k, size_t n)
{
    char acc[2][MANY_BLOCK_BYTES] __attribute__((aligned(64)));
    size_t block = MANY_BLOCK_BYTES / width;

    for (size_t at = 0; at < n; at += block) {
        size_t m = n - at < block ? n - at : block;
        const char *so_far = (const char *)in[0] + at * width;

        for (int next = 1, turn = 0; next < k; turn = !turn) {
            int streams = k - next < MANY_STREAMS - 1 ? k - next + 1 : MANY_STREAMS;
            const void *stream[MANY_STREAMS] = { so_far };
            void *to = next + streams - 1 < k ? acc[turn] : (char *)out + at * width;

            for (int s = 1; s < streams; s++)
                stream[s] = (const char *)in[next++] + at * width;
            sum(to, stream, streams, m);
            so_far = to;
        }
    }
}

void combine_many(enum comm_type type, enum comm_rule rule, void *out, const void *const *in, int k,
                  size_t n)
{
    size_t width = comm_type_bytes(type), block = MANY_BLOCK_BYTES / width;

    if (comm_type_half(type) && k > 1) {
        half_many(type, rule, out, in, k, n);
    } else if (rule == COMM_SUM && k > 1 && (type == COMM_FLOAT32 || type == COMM_FLOAT64)) {
        void (*sum)(void *, const void *const *, int, size_t) =
            type == COMM_FLOAT32 ? sum_float32 : sum_float64;

        if (k <= MANY_STREAMS)
            sum(out, in, k, n);
        else
            sum_many(sum, width, out, in, k, n);
    } else {
        for (size_t at = 0; at < n; at += block) {
            size_t m = n - at < block ? n - at : block;

            memcpy((char *)out + at * width, (const char *)in[0] + at * width, m * width);
            for (int i = 1; i < k; i++)
                combine(type, rule, (char *)out + at * width, (const char *)in[i] + at * width, m);
        }
    }
}
