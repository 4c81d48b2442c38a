/* SPDX-License-Identifier: Apache-2.0 */
/* csv_labels.h - text labels, one for each class
 *
 * While a file is read, each new label gets the next number. At the end the labels are sorted by
 * their bytes. A label's class is its index in the sorted list, which does not depend on the order
 * of rows.
 */
#ifndef EDDIS_DATA_CSV_LABELS_H
#define EDDIS_DATA_CSV_LABELS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { CSV_MAX_NAMES = 4096 };

/* A list of labels. A zero-initialised struct is an empty list. */
struct csv_labels {
    char **name; /* [n] labels, sorted */
    /* [n] number of each label: until csv_labels_sort in the order of first appearance, then the
     * label's index
     */
    int32_t *id;
    int32_t n, cap;
    bool fixed; /* no further label is added */
};

/* Set the list to copies of these labels, which must be sorted, and fix the list. Return 0 or a
 * negative errno.
 */
int csv_labels_fix(struct csv_labels *l, const char *const *name, int32_t n,
                   struct eddis_error *err);

/* Store the number of a label in *ret; a new label is added, unless the list is fixed. Return 0;
 * -EINVAL: the list is fixed and lacks the label, or the label is not plain text, or there are too
 * many labels; or -ENOMEM.
 */
int csv_labels_take(struct csv_labels *l, const char *text, int32_t *ret, struct eddis_error *err);

/* Sort the list, change each label's number to its index, also in the numbers label [n], and fix
 * the list. Return 0 or a negative errno.
 */
int csv_labels_sort(struct csv_labels *l, int32_t *label, int64_t n, struct eddis_error *err);

/* Free the labels.  Afterwards l is empty and valid. */
void csv_labels_fini(struct csv_labels *l);

#endif
