/* SPDX-License-Identifier: Apache-2.0 */
/* naive.h - the layers in double, computed in the simplest way: references for the fast ones */
#ifndef EDDIS_TESTS_NAIVE_H
#define EDDIS_TESTS_NAIVE_H

#include "cmd/train/model/conv.h"
#include "cmd/train/model/dense.h"

/* Return the n numbers x as double; the caller frees them. */
double *naive_copy(const float *x, int64_t n);

/* Compute y [n, out] from x [n, in], w [in, out] and b [out]. */
void naive_dense(const struct dense *d, double *y, const double *x, const double *w,
                 const double *b, int64_t n);

/* Gradients to add to: of a layer's input, weight and bias. */
struct naive_gradients {
    double *dx, *dw, *db;
};

/* Add the gradients of naive_dense for dy [n, out].  y: the fast layer's output, since rounding may
 * put what is near a ReLU's kink on either side.
 */
void naive_dense_backward(const struct dense *d, struct naive_gradients *g, const double *dy,
                          const float *y, const double *x, const double *w, int64_t n);

/* An element of a convolution's output: filter o of the pooled pixel p of one image. */
struct naive_pixel {
    int64_t p, o;
    int64_t row, col; /* of the maximum in the window, once computed */
};

/* Return an element of the output from x [h, w, c_in], w [9 c_in, c_out] and b [c_out]. */
double naive_conv(const struct conv *c, struct naive_pixel *at, const double *x, const double *w,
                  const double *b);

/* Add the gradients of naive_conv for the gradient dy of this element, which is above 0. */
void naive_conv_backward(const struct conv *c, const struct naive_pixel *at,
                         struct naive_gradients *g, double dy, const double *x, const double *w);

#endif
