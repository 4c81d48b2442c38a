/* SPDX-License-Identifier: Apache-2.0 */
/* test_half.c - 16-bit floating point to the bit, with the processor's help and without: every
 * number there is, and float32 around each bound where rounding changes. */
#include "lib/comm/half.h"

#include "suite.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ALL = 65536, SIGN = 0x8000 };

struct format {
    const char *name;
    int mantissa; /* bits of it */
    int lowest;   /* exponent of the smallest number */
    uint16_t infinity;
    void (*widen[2])(float *to, const uint16_t *from, size_t n);
    void (*narrow[2])(uint16_t *to, const float *from, size_t n);
};

static const struct format formats[] = {
    { "float16",
      10,
      -24,
      0x7c00,
      { float16s_to_floats, float16s_to_floats_portable },
      { float16s_from_floats, float16s_from_floats_portable } },
    { "bfloat16",
      7,
      -133,
      0x7f80,
      { bfloat16s_to_floats, bfloat16s_to_floats_portable },
      { bfloat16s_from_floats, bfloat16s_from_floats_portable } },
};

/* What the bits mean, by the definition: of the infinity, where the next number would be. */
static double value(const struct format *f, uint16_t h)
{
    int exponent = (h & 0x7fff) >> f->mantissa, mantissa = h & ((1 << f->mantissa) - 1);
    double v = exponent ? ldexp((1 << f->mantissa) + mantissa, f->lowest + exponent - 1)
                        : ldexp(mantissa, f->lowest);

    return h & SIGN ? -v : v;
}

static bool is_nan(const struct format *f, uint16_t h)
{
    return (h & 0x7fff) > f->infinity;
}

START_TEST(every_number_is_what_it_says)
{
    static uint16_t all[ALL], back[ALL];
    static float wide[2][ALL];
    const struct format *f = &formats[_i];

    for (int i = 0; i < ALL; i++)
        all[i] = (uint16_t)i;
    for (int way = 0; way < 2; way++)
        f->widen[way](wide[way], all, ALL);
    for (int i = 0; i < ALL; i++) {
        if (is_nan(f, all[i]))
            ck_assert(isnan(wide[0][i]) && signbit(wide[0][i]) == signbit(wide[1][i]));
        else if ((i & 0x7fff) == f->infinity)
            ck_assert(isinf(wide[0][i]) && (wide[0][i] < 0) == (i >= SIGN));
        else
            ck_assert_double_eq(wide[0][i], value(f, all[i]));
    }
    ck_assert_mem_eq(wide[0], wide[1], sizeof wide[0]);
    for (int way = 0; way < 2; way++) {
        f->narrow[way](back, wide[0], ALL);
        for (int i = 0; i < ALL; i++)
            ck_assert_uint_eq(back[i], is_nan(f, all[i])
                                           ? (unsigned)i | 1U << (f->mantissa - 1) /* quiet */
                                           : (unsigned)i);
    }
}
END_TEST

enum { AROUND = 6, BOUNDS = 2 * AROUND * 0x8000 };

/* The float32 at, next to and half-way between h and the number above it, and what each becomes. */
static int around(const struct format *f, uint16_t h, float *from, uint16_t *want)
{
    const uint16_t up = (uint16_t)(h + 1), even = h & 1 ? up : h;
    const float low = (float)value(f, h), high = (float)value(f, up);
    const float middle = (float)((value(f, h) + value(f, up)) / 2);
    const struct {
        float from;
        uint16_t want;
    } rows[AROUND] = {
        { low, h },       { nextafterf(low, INFINITY), h },     { nextafterf(middle, 0), h },
        { middle, even }, { nextafterf(middle, INFINITY), up }, { nextafterf(high, 0), up },
    };
    int n = 0;

    for (int sign = 0; sign < 2; sign++)
        for (int i = 0; i < AROUND; i++, n++) {
            from[n] = sign ? -rows[i].from : rows[i].from;
            want[n] = (uint16_t)(rows[i].want | (sign ? SIGN : 0));
        }
    return n;
}

START_TEST(narrowing_is_to_the_nearest_and_even)
{
    static float from[BOUNDS];
    static uint16_t want[BOUNDS], is[BOUNDS];
    const struct format *f = &formats[_i];
    int n = 0;

    for (uint16_t h = 0; h < f->infinity; h++)
        n += around(f, h, from + n, want + n);
    for (int way = 0; way < 2; way++) {
        f->narrow[way](is, from, (size_t)n);
        for (int i = 0; i < n; i++)
            if (is[i] != want[i])
                ck_abort_msg("%s, way %d: %a is %04x instead of %04x", f->name, way,
                             (double)from[i], is[i], want[i]);
    }
}
END_TEST

/* Infinities, what is too large, the smallest there is, and NaNs by any of their bits. */
START_TEST(what_is_special_stays_so)
{
    enum { N = 64 };
    float from[N] = { INFINITY, -INFINITY, 3.4028235e38F, -3.4028235e38F, 1e-45F, -1e-45F, -0.0F };
    uint16_t is[2][N];
    const struct format *f = &formats[_i];
    const uint16_t want[] = { f->infinity, (uint16_t)(f->infinity | SIGN),
                              f->infinity, (uint16_t)(f->infinity | SIGN),
                              0,           SIGN,
                              SIGN };
    int n = sizeof want / sizeof *want, numbers = n;

    for (uint32_t sign = 0; sign < 2; sign++)
        for (int bit = 0; bit < 23; bit++, n++) {
            uint32_t u = sign << 31 | 0x7f800000 | UINT32_C(1) << bit;

            memcpy(&from[n], &u, sizeof u);
        }
    for (int way = 0; way < 2; way++)
        f->narrow[way](is[way], from, (size_t)n);
    ck_assert_mem_eq(is[0], is[1], (size_t)n * sizeof *is[0]);
    for (int i = 0; i < n; i++)
        if (i < numbers)
            ck_assert_uint_eq(is[0][i], want[i]);
        else
            ck_assert(is_nan(f, is[0][i]) && !(is[0][i] & SIGN) == !signbit(from[i]));
}
END_TEST

/* Vectors end where the numbers do, wherever both begin. */
START_TEST(any_length_and_place)
{
    enum { MOST = 70, PLACES = 3 };
    const struct format *f = &formats[_i];

    for (size_t n = 0; n <= MOST; n++)
        for (size_t at = 0; at < PLACES; at++) {
            uint16_t narrow[MOST + PLACES + 1];
            float wide[MOST + PLACES + 1];

            for (size_t i = 0; i <= MOST + PLACES; i++)
                wide[i] = (float)i;
            memset(narrow, 0x5a, sizeof narrow);
            f->narrow[0](narrow + at, wide + 1, n);
            ck_assert_uint_eq(narrow[at + n], 0x5a5a);
            f->widen[0](wide, narrow + at, n);
            for (size_t i = 0; i <= MOST + PLACES; i++)
                ck_assert_float_eq(wide[i], (float)(i < n ? i + 1 : i));
        }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, every_number_is_what_it_says, 0, 2);
    tcase_add_loop_test(tc, narrowing_is_to_the_nearest_and_even, 0, 2);
    tcase_add_loop_test(tc, what_is_special_stays_so, 0, 2);
    tcase_add_loop_test(tc, any_length_and_place, 0, 2);
}

SUITE_MAIN("half", add_tests)
