/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - forward and backward pass of a convolution */
#include "conv.h"

#include "matmul.h"

#include <string.h>

/* Return the side of the pooling window for an image's side of this length: 2, or 1 if that is 1.
 */
static int64_t window(int64_t side)
{
    return side > 1 ? 2 : 1;
}

int64_t conv_out_height(const struct conv *c)
{
    return c->height / window(c->height);
}

int64_t conv_out_width(const struct conv *c)
{
    return c->width / window(c->width);
}

/* Return the number of pixels of an input image. */
static int64_t pixels(const struct conv *c)
{
    return c->height * c->width;
}

/* Return how many images are processed as one group: as many as CONV_COL_BYTES hold, at least 1. */
static int64_t group(const struct conv *c)
{
    int64_t n = CONV_COL_BYTES / ((int64_t)sizeof(float) * 9 * c->c_in * pixels(c));

    return n > 0 ? n : 1;
}

/* Return the number of elements of an input image that is padded with one pixel on each side. */
static int64_t pad_size(const struct conv *c)
{
    return (c->height + 2) * (c->width + 2) * c->c_in;
}

int64_t conv_scratch(const struct conv *c)
{
    return pad_size(c) + group(c) * pixels(c) * (9 * c->c_in + c->c_out);
}

/* ---- between images and columns ---------------------------------------------------------- */

/* Copy the 3x3 neighbourhoods of all pixels of one padded image to col.  Inlined into the callers
 * below, with a constant c if that is small, so that each copy of 3 c numbers is a few instructions
 * instead of a call.
 */
static inline __attribute__((always_inline)) void pad_to_col(float *col, const float *pad,
                                                             int64_t h, int64_t w, int64_t c)
{
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            for (int64_t ky = 0; ky < 3; ky++, col += 3 * c)
                memcpy(col, pad + ((y + ky) * (w + 2) + x) * c, (size_t)(3 * c) * sizeof *col);
}

/* Add the 3x3 neighbourhoods in col to the pixels of one padded image from which they were copied;
 * inlined like pad_to_col.
 */
static inline __attribute__((always_inline)) void col_to_pad(float *pad, const float *col,
                                                             int64_t h, int64_t w, int64_t c)
{
    for (int64_t y = 0; y < h; y++) {
        for (int64_t x = 0; x < w; x++) {
            for (int64_t ky = 0; ky < 3; ky++, col += 3 * c) {
                float *p = pad + ((y + ky) * (w + 2) + x) * c;

                for (int64_t i = 0; i < 3 * c; i++)
                    p[i] += col[i];
            }
        }
    }
}

/* Write the 3x3 neighbourhood of every pixel of x [n, h, w, c] to col, with zeros outside of the
 * image.  pad: scratch [h + 2, w + 2, c].
 */
static void im2col(float *col, const float *x, int64_t n, int64_t h, int64_t w, int64_t c,
                   float *pad)
{
    size_t row = (size_t)(w * c) * sizeof *x;

    memset(pad, 0, (size_t)((h + 2) * (w + 2) * c) * sizeof *pad);
    for (int64_t i = 0; i < n; i++, x += h * w * c, col += h * w * 9 * c) {
        for (int64_t y = 0; y < h; y++)
            memcpy(pad + ((y + 1) * (w + 2) + 1) * c, x + y * w * c, row);
        switch (c) {
        case 1:
            pad_to_col(col, pad, h, w, 1);
            break;
        case 3:
            pad_to_col(col, pad, h, w, 3);
            break;
        case 8:
            pad_to_col(col, pad, h, w, 8);
            break;
        case 16:
            pad_to_col(col, pad, h, w, 16);
            break;
        default:
            pad_to_col(col, pad, h, w, c);
        }
    }
}

/* Set every pixel of x to the sum of its entries in the neighbourhoods of col, the transpose of
 * im2col.
 */
static void col2im(float *x, const float *col, int64_t n, int64_t h, int64_t w, int64_t c,
                   float *pad)
{
    size_t row = (size_t)(w * c) * sizeof *x;

    for (int64_t i = 0; i < n; i++, x += h * w * c, col += h * w * 9 * c) {
        memset(pad, 0, (size_t)((h + 2) * (w + 2) * c) * sizeof *pad);
        switch (c) {
        case 8:
            col_to_pad(pad, col, h, w, 8);
            break;
        case 16:
            col_to_pad(pad, col, h, w, 16);
            break;
        default:
            col_to_pad(pad, col, h, w, c);
        }
        for (int64_t y = 0; y < h; y++)
            memcpy(x + y * w * c, pad + ((y + 1) * (w + 2) + 1) * c, row);
    }
}

/* ---- pooling ----------------------------------------------------------------------------- */

enum { NOWHERE = 4 }; /* the ReLU made the maximum 0 */

/* Compute one pooled pixel: y [c] = relu(max over the window of z + b), and which [c] = the
 * window's pixel (0 to 3) that has the maximum, or NOWHERE.  z: the window's first pixel; its pixel
 * k is at z + at[k].
 */
static void pool_pixel(float *restrict y, int32_t *restrict which, const float *restrict z,
                       const float *restrict b, int64_t c, const int64_t at[4])
{
    const float *z1 = z + at[1], *z2 = z + at[2], *z3 = z + at[3];

    for (int64_t o = 0; o < c; o++) {
        float best = z[o];
        int32_t from = 0;

        from = z1[o] > best ? 1 : from;
        best = z1[o] > best ? z1[o] : best;
        from = z2[o] > best ? 2 : from;
        best = z2[o] > best ? z2[o] : best;
        from = z3[o] > best ? 3 : from;
        best = z3[o] > best ? z3[o] : best;
        best += b[o];
        y[o] = best > 0 ? best : 0;
        which[o] = best > 0 ? from : NOWHERE;
    }
}

