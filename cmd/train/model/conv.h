/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - a 3x3 convolution with zero padding, bias, ReLU and 2x2 max pooling, as one layer
 *
 * Arrays are [n, height, width, channels], channels fastest.  The convolution is a matrix product:
 * im2col writes the 3x3 neighbourhood of every pixel side by side, col [n h w, 9 c_in].  The
 * product is z = col w with w [9 c_in, c_out].  The batch is processed in groups of images whose
 * col is at most CONV_COL_BYTES large.  So memory does not grow with the batch, and col stays in a
 * cache.
 *
 * ReLU and bias commute with the maximum, so they are applied to the pooled quarter only.  z is not
 * kept, as the position of each maximum is enough for the backward pass.  A side of 1 is not
 * pooled; the last row or column of an odd side is dropped.
 */
#ifndef EDDIS_TRAIN_CONV_H
#define EDDIS_TRAIN_CONV_H

#include <stdint.h>

enum { CONV_COL_BYTES = 1 << 20 };

/* The sizes of a convolution. */
struct conv {
    int64_t height, width, c_in, c_out;
};

/* Return the height of the pooled output, in pixels. */
int64_t conv_out_height(const struct conv *c);

/* Return the width of the pooled output, in pixels. */
int64_t conv_out_width(const struct conv *c);

/* Return the number of elements of scratch memory that forward and backward need. */
int64_t conv_scratch(const struct conv *c);

/* Compute y [n, h/2, w/2, c_out] from x [n, h, w, c_in], w [9 c_in, c_out] and b [c_out].  Store in
 * `which`, of y's shape, the pixel of the window (0 to 3) that has the maximum; 4 if the ReLU made
 * it 0.  That number is as wide as a float, so that loops over both are vectorised.
 */
void conv_forward(const struct conv *c, float *y, int32_t *which, const float *x, const float *w,
                  const float *b, int64_t n, float *scratch);

/* The arguments of conv_backward: gradients to write, dx (like x, or NULL: not needed), dw [9 c_in,
 * c_out] and db [c_out], which are sums over n; and the arrays of the forward pass with dy (like
 * y).
 */
struct conv_backward {
    float *dx, *dw, *db;
    const float *dy, *x, *w;
    const int32_t *which;
};

/* Compute the gradients dw, db and, unless it is NULL, dx from dy for n samples. */
void conv_backward(const struct conv *c, const struct conv_backward *a, int64_t n, float *scratch);

#endif
