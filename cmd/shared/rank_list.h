/* SPDX-License-Identifier: Apache-2.0 */
/* rank_list.h - sets of ranks as users write them: "0,5-7" */
#ifndef EDDIS_CMD_SHARED_RANK_LIST_H
#define EDDIS_CMD_SHARED_RANK_LIST_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { RANK_LIST_RANGES = 256 };

/* A set of ranks, as a list of ranges. */
struct rank_list {
    struct {
        int first, last;
    } range[RANK_LIST_RANGES];
    int n; /* number of ranges; 0: the set has every rank */
};

/* Parse text like "0,5-7" into *ret. Return 0; -EINVAL: the text is malformed, and err says how;
 * -E2BIG: too many ranges.
 */
int rank_list_parse(const char *text, struct rank_list *ret, struct eddis_error *err);

/* Check whether the set has this rank; an empty list has every rank. */
bool rank_list_has(const struct rank_list *l, int rank);

/* Check that the set has only ranks below n_ranks. Return 0, or -ERANGE if not; err names a rank
 * that does not exist.
 */
int rank_list_check(const struct rank_list *l, int n_ranks, struct eddis_error *err);

/* Return how many ranks below n_ranks the set has. */
int rank_list_count(const struct rank_list *l, int n_ranks);

/* Write the ranks whose bits are set (bit r % 8 of byte r / 8) to ret [size] as "0,5-7"; if ret is
 * too small for all ranks, the text ends in "...".
 */
void rank_list_text(const unsigned char *bits, int n_ranks, char *ret, size_t size);

#endif
