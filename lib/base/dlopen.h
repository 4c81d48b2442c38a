/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen.h - load an optional library through a table of its symbols
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

/* A function to look up in a library */
struct dlopen_symbol {
    const char *name;
    void *slot;    /* address of the function pointer to set on success */
    bool optional; /* the library may lack the function; *slot is then set to NULL */
};

/* Load the first available library of the NULL-ended names and fill the slots.  The library stays
 * loaded until the process ends, because drivers do not survive being unloaded.  Return 0 or a
 * negative errno, and then no slot is written.  -ENOENT: no library of these names; -ELIBBAD: one
 * exists but cannot be loaded, and err has the loader's words; -ENOTSUP: it lacks a required
 * symbol.
 */
int dlopen_library(const char *const *names, const struct dlopen_symbol *symbols, size_t n,
                   struct eddis_error *err);

#endif
