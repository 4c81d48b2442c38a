/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen.h - a library that may be absent, as one table of symbols
 *
 *     static const struct dlopen_symbol symbols[] = {
 *         { "cuInit", &api.init, false },
 *     };
 *     dlopen_library(names, symbols, 1, err)
 */
#ifndef EDDIS_BASE_DLOPEN_H
#define EDDIS_BASE_DLOPEN_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

struct dlopen_symbol {
    const char *name;
    void *slot;    /* address of a function pointer, set on success */
    bool optional; /* its slot is NULL when the library lacks it */
};

/* Load the first of the names (NULL-ended) that is there and fill the slots.  The library stays
 * loaded for the life of the process: drivers do not survive being unloaded.
 * -ENOENT: none of the names is installed; -ENOTSUP: it is, without a symbol that is needed.
 */
int dlopen_library(const char *const *names, const struct dlopen_symbol *symbols, size_t n,
                   struct eddis_error *err);

#endif
