/* SPDX-License-Identifier: Apache-2.0 */
/* test_combine.c - sums, minima and maxima of buffers against float64. */
#include "lib/comm/combine.h"

#include "element.h"
#include "lib/base/random.h"
#include "suite.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { MOST = 3000, BUFFERS = 20 };

static const int counts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 20 };
static const size_t lengths[] = { 0, 1, 7, 1023, 1025, MOST };

enum { N_COUNTS = sizeof counts / sizeof *counts, N_LENGTHS = sizeof lengths / sizeof *lengths };

/* value[i] as an element of the type, and the number that it really is. */
static double element_set(enum comm_type type, void *p, size_t i, double v)
{
    float f = (float)v;

    switch (type) {
    case COMM_FLOAT32:
        ((float *)p)[i] = f;
        return f;
    case COMM_FLOAT64:
        ((double *)p)[i] = v;
        return v;
    case COMM_INT32:
        return ((int32_t *)p)[i] = (int32_t)(v * 1000);
    case COMM_INT64:
        return (double)(((int64_t *)p)[i] = (int64_t)(v * 1e6));
    case COMM_UINT8:
        return ((uint8_t *)p)[i] = (uint8_t)(fabs(v) * 10);
    case COMM_FLOAT16:
        float16s_from_floats((uint16_t *)p + i, &f, 1);
        float16s_to_floats(&f, (uint16_t *)p + i, 1);
        return f;
    case COMM_BFLOAT16:
        bfloat16s_from_floats((uint16_t *)p + i, &f, 1);
        bfloat16s_to_floats(&f, (uint16_t *)p + i, 1);
        return f;
    }
    return 0;
}

/* How far a sum of k numbers up to 1 may be off: roundings of the additions, or the only one of
 * 16-bit numbers.
 */
static double tolerance(enum comm_type type, int k)
{
    switch (type) {
    case COMM_FLOAT32:
        return k * k * 0x1p-24;
    case COMM_FLOAT64:
        return k * k * 0x1p-52;
    case COMM_FLOAT16:
        return k * 0x1p-11 + k * k * 0x1p-24;
    case COMM_BFLOAT16:
        return k * 0x1p-8 + k * k * 0x1p-24;
    default:
        return 0;
    }
}

static double rule(enum comm_rule r, double a, double b)
{
    return r == COMM_SUM ? a + b : r == COMM_MIN ? fmin(a, b) : fmax(a, b);
}

static void many_once(enum comm_type type, enum comm_rule r, int k, size_t n)
{
    static char in[BUFFERS][MOST * 8], out[MOST * 8 + 8], pairs[MOST * 8];
    static double want[MOST];
    const void *source[BUFFERS];
    size_t bytes = n * comm_type_bytes(type);
    bool half = type == COMM_FLOAT16 || type == COMM_BFLOAT16;
    uint64_t random = (uint64_t)k + n;

    for (int s = 0; s < k; s++) {
        source[s] = in[s];
        for (size_t i = 0; i < n; i++) {
            double v = element_set(type, in[s], i, 2 * random_unit(&random) - 1);

            want[i] = s ? rule(r, want[i], v) : v;
        }
    }
    memset(out, 0x5a, sizeof out);
    combine_many(type, r, out, source, k, n);
    memcpy(pairs, in[0], bytes);
    for (int s = 1; s < k; s++)
        combine(type, r, pairs, in[s], n);
    if (!half || r != COMM_SUM)
        ck_assert_int_eq(memcmp(out, pairs, bytes), 0);
    for (size_t i = 0; i < n; i++)
        if (type != COMM_UINT8 || r != COMM_SUM) /* which wraps around */
            ck_assert_double_le(fabs(element_get(type, out, i) - want[i]), tolerance(type, k));
    for (size_t i = bytes; i < bytes + 8; i++)
        ck_assert_int_eq(out[i], 0x5a);
}

START_TEST(many_buffers_are_combined)
{
    enum comm_type type = (enum comm_type)_i;

    for (int r = COMM_SUM; r <= COMM_MAX; r++)
        for (int c = 0; c < N_COUNTS; c++)
            for (int l = 0; l < N_LENGTHS; l++)
                many_once(type, (enum comm_rule)r, counts[c], lengths[l]);
}
END_TEST

/* 2048 + 1 is not a float16, so that a sum rounded at every step would stand still. */
START_TEST(sixteen_bits_are_added_in_float32)
{
    static const float big = 2048, one = 1;
    uint16_t first, other, sum;
    const void *in[BUFFERS] = { &first };
    float f;

    float16s_from_floats(&first, &big, 1);
    float16s_from_floats(&other, &one, 1);
    for (int i = 1; i < BUFFERS; i++)
        in[i] = &other;
    combine_many(COMM_FLOAT16, COMM_SUM, &sum, in, 13, 1);
    float16s_to_floats(&f, &sum, 1);
    ck_assert_float_eq(f, 2060);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, many_buffers_are_combined, COMM_FLOAT32, COMM_BFLOAT16 + 1);
    tcase_add_test(tc, sixteen_bits_are_added_in_float32);
}

SUITE_MAIN("combine", add_tests)
