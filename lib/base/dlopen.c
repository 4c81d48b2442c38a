/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen.c - load the first available library of a list and look up its symbols */
#include "dlopen.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int dlopen_library(const char *const *names, const struct dlopen_symbol *symbols, size_t n,
                   struct eddis_error *err)
{
    void *handle = NULL;

    for (const char *const *name = names; *name && !handle; name++)
        handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return eddis_fail(err, -ENOENT, "no library '%s'", names[0]);
    for (size_t i = 0; i < n; i++)
        if (!symbols[i].optional && !dlsym(handle, symbols[i].name)) {
            (void)dlclose(handle);
            return eddis_fail(err, -ENOTSUP, "library '%s' has no '%s'", names[0], symbols[i].name);
        }
    for (size_t i = 0; i < n; i++) {
        void *address = dlsym(handle, symbols[i].name);

        memcpy(symbols[i].slot, &address, sizeof address);
    }
    return 0;
}
