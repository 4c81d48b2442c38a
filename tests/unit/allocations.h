/* SPDX-License-Identifier: Apache-2.0 */
/* allocations.h - allocations of which one fails, for tests that name the functions (wrapped.h) */
#ifndef EDDIS_TESTS_ALLOCATIONS_H
#define EDDIS_TESTS_ALLOCATIONS_H

#include "wrapped.h"

#include <stddef.h>

static long countdown; /* allocations until one fails; 0: none does */

static bool fault(void)
{
    return countdown && --countdown == 0;
}

#define WRAP_MALLOC  WRAP(void *, malloc, (size_t n), (n), NULL)
#define WRAP_CALLOC  WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL)
#define WRAP_REALLOC WRAP(void *, realloc, (void *p, size_t n), (p, n), NULL)
#define WRAP_STRDUP  WRAP(char *, strdup, (const char *s), (s), NULL)
#define WRAP_STRNDUP WRAP(char *, strndup, (const char *s, size_t n), (s, n), NULL)

#endif
