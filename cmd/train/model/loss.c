/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c - computes softmax, its loss and its gradient */
#include "loss.h"

#include <math.h>

/* Return the index of the largest of the k numbers z; of equal ones, the first. */
static int64_t largest(const float *z, int64_t k)
{
    int64_t best = 0;

    for (int64_t j = 1; j < k; j++)
        best = z[j] > z[best] ? j : best;
    return best;
}

struct loss loss_softmax(float *d, const float *logits, const int32_t *label, int64_t n, int64_t k)
{
    struct loss l = { 0 };

    for (int64_t i = 0; i < n; i++) {
        const float *z = logits + i * k;
        int64_t best = largest(z, k);
        float sum = 0, inverse;

        /* Subtracting the largest keeps exp in range and does not change the softmax. */
        for (int64_t j = 0; j < k; j++) {
            float e = expf(z[j] - z[best]);

            sum += e;
            if (d)
                d[i * k + j] = e;
        }
        l.sum += log((double)sum) - (double)(z[label[i]] - z[best]);
        l.hits += best == label[i];
        if (!d)
            continue;
        inverse = 1 / (sum * (float)n);
        for (int64_t j = 0; j < k; j++)
            d[i * k + j] *= inverse;
        d[i * k + label[i]] -= 1 / (float)n;
    }
    return l;
}
