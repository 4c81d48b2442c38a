/* SPDX-License-Identifier: Apache-2.0 */
/* wiped.h - counts the blocks that jansson frees while they begin with a secret */
#ifndef EDDIS_TESTS_WIPED_H
#define EDDIS_TESTS_WIPED_H

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static const char *wiped_secret;
static int wiped_not;

static inline void wiped_free(void *p)
{
    size_t n = strlen(wiped_secret);

    if (p && malloc_usable_size(p) >= n && memcmp(p, wiped_secret, n) == 0)
        wiped_not++;
    free(p);
}

/* Count in wiped_not from here on.  A string of jansson is such a block; the texts that it reads
 * and writes begin with a bracket or a quote, and are not counted.
 */
static inline void wiped_begin(const char *secret)
{
    wiped_secret = secret;
    wiped_not = 0;
    json_set_alloc_funcs(malloc, wiped_free);
}

/* Count no longer.  Return how many were not overwritten. */
static inline int wiped_end(void)
{
    json_set_alloc_funcs(malloc, free);
    return wiped_not;
}

#endif
