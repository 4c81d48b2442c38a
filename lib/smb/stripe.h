/* SPDX-License-Identifier: Apache-2.0 */
/* stripe.h - which server holds which elements of a buffer: pure arithmetic
 *
 * A buffer of n elements is cut into blocks of STRIPE_ELEMENTS, and these into m runs whose numbers
 * of blocks differ by at most one: stripe s holds the elements stripe_first(s) ..
 * stripe_first(s + 1) - 1.  Stripe 0 of a buffer that has elements is never empty: it is the
 * buffer's home, where its users and its notices are counted.
 */
#ifndef EDDIS_SMB_STRIPE_H
#define EDDIS_SMB_STRIPE_H

#include <stddef.h>

/* A page of float32: smaller pieces cost more messages than they save time. */
enum { STRIPE_ELEMENTS = 1024 };

/* Return the first element of stripe s, 0 <= s <= m; n at most SIZE_MAX / 2 / m. */
size_t stripe_first(size_t n, int m, int s);

/* Return the stripe that holds element i < n. */
int stripe_of(size_t n, int m, size_t i);

#endif
