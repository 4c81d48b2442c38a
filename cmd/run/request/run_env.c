/* SPDX-License-Identifier: Apache-2.0 */
/* run_env.c - chooses which of the caller's variables the workers get */
#include "run_env.h"

#include "lib/base/cleanup.h"
#include "lib/base/user_env.h"
#include "lib/job/types/job_texts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Set err for lack of memory. Return -ENOMEM. */
static int no_memory(struct eddis_error *err)
{
    return eddis_fail(err, -ENOMEM, "no memory for a variable");
}

int run_env_set(struct strlist *e, const char *text, struct eddis_error *err)
{
    size_t n = strcspn(text, "=");
    cleanup_free char *name = strndup(text, n);
    const char *value = text[n] ? text + n + 1 : name ? user_env_get(name) : NULL;

    if (!name)
        return no_memory(err);
    if (job_check_variable(name, err) < 0)
        return eddis_fail_prefix(err, -EINVAL, "-x");
    if (!value)
        return eddis_fail(err, -EINVAL, "-x %s: the variable is not set here; write -x %s=VALUE",
                          name, name);
    strlist_addf(e, "%s=%s", name, value);
    return e->failed ? no_memory(err) : 0;
}

/* Check whether a variable describes this machine or login, so that a pattern such as "*" must not
 * select it.
 */
static bool is_local(const char *name)
{
    static const char *const patterns[] = {
        "_",       "HOME",     "PWD",    "OLDPWD",    "SHLVL",  "SHELL", "USER",
        "LOGNAME", "HOSTNAME", "TMPDIR", "TERM",      "TTY",    "MAIL",  "DISPLAY",
        "SSH_*",   "XDG_*",    "DBUS_*", "WAYLAND_*", "BASH_*", "PATH",  "LS_COLORS",
    };

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

/* Check whether one of the patterns (NULL-ended; NULL: none) selects the variable of this name: by
 * equality, or with wildcards unless the variable is local.
 */
static bool selected(char *const *patterns, const char *name)
{
    for (; patterns && *patterns; patterns++)
        if (strcmp(*patterns, name) == 0 ||
            (fnmatch(*patterns, name, FNM_NOESCAPE) == 0 && !is_local(name)))
            return true;
    return false;
}

/* Compare two "NAME=VALUE" strings as strcmp does, for qsort. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int run_env_pass(struct strlist *e, const struct job *job, char *const *environment,
                 struct eddis_error *err)
{
    struct strlist all = { 0 };

    for (char *const *v = environment; *v; v++) {
        size_t n = strcspn(*v, "=");
        cleanup_free char *name = (*v)[n] ? strndup(*v, n) : NULL;

        if (name && selected(job->env_pass, name) && job_check_variable(name, NULL) == 0 &&
            !strlist_value(job->env, name))
            strlist_addf(&all, "%s", *v);
    }
    if (all.n)
        qsort(all.item, all.n, sizeof *all.item, by_name);
    strlist_add_all(&all, e->item);
    if (all.failed) {
        strlist_fini(&all);
        return no_memory(err);
    }
    strlist_fini(e);
    *e = all;
    return 0;
}