/* Store in `at` the distances of a window's four pixels from its first one, in elements.  For a
 * side of 1, which is not pooled, a pixel occurs twice; that changes no maximum, and the first
 * occurrence wins.
 */
static void window_pixels(const struct conv *c, int64_t at[4])
{
    int64_t right = window(c->width) > 1 ? c->c_out : 0;
    int64_t below = window(c->height) > 1 ? c->width * c->c_out : 0;

    at[0] = 0;
    at[1] = right;
    at[2] = below;
    at[3] = below + right;
}

/* Pool the products z of n images into y, with bias b and ReLU, and store the maxima's pixels in
 * `which`.
 */
static void pool_forward(const struct conv *c, float *y, int32_t *which, const float *z,
                         const float *b, int64_t n)
{
    int64_t at[4], oh = conv_out_height(c), ow = conv_out_width(c);
    int64_t wy = window(c->height), wx = window(c->width);

    window_pixels(c, at);
    for (int64_t i = 0; i < n; i++, z += pixels(c) * c->c_out)
        for (int64_t oy = 0; oy < oh; oy++)
            for (int64_t ox = 0; ox < ow; ox++, y += c->c_out, which += c->c_out)
                pool_pixel(y, which, z + (oy * wy * c->width + ox * wx) * c->c_out, b, c->c_out,
                           at);
}

/* Compute the gradient dz of a window's pixels: dy at the maximum's pixel, if the ReLU kept it,
 * else 0; add dy to db if the ReLU kept it.  Pixels are written from last to first, so that of a
 * repeated pixel the first occurrence remains.
 */
static void unpool_pixel(float *restrict dz, float *restrict db, const float *restrict dy,
                         const int32_t *restrict which, int64_t c, const int64_t at[4])
{
    for (int64_t o = 0; o < c; o++) {
        float v = dy[o];

        db[o] += which[o] != NOWHERE ? v : 0;
    }
    for (int k = 3; k >= 0; k--) {
        float *z = dz + at[k];

        for (int64_t o = 0; o < c; o++) {
            float v = dy[o];

            z[o] = which[o] == k ? v : 0;
        }
    }
}

/* Compute the gradient dz of the products of n images, from image `first` of a's arrays on, and add
 * the bias's gradient to db.
 */
static void pool_backward(const struct conv *c, float *dz, float *db, const struct conv_backward *a,
                          int64_t first, int64_t n)
{
    int64_t at[4], oh = conv_out_height(c), ow = conv_out_width(c),
                   skip = first * oh * ow * c->c_out;
    int64_t wy = window(c->height), wx = window(c->width);
    const float *dy = a->dy + skip;
    const int32_t *which = a->which + skip;

    window_pixels(c, at);
    /* An odd side has pixels outside of all windows. */
    if (oh * wy * ow * wx < pixels(c))
        memset(dz, 0, (size_t)(n * pixels(c) * c->c_out) * sizeof *dz);
    for (int64_t i = 0; i < n; i++, dz += pixels(c) * c->c_out)
        for (int64_t oy = 0; oy < oh; oy++)
            for (int64_t ox = 0; ox < ow; ox++, dy += c->c_out, which += c->c_out)
                unpool_pixel(dz + (oy * wy * c->width + ox * wx) * c->c_out, db, dy, which,
                             c->c_out, at);
}

/* ---- the layer --------------------------------------------------------------------------- */

void conv_forward(const struct conv *c, float *y, int32_t *which, const float *x, const float *w,
                  const float *b, int64_t n, float *scratch)
{
    int64_t out = conv_out_height(c) * conv_out_width(c) * c->c_out;
    float *col = scratch + pad_size(c), *z = col + group(c) * pixels(c) * 9 * c->c_in;

    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < group(c) ? n - i : group(c);
        im2col(col, x + i * pixels(c) * c->c_in, m, c->height, c->width, c->c_in, scratch);
        matmul(z, col, w, m * pixels(c), 9 * c->c_in, c->c_out, 0);
        pool_forward(c, y + i * out, which + i * out, z, b, m);
    }
}

void conv_backward(const struct conv *c, const struct conv_backward *a, int64_t n, float *scratch)
{
    int64_t in = pixels(c) * c->c_in;
    float *col = scratch + pad_size(c), *dz = col + group(c) * pixels(c) * 9 * c->c_in;

    memset(a->db, 0, (size_t)c->c_out * sizeof *a->db);
    if (n == 0)
        memset(a->dw, 0, (size_t)(9 * c->c_in * c->c_out) * sizeof *a->dw);
    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < group(c) ? n - i : group(c);
        pool_backward(c, dz, a->db, a, i, m);
        im2col(col, a->x + i * in, m, c->height, c->width, c->c_in, scratch);
        matmul_ta(a->dw, col, dz, m * pixels(c), 9 * c->c_in, c->c_out, i > 0);
        if (!a->dx)
            continue;
        matmul_tb(col, dz, a->w, m * pixels(c), 9 * c->c_in, c->c_out, 0);
        col2im(a->dx + i * in, col, m, c->height, c->width, c->c_in, scratch);
    }
}
