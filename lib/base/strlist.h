/* SPDX-License-Identifier: Apache-2.0 */
/* strlist.h - a growing NULL-ended list of strings, for argument vectors and environments
 *
 * A zero-initialised list is empty and valid.  An append without memory sets `failed` and leaves
 * the list unchanged.
 */
#ifndef EDDIS_BASE_STRLIST_H
#define EDDIS_BASE_STRLIST_H

#include <stdbool.h>
#include <stddef.h>

/* A growing list of strings */
struct strlist {
    char **item; /* NULL while empty, else item[n] is NULL */
    size_t n;
    bool failed;
};

/* Append a formatted string.  Without memory set l->failed and leave the list unchanged. */
void strlist_addf(struct strlist *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append copies of all strings of a NULL-ended list; NULL: none. */
void strlist_add_all(struct strlist *l, char *const *items);

/* Sort the strings by strcmp. */
void strlist_sort(struct strlist *l);

/* Free the strings and the list; l is then empty and valid. */
void strlist_fini(struct strlist *l);

/* Release a local strlist at the end of its scope (cleanup.h). */
#define cleanup_strlist __attribute__((cleanup(strlist_fini)))

/* Set NAME=VALUE in an environment list: replace the first entry of NAME, or append an entry. */
void strlist_set(struct strlist *l, const char *name, const char *value);

/* Borrow the value of NAME from a NULL-ended list of NAME=VALUE; NULL: not in it, or env is NULL.
 */
const char *strlist_value(char *const *env, const char *name);

#endif
