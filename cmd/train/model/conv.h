/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - a 3x3 convolution with zero padding, bias, ReLU and 2x2 max pooling, as one layer
 *
 * Arrays are [n, height, width, channels], channels fastest.  The convolution is a matrix product:
 * im2col lays the 3x3 surroundings of every pixel side by side, col [n h w, 9 c_in], and
 * z = col w with w [9 c_in, c_out].  It goes over the batch in groups of images whose col stays
 * within CONV_COL_BYTES, so that the memory does not grow with the batch and col stays in a cache.
 *
 * ReLU and bias commute with the maximum, so they are done on the pooled quarter only, and z itself
 * need not be kept: where each maximum was is enough for the way back.  A side of 1 is
 * not pooled; of an odd side the last row or column is dropped.
 */
#ifndef EDDIS_TRAIN_CONV_H
#define EDDIS_TRAIN_CONV_H

#include "real.h"

enum { CONV_COL_BYTES = 1 << 20 };

struct conv {
    int64_t height, width, c_in, c_out;
};

/* Return the sides of the pooled output, in pixels. */
int64_t conv_out_height(const struct conv *c);
int64_t conv_out_width(const struct conv *c);

/* Return the elements of scratch memory that forward and backward need. */
int64_t conv_scratch(const struct conv *c);

/* Compute x [n, h, w, c_in], w [9 c_in, c_out], b [c_out] -> y [n, h/2, w/2, c_out] and, of the
 * same shape, which of its window's pixels (0 to 3) each maximum came from, 4 where the ReLU has
 * cut it.
 */
void conv_forward(const struct conv *c, real *y, real_index *which, const real *x, const real *w,
                  const real *b, int64_t n, real *scratch);

/* Compute dy [as y] -> dw [9 c_in, c_out], db [c_out] and, unless it is NULL, dx [as x]; sums over
 * n. */
struct conv_backward {
    real *dx, *dw, *db;
    const real *dy, *x, *w;
    const real_index *which;
};
void conv_backward(const struct conv *c, const struct conv_backward *a, int64_t n, real *scratch);

/* Lay out the surroundings of every pixel, and add them back; for the tests.  pad is [h + 2, w + 2,
 * c]. */
void conv_im2col(real *col, const real *x, int64_t n, int64_t h, int64_t w, int64_t c, real *pad);
void conv_col2im(real *x, const real *col, int64_t n, int64_t h, int64_t w, int64_t c, real *pad);

#endif
