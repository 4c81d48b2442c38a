/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - softmax and cross-entropy */
#ifndef EDDIS_TRAIN_LOSS_H
#define EDDIS_TRAIN_LOSS_H

#include "real.h"

struct loss {
    double sum;   /* of -log p(label), over the samples */
    int64_t hits; /* samples whose label has the largest logit */
};

/* Return the loss of logits [n, k] with label [n], 0 .. k - 1.  Writes d [n, k], the gradient of
 * the *mean* loss, unless it is NULL.
 */
struct loss loss_softmax(real *d, const real *logits, const int32_t *label, int64_t n, int64_t k);

#endif
