/* SPDX-License-Identifier: Apache-2.0 */
/* csv_labels.h - labels that are text, each of which stands for a class
 *
 * While a file is read, a label gets the next number.  In the end they are sorted byte by byte, and
 * the class is the place in that order: the same for the same labels, in whatever order they come.
 */
#ifndef EDDIS_DATA_CSV_LABELS_H
#define EDDIS_DATA_CSV_LABELS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { CSV_MAX_NAMES = 4096 };

/* Zero-initialised is empty and valid. */
struct csv_labels {
    char **name; /* [n], sorted */
    int32_t *id; /* [n]: its number, until csv_labels_sort: by first appearance */
    int32_t n, cap;
    bool fixed; /* no label is added */
};

/* Take these labels, sorted, and no others. */
int csv_labels_fix(struct csv_labels *l, const char *const *name, int32_t n,
                   struct eddis_error *err);

/* Return the number of a label, which is added if it is not there and labels are not fixed.
 * -EINVAL: what is wrong with it.
 */
int csv_labels_take(struct csv_labels *l, const char *text, int32_t *ret, struct eddis_error *err);

/* Turn numbers into places in the order, in label [n] too. */
int csv_labels_sort(struct csv_labels *l, int32_t *label, int64_t n, struct eddis_error *err);

/* Free the labels; l is empty and valid afterwards. */
void csv_labels_fini(struct csv_labels *l);

#endif
