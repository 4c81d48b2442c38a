/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c - forward and backward pass of a fully connected layer */
#include "dense.h"

#include "matmul.h"

#include <string.h>

/* Add b [out] to each row of y [n, out]. */
static void add_bias(float *y, const float *b, int64_t n, int64_t out)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t o = 0; o < out; o++)
            y[i * out + o] += b[o];
}

/* Add b [out] to each row of y [n, out] and apply ReLU. */
static void add_bias_relu(float *y, const float *b, int64_t n, int64_t out)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t o = 0; o < out; o++) {
            float v = y[i * out + o] + b[o];

            y[i * out + o] = v > 0 ? v : 0;
        }
    }
}

void dense_forward(const struct dense *d, float *y, const float *x, const float *w, const float *b,
                   int64_t n)
{
    matmul(y, x, w, n, d->in, d->out, 0);
    if (d->relu)
        add_bias_relu(y, b, n, d->out);
    else
        add_bias(y, b, n, d->out);
}

/* Set dy [n, out] to 0 where y is not above 0 (the ReLU's gradient), and add its rows to db [out],
 * in one pass.
 */
static void relu_bias_backward(float *db, float *dy, const float *y, int64_t n, int64_t out)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t o = 0; o < out; o++) {
            float v = y[i * out + o] > 0 ? dy[i * out + o] : 0;

            dy[i * out + o] = v;
            db[o] += v;
        }
    }
}

/* Add the rows of dy [n, out] to db [out]. */
static void bias_backward(float *db, const float *dy, int64_t n, int64_t out)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t o = 0; o < out; o++)
            db[o] += dy[i * out + o];
}

void dense_backward(const struct dense *d, float *dx, float *dw, float *db, float *dy,
                    const float *y, const float *x, const float *w, int64_t n)
{
    memset(db, 0, (size_t)d->out * sizeof *db);
    if (d->relu)
        relu_bias_backward(db, dy, y, n, d->out);
    else
        bias_backward(db, dy, n, d->out);
    matmul_ta(dw, x, dy, n, d->in, d->out, 0);
    if (dx)
        matmul_tb(dx, dy, w, n, d->in, d->out, 0);
}
