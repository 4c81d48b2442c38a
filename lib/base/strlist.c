/* SPDX-License-Identifier: Apache-2.0 */
/* strlist.c - grow a list of strings that ends with NULL */
#include "strlist.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strlist_addf(struct strlist *l, const char *fmt, ...)
{
    char **more = realloc(l->item, (l->n + 2) * sizeof *more);
    va_list ap;
    int n;

    if (!more) {
        l->failed = true;
        return;
    }
    l->item = more;
    va_start(ap, fmt);
    n = vasprintf(&l->item[l->n], fmt, ap);
    va_end(ap);
    if (n < 0) {
        l->item[l->n] = NULL;
        l->failed = true;
        return;
    }
    l->item[++l->n] = NULL;
}

void strlist_add_all(struct strlist *l, char *const *items)
{
    for (; items && *items; items++)
        strlist_addf(l, "%s", *items);
}

/* Order strings by strcmp, for qsort: return a number < 0, 0 or > 0. */
static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void strlist_sort(struct strlist *l)
{
    if (l->n)
        qsort(l->item, l->n, sizeof *l->item, compare);
}

void strlist_fini(struct strlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->item[i]);
    free(l->item);
    *l = (struct strlist){ 0 };
}

void strlist_set(struct strlist *l, const char *name, const char *value)
{
    size_t n = strlen(name), last;

    strlist_addf(l, "%s=%s", name, value);
    if (l->failed)
        return;
    last = l->n - 1;
    for (size_t i = 0; i < last; i++)
        if (strncmp(l->item[i], name, n) == 0 && l->item[i][n] == '=') {
            free(l->item[i]);
            l->item[i] = l->item[last];
            l->item[last] = NULL;
            l->n = last;
            return;
        }
}

const char *strlist_value(char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}
