/* SPDX-License-Identifier: Apache-2.0 */
/* dense.h - a fully connected layer: y = x w + b, then ReLU or not
 *
 * n samples; all arrays row by row.  Gradients dw and db are sums over the samples: the mean is in
 * dy already, which comes from the loss.
 */
#ifndef EDDIS_TRAIN_DENSE_H
#define EDDIS_TRAIN_DENSE_H

#include "real.h"

#include <stdbool.h>

struct dense {
    int64_t in, out;
    bool relu;
};

/* Compute x [n, in], w [in, out], b [out] -> y [n, out] */
void dense_forward(const struct dense *d, real *y, const real *x, const real *w, const real *b,
                   int64_t n);

/* Turn dy [n, out] into the gradient before the ReLU; y [n, out] is as the forward pass left it.
 * Writes dw [in, out], db [out] and, unless it is NULL, dx [n, in].
 */
void dense_backward(const struct dense *d, real *dx, real *dw, real *db, real *dy, const real *y,
                    const real *x, const real *w, int64_t n);

#endif
