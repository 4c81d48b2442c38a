/* SPDX-License-Identifier: Apache-2.0 */
/* naive.c - sums over single products, without copies, matrices or groups */
#include "naive.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

double *naive_copy(const float *x, int64_t n)
{
    double *y = malloc((size_t)(n + 1) * sizeof *y);

    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

/* ---- dense ---- */

void naive_dense(const struct dense *d, double *y, const double *x, const double *w,
                 const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t o = 0; o < d->out; o++) {
            double v = b[o];

            for (int64_t k = 0; k < d->in; k++)
                v += x[i * d->in + k] * w[k * d->out + o];
            y[i * d->out + o] = d->relu ? fmax(v, 0) : v;
        }
    }
}

void naive_dense_backward(const struct dense *d, struct naive_gradients *g, const double *dy,
                          const float *y, const double *x, const double *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t o = 0; o < d->out; o++) {
            double v = d->relu && !(y[i * d->out + o] > 0) ? 0 : dy[i * d->out + o];

            g->db[o] += v;
            for (int64_t k = 0; k < d->in; k++) {
                g->dw[k * d->out + o] += v * x[i * d->in + k];
                g->dx[i * d->in + k] += v * w[k * d->out + o];
            }
        }
    }
}

/* ---- convolution ---- */

enum { MAX_TERMS = 9 * 64 };

/* One of the products that a convolution adds up at a pixel: where its factors are. */
struct term {
    int64_t x, w;
};

/* Store the products of filter o at one pixel, and return their number: 9 c_in, or less at an edge.
 */
static int64_t terms(const struct conv *c, int64_t row, int64_t col, int64_t o,
                     struct term ret[MAX_TERMS])
{
    int64_t n = 0;

    assert(9 * c->c_in <= MAX_TERMS);
    for (int64_t ky = 0; ky < 3; ky++) {
        for (int64_t kx = 0; kx < 3; kx++) {
            int64_t sy = row + ky - 1, sx = col + kx - 1;

            if (sy < 0 || sx < 0 || sy >= c->height || sx >= c->width)
                continue;
            for (int64_t i = 0; i < c->c_in; i++, n++) {
                ret[n].x = (sy * c->width + sx) * c->c_in + i;
                ret[n].w = ((ky * 3 + kx) * c->c_in + i) * c->c_out + o;
            }
        }
    }
    return n;
}

/* Return the convolution at one pixel, before bias. */
static double at_pixel(const struct conv *c, const double *x, const double *w, int64_t row,
                       int64_t col, int64_t o)
{
    struct term t[MAX_TERMS];
    int64_t n = terms(c, row, col, o, t);
    double v = 0;

    for (int64_t i = 0; i < n; i++)
        v += x[t[i].x] * w[t[i].w];
    return v;
}

double naive_conv(const struct conv *c, struct naive_pixel *at, const double *x, const double *w,
                  const double *b)
{
    int64_t wy = c->height > 1 ? 2 : 1, wx = c->width > 1 ? 2 : 1;
    int64_t top = at->p / conv_out_width(c) * wy, left = at->p % conv_out_width(c) * wx;
    double best = -INFINITY;

    for (int64_t row = top; row < top + wy; row++) {
        for (int64_t col = left; col < left + wx; col++) {
            double v = at_pixel(c, x, w, row, col, at->o);

            if (v > best) {
                best = v;
                at->row = row;
                at->col = col;
            }
        }
    }
    return fmax(best + b[at->o], 0);
}

void naive_conv_backward(const struct conv *c, const struct naive_pixel *at,
                         struct naive_gradients *g, double dy, const double *x, const double *w)
{
    struct term t[MAX_TERMS];
    int64_t n = terms(c, at->row, at->col, at->o, t);

    g->db[at->o] += dy;
    for (int64_t i = 0; i < n; i++) {
        g->dw[t[i].w] += dy * x[t[i].x];
        g->dx[t[i].x] += dy * w[t[i].w];
    }
}
