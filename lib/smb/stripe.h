/* SPDX-License-Identifier: Apache-2.0 */
/* stripe.h - compute which server holds which elements of a buffer; pure arithmetic
 *
 * A buffer of n elements is cut into blocks of STRIPE_ELEMENTS, and the blocks are divided into m
 * runs whose numbers of blocks differ by at most one.  Stripe s holds the elements stripe_first(s)
 * .. stripe_first(s + 1) - 1.  Stripe 0 of a non-empty buffer is never empty; it also holds the
 * counts of the buffer's users and notices.
 */
#ifndef EDDIS_SMB_STRIPE_H
#define EDDIS_SMB_STRIPE_H

#include <stddef.h>

/* Elements of a block: one page of float32.  Smaller blocks cost more messages than they save time.
 */
enum { STRIPE_ELEMENTS = 1024 };

/* Return the first of n elements in stripe s of m, 0 <= s <= m; s == m: n.  n is at most SIZE_MAX /
 * 2 / m.
 */
size_t stripe_first(size_t n, int m, int s);

/* Return the stripe, of m, that holds element i < n. */
int stripe_of(size_t n, int m, size_t i);

#endif
