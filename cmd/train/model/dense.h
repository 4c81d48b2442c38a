/* SPDX-License-Identifier: Apache-2.0 */
/* dense.h - a fully connected layer: y = x w + b, optionally followed by ReLU
 *
 * n samples; all arrays are in row-major order.  Gradients dw and db are sums over the samples: dy,
 * which comes from the loss, already contains the factor of the mean.
 */
#ifndef EDDIS_TRAIN_DENSE_H
#define EDDIS_TRAIN_DENSE_H

#include <stdbool.h>
#include <stdint.h>

/* The sizes of a dense layer. */
struct dense {
    int64_t in, out;
    bool relu;
};

/* Compute y [n, out] from x [n, in], w [in, out] and b [out]. */
void dense_forward(const struct dense *d, float *y, const float *x, const float *w, const float *b,
                   int64_t n);

/* Compute the gradients dw [in, out], db [out] and, unless it is NULL, dx [n, in] from dy [n, out].
 * With ReLU, dy is overwritten by the gradient before the ReLU. y [n, out]: the result of
 * dense_forward.
 */
void dense_backward(const struct dense *d, float *dx, float *dw, float *db, float *dy,
                    const float *y, const float *x, const float *w, int64_t n);

#endif
