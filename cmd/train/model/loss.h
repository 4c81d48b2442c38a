/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - softmax with cross-entropy loss */
#ifndef EDDIS_TRAIN_LOSS_H
#define EDDIS_TRAIN_LOSS_H

#include <stdint.h>

/* The loss of some samples. */
struct loss {
    double sum;   /* sum of -log p(label) over the samples */
    int64_t hits; /* samples for which the label has the largest logit */
};

/* Return the loss of logits [n, k] with labels label [n], 0 .. k - 1.  Write the gradient of the
 * *mean* loss to d [n, k], unless d is NULL.
 */
struct loss loss_softmax(float *d, const float *logits, const int32_t *label, int64_t n, int64_t k);

#endif
