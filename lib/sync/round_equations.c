/* SPDX-License-Identifier: Apache-2.0 */
/* round_equations.c - the arithmetic at the end of a round of local training, over arrays */
#include "round_equations.h"

#include "lib/comm/combine.h"

#include <stdint.h>

enum { BLOCK = 512 }; /* 16-bit elements that are converted at a time */

/* Set d [n] to factor (t - x). */
static void come_float32(float *restrict d, const float *restrict t, const float *restrict x,
                         size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        d[i] = factor * (t[i] - x[i]);
}

/* As come_float32, with float64 numbers. */
static void come_float64(double *restrict d, const double *restrict t, const double *restrict x,
                         size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        d[i] = factor * (t[i] - x[i]);
}

/* Set d [n] to factor (rounded t - x), where x has this 16-bit type. */
static void come_half(enum comm_type type, float *d, const float *t, const uint16_t *x, size_t n,
                      float factor)
{
    uint16_t rounded[BLOCK];
    float from[BLOCK], to[BLOCK];

    for (size_t at = 0; at < n; at += BLOCK) {
        size_t m = n - at < BLOCK ? n - at : BLOCK;

        comm_to_half(type, rounded, t + at, m);
        comm_from_half(type, from, rounded, m);
        comm_from_half(type, to, x + at, m);
        come_float32(d + at, from, to, m, factor);
    }
}

/* Take the outer step along factor d [n] from t, with momentum b; b NULL: none. */
static void outer_float32(float *restrict t, float *restrict b, const float *restrict d, size_t n,
                          float factor, float rate, float momentum)
{
    if (!b)
        for (size_t i = 0; i < n; i++)
            t[i] -= rate * (factor * d[i]);
    else
        for (size_t i = 0; i < n; i++) {
            float mean = factor * d[i];

            b[i] = momentum * b[i] + mean;
            t[i] -= rate * (mean + momentum * b[i]);
        }
}

/* As outer_float32, with float64 numbers. */
static void outer_float64(double *restrict t, double *restrict b, const double *restrict d,
                          size_t n, double factor, double rate, double momentum)
{
    if (!b)
        for (size_t i = 0; i < n; i++)
            t[i] -= rate * (factor * d[i]);
    else
        for (size_t i = 0; i < n; i++) {
            double mean = factor * d[i];

            b[i] = momentum * b[i] + mean;
            t[i] -= rate * (mean + momentum * b[i]);
        }
}

/* Set x [n] to t + (x - e). */
static void move_float32(float *restrict x, const float *restrict t, const float *restrict e,
                         size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = t[i] + (x[i] - e[i]);
}

/* As move_float32, with float64 numbers. */
static void move_float64(double *restrict x, const double *restrict t, const double *restrict e,
                         size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = t[i] + (x[i] - e[i]);
}

/* As move_float32 with the rounded t, where x has this 16-bit type. */
static void move_half(enum comm_type type, uint16_t *x, const float *t, const float *e, size_t n)
{
    uint16_t rounded[BLOCK];
    float from[BLOCK], to[BLOCK];

    for (size_t at = 0; at < n; at += BLOCK) {
        size_t m = n - at < BLOCK ? n - at : BLOCK;

        comm_to_half(type, rounded, t + at, m);
        comm_from_half(type, from, rounded, m);
        comm_from_half(type, to, x + at, m);
        move_float32(to, from, e + at, m);
        comm_to_half(type, x + at, to, m);
    }
}

void round_come(enum comm_type type, void *d, const void *t, const void *x, size_t n, double factor)
{
    if (comm_type_half(type))
        come_half(type, d, t, x, n, (float)factor);
    else if (type == COMM_FLOAT32)
        come_float32(d, t, x, n, (float)factor);
    else
        come_float64(d, t, x, n, factor);
}

void round_move(enum comm_type type, void *x, const void *t, const void *e, size_t n)
{
    if (comm_type_half(type))
        move_half(type, x, t, e, n);
    else if (type == COMM_FLOAT32)
        move_float32(x, t, e, n);
    else
        move_float64(x, t, e, n);
}

void round_outer(enum comm_type type, void *t, void *b, const void *d, size_t n,
                 struct round_outer o)
{
    if (type == COMM_FLOAT32)
        outer_float32(t, b, d, n, (float)o.factor, (float)o.rate, (float)o.momentum);
    else
        outer_float64(t, b, d, n, o.factor, o.rate, o.momentum);
}
