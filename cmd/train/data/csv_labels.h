/* SPDX-License-Identifier: Apache-2.0 */
/* csv_labels.h - text labels, each of which names a class
 *
 * While a file is read, each new label gets the next number.  At the end labels are sorted by
 * bytes.  A label's class is its index in this order, which does not depend on the order of rows.
 */
#ifndef EDDIS_DATA_CSV_LABELS_H
#define EDDIS_DATA_CSV_LABELS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { CSV_MAX_NAMES = 4096 };

/* A list of labels.  Zero-initialised it is empty and valid. */
struct csv_labels {
    char **name; /* [n], sorted */
    /* [n] each label's number: by first appearance until csv_labels_sort, then its index */
    int32_t *id;
    int32_t n, cap;
    bool fixed; /* no further label is added */
};

/* Set the list to these labels, which are sorted, and accept no others.  They are copied. */
int csv_labels_fix(struct csv_labels *l, const char *const *name, int32_t n,
                   struct eddis_error *err);

/* Store the number of a label in *ret.  A new label is added, unless the list is fixed.  -EINVAL:
 * the label is unknown, not plain text, or one too many.
 */
int csv_labels_take(struct csv_labels *l, const char *text, int32_t *ret, struct eddis_error *err);

/* Change each label's number to its index in sorted order, also in label [n], and fix the list. */
int csv_labels_sort(struct csv_labels *l, int32_t *label, int64_t n, struct eddis_error *err);

/* Free the labels.  Afterwards l is empty and valid. */
void csv_labels_fini(struct csv_labels *l);

#endif
