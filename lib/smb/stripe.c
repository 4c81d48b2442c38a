/* SPDX-License-Identifier: Apache-2.0 */
/* stripe.c - compute the runs of blocks that make up stripes */
#include "stripe.h"

size_t stripe_first(size_t n, int m, int s)
{
    size_t blocks = (n + STRIPE_ELEMENTS - 1) / STRIPE_ELEMENTS;
    size_t at = (blocks * (size_t)s + (size_t)m - 1) / (size_t)m * STRIPE_ELEMENTS;

    return at < n ? at : n;
}

int stripe_of(size_t n, int m, size_t i)
{
    int s = 0;

    while (s + 1 < m && stripe_first(n, m, s + 1) <= i)
        s++;
    return s;
}
