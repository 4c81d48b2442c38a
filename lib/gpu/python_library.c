/* SPDX-License-Identifier: Apache-2.0 */
/* python_library.c - find libraries in the packages of Python installations */
#include "python_library.h"

#include "lib/base/spawn.h"

#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* The pattern to look for, and what to call with each path */
struct search {
    const char *pattern;
    python_library_fn fn;
    void *context;
};

/* Search below a prefix.  Return true if fn did. */
static bool search_prefix(const struct search *s, const char *prefix)
{
    char pattern[PATH_MAX + 128];
    glob_t g = { 0 };
    bool is = false;

    (void)snprintf(pattern, sizeof pattern,
                   "%.*s/{lib,local/lib}/python3*/{site,dist}-packages/%.64s", PATH_MAX, prefix,
                   s->pattern);
    if (glob(pattern, GLOB_BRACE, NULL, &g) == 0)
        for (size_t i = 0; i < g.gl_pathc && !is; i++)
            is = s->fn(s->context, g.gl_pathv[i]);
    globfree(&g);
    return is;
}

bool python_library_find(const char *pattern, python_library_fn fn, void *context)
{
    const struct search s = { pattern, fn, context };
    const char *home = getenv("HOME");
    const char *const active[] = { getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX") };
    char path[PATH_MAX];
    bool is = false;

    if (spawn_find("python3", path, sizeof path, NULL) == 0)
        is = search_prefix(&s, dirname(dirname(path)));
    for (size_t i = 0; i < sizeof active / sizeof *active && !is; i++)
        is = active[i] && *active[i] && search_prefix(&s, active[i]);
    if (!is && home && snprintf(path, sizeof path, "%s/.local", home) < (int)sizeof path)
        is = search_prefix(&s, path);
    return is;
}
