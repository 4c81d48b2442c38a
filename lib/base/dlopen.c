/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen.c - load the first available library of a list and look up its symbols */
#include "dlopen.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Check whether dlerror's text `why` says that there is no file of this name.  With a name at its
 * beginning that is not `name`, the library exists, but lacks another one.
 */
static bool is_absent(const char *name, const char *why)
{
    const char *words = strerror(ENOENT);
    size_t n = strlen(why), n_name = strlen(name), n_words = strlen(words);

    return strncmp(why, name, n_name) == 0 && why[n_name] == ':' && n >= n_words &&
           strcmp(why + n - n_words, words) == 0;
}

/* Load the library of the first of these names for which this succeeds.  Return its handle, or
 * NULL: err names the first library that exists, or else the first of all.
 */
static void *load(const char *const *names, struct eddis_error *err)
{
    bool found = false;

    (void)eddis_fail(err, -ENOENT, "no library '%s'", names[0]);
    for (const char *const *name = names; *name; name++) {
        void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
        const char *why = handle ? NULL : dlerror();

        if (handle)
            return handle;
        if (!found && why && !is_absent(*name, why)) {
            (void)eddis_fail(err, -ELIBBAD, "cannot load a library: %s", why);
            found = true;
        }
    }
    return NULL;
}

int dlopen_library(const char *const *names, const struct dlopen_symbol *symbols, size_t n,
                   struct eddis_error *err)
{
    struct eddis_error why = { 0 };
    void *handle = load(names, &why);

    if (!handle)
        return eddis_fail(err, why.code, "%s", why.text);
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
