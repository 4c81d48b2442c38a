/* SPDX-License-Identifier: Apache-2.0 */
/* rank_list.h - sets of ranks as people write them: "0,5-7" */
#ifndef EDDIS_CMD_SHARED_RANK_LIST_H
#define EDDIS_CMD_SHARED_RANK_LIST_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { RANK_LIST_RANGES = 256 };

struct rank_list {
    struct {
        int first, last;
    } range[RANK_LIST_RANGES];
    int n; /* 0: every rank */
};

/* Parse "0,5-7".  -EINVAL: err says what is wrong. */
int rank_list_parse(const char *text, struct rank_list *ret, struct eddis_error *err);

bool rank_list_has(const struct rank_list *l, int rank);

/* -ERANGE: it names a rank that n_ranks do not have. */
int rank_list_check(const struct rank_list *l, int n_ranks, struct eddis_error *err);

/* How many of the ranks below n_ranks it has. */
int rank_list_count(const struct rank_list *l, int n_ranks);

/* Write the ranks whose bits are set (bit r % 8 of byte r / 8) as "0,5-7" to ret [size]; as much as
 * fits, then "...".
 */
void rank_list_text(const unsigned char *bits, int n_ranks, char *ret, size_t size);

#endif
