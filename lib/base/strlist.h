/* SPDX-License-Identifier: Apache-2.0 */
/* strlist.h - a NULL-ended list of strings that grows: argument vectors and environments
 *
 * Zero-initialised is empty and valid; after an append without memory `failed` stays set.
 */
#ifndef EDDIS_BASE_STRLIST_H
#define EDDIS_BASE_STRLIST_H

#include <stdbool.h>
#include <stddef.h>

struct strlist {
    char **item; /* NULL while empty, else item[n] is NULL */
    size_t n;
    bool failed;
};

void strlist_addf(struct strlist *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strlist_add_all(struct strlist *l, char *const *items); /* NULL-ended */
void strlist_fini(struct strlist *l);

/* Set NAME=VALUE in a list of such, in the place of an earlier value or at the end. */
void strlist_set(struct strlist *l, const char *name, const char *value);

/* Borrows the value of NAME in a NULL-ended list of NAME=VALUE, or NULL. */
const char *strlist_value(char *const *env, const char *name);

#endif
