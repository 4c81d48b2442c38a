/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - softmax with cross-entropy loss */
#ifndef EDDIS_TRAIN_LOSS_H
#define EDDIS_TRAIN_LOSS_H

#include <stdint.h>

/* The loss of several samples */
struct loss {
    double sum;   /* sum of -log p(label) over the samples */
    int64_t hits; /* number of samples for which the label has the largest logit */
};

/* Return the loss of n samples with logits [n, k] and labels label [n] (0 .. k - 1). Unless d is
 * NULL, write to d [n, k] the gradient of the *mean* loss.
 */
struct loss loss_softmax(float *d, const float *logits, const int32_t *label, int64_t n, int64_t k);

#endif
