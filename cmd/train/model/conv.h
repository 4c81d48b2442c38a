/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - a 3x3 convolution with zero padding, bias, ReLU and 2x2 max pooling, as one layer
 *
 * Arrays are [n, height, width, channels], channels fastest. The convolution is a matrix product:
 * im2col writes the 3x3 neighbourhood of every pixel as a row of col [n h w, 9 c_in]. The product
 * is z = col w with w [9 c_in, c_out]. The batch is processed in groups of images whose col has at
 * most CONV_COL_BYTES. So memory does not grow with the batch, and col stays in a processor cache.
 *
 * ReLU and bias commute with the maximum, so they are applied only to the pooled values, a quarter
 * of all. z is not kept, because the backward pass needs only the position of each maximum. A side
 * of 1 is not pooled; the last row or column of an odd side is dropped.
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

/* Return the number of elements of scratch memory that conv_forward and conv_backward need. */
int64_t conv_scratch(const struct conv *c);

/* Compute y [n, h/2, w/2, c_out] from x [n, h, w, c_in], w [9 c_in, c_out] and b [c_out].  Store in
 * `which`, of y's shape, the pixel of the window (0 to 3) that has the maximum; 4 if the ReLU made
 * it 0.  That number is as wide as a float, so that loops over both are vectorised.
 */
void conv_forward(const struct conv *c, float *y, int32_t *which, const float *x, const float *w,
                  const float *b, int64_t n, float *scratch);

/* The arguments of conv_backward. Results: the gradients dx (shape of x; NULL: not needed), dw [9
 * c_in, c_out] and db [c_out], where dw and db are sums over the samples. Inputs: the gradient dy
 * (shape of y), and x, w and `which` of the forward pass.
 */
struct conv_backward {
    float *dx, *dw, *db;
    const float *dy, *x, *w;
    const int32_t *which;
};

/* Compute the gradients dw, db and, unless it is NULL, dx from dy for n samples. */
void conv_backward(const struct conv *c, const struct conv_backward *a, int64_t n, float *scratch);

#endif
