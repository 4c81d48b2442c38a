/* SPDX-License-Identifier: Apache-2.0 */
/* csv_labels.c - a sorted list of labels */
#include "csv_labels.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Return the index of a label in the sorted list, or else the index at which it is to be inserted.
 * *ret_there: whether the list has it.
 */
static int32_t place(const struct csv_labels *l, const char *text, bool *ret_there)
{
    int32_t from = 0, to = l->n;

    while (from < to) {
        int32_t middle = (from + to) / 2;
        int order = strcmp(text, l->name[middle]);

        if (order == 0) {
            *ret_there = true;
            return middle;
        }
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    *ret_there = false;
    return from;
}

/* Double the room of the list.  Return 0 or -ENOMEM. */
static int grow(struct csv_labels *l, struct eddis_error *err)
{
    int32_t cap = l->cap ? 2 * l->cap : 16;
    char **name = realloc(l->name, (size_t)cap * sizeof *name);
    int32_t *id;

    if (!name)
        return eddis_fail(err, -ENOMEM, "out of memory");
    l->name = name;
    id = realloc(l->id, (size_t)cap * sizeof *id);
    if (!id)
        return eddis_fail(err, -ENOMEM, "out of memory");
    l->id = id;
    l->cap = cap;
    return 0;
}

/* Insert a copy of a label at index `at`, with the next free number.  Return 0 or -ENOMEM. */
static int add(struct csv_labels *l, const char *text, int32_t at, struct eddis_error *err)
{
    char *copy;

    if (l->n == l->cap && grow(l, err) < 0)
        return -ENOMEM;
    copy = strdup(text);
    if (!copy)
        return eddis_fail(err, -ENOMEM, "out of memory");
    memmove(l->name + at + 1, l->name + at, (size_t)(l->n - at) * sizeof *l->name);
    memmove(l->id + at + 1, l->id + at, (size_t)(l->n - at) * sizeof *l->id);
    l->name[at] = copy;
    l->id[at] = l->n++;
    return 0;
}

/* Check that a label is plain text in UTF-8, since labels are shown and written to JSON.  Return 0,
 * -EINVAL or -ENOMEM.
 */
static int check_text(const char *text, struct eddis_error *err)
{
    cleanup_free char *plain = strdup(text);

    if (!plain)
        return eddis_fail(err, -ENOMEM, "out of memory");
    text_make_plain(plain);
    return strcmp(plain, text) == 0
               ? 0
               : eddis_fail(err, -EINVAL,
                            "label '%s' is not plain text in UTF-8; save the file as UTF-8", plain);
}

int csv_labels_take(struct csv_labels *l, const char *text, int32_t *ret, struct eddis_error *err)
{
    bool there = false;
    int32_t at = place(l, text, &there);
    int rc = 0;

    if (!there && l->fixed)
        return eddis_fail(err, -EINVAL,
                          "label '%s' is not one of the labels that the model was trained on",
                          text);
    if (!there && l->n == CSV_MAX_NAMES)
        return eddis_fail(err, -EINVAL,
                          "label '%s' is the %dth different label, but there can be at most %d "
                          "text labels; name the column of the labels with --label",
                          text, CSV_MAX_NAMES + 1, CSV_MAX_NAMES);
    if (!there)
        rc = check_text(text, err);
    if (!there && rc == 0)
        rc = add(l, text, at, err);
    if (rc == 0)
        *ret = l->id[at];
    return rc;
}

int csv_labels_sort(struct csv_labels *l, int32_t *label, int64_t n, struct eddis_error *err)
{
    cleanup_free int32_t *rank = malloc((size_t)l->n * sizeof *rank + 1);

    if (!rank)
        return eddis_fail(err, -ENOMEM, "out of memory");
    for (int32_t i = 0; i < l->n; i++) {
        rank[l->id[i]] = i;
        l->id[i] = i;
    }
    for (int64_t i = 0; i < n; i++)
        label[i] = rank[label[i]];
    l->fixed = true;
    return 0;
}

int csv_labels_fix(struct csv_labels *l, const char *const *name, int32_t n,
                   struct eddis_error *err)
{
    int rc = 0;

    for (int32_t i = 0; i < n && rc == 0; i++)
        rc = add(l, name[i], i, err);
    l->fixed = true;
    return rc;
}

void csv_labels_fini(struct csv_labels *l)
{
    for (int32_t i = 0; i < l->n; i++)
        free(l->name[i]);
    free(l->name);
    free(l->id);
    *l = (struct csv_labels){ 0 };
}
