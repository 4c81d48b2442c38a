/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h - all-reduces that tests start */
#ifndef EDDIS_TESTS_COMM_SUMS_H
#define EDDIS_TESTS_COMM_SUMS_H

#include "lib/comm/collective.h"

#include <check.h>
#include <stddef.h>

/* Return a sum of n elements of one type, without a tail; kind NULL: the one that is chosen. */
static inline struct collective *new_sum(const char *kind, const struct comm_place *place,
                                         void *data, size_t n, enum comm_type type)
{
    const struct allreduce a = { data, n, type, COMM_SUM, 0, NULL };
    struct collective *c = NULL;

    ck_assert_int_eq(kind ? allreduce_new_kind(kind, place, &a, &c, NULL)
                          : allreduce_new(place, &a, &c, NULL),
                     0);
    return c;
}

#endif
