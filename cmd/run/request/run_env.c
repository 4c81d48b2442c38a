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

/* Append a variable and take ownership of text. text NULL: fail for lack of memory. */
static int append_take(struct run_env *e, char *text, struct eddis_error *err)
{
    char **more = text ? realloc(e->at, (size_t)(e->n + 2) * sizeof *more) : NULL;

    if (!more) {
        free(text);
        return eddis_fail(err, -ENOMEM, "no memory for a variable");
    }
    e->at = more;
    e->at[e->n++] = text;
    e->at[e->n] = NULL;
    return 0;
}

int run_env_set(struct run_env *e, const char *text, struct eddis_error *err)
{
    size_t n = strcspn(text, "=");
    cleanup_free char *name = strndup(text, n);
    const char *value = text[n] ? text + n + 1 : name ? user_env_get(name) : NULL;
    char *both = NULL;

    if (!name)
        return eddis_fail(err, -ENOMEM, "no memory for a variable");
    if (job_check_variable(name, err) < 0)
        return eddis_fail_prefix(err, -EINVAL, "-x");
    if (!value)
        return eddis_fail(err, -EINVAL, "-x %s: the variable is not set here; write -x %s=VALUE",
                          name, name);
    return append_take(e, asprintf(&both, "%s=%s", name, value) < 0 ? NULL : both, err);
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

/* Check whether a pattern selects this variable: by its exact name, or with wildcards unless it is
 * local.
 */
static bool selected(char *const *patterns, const char *name)
{
    for (; patterns && *patterns; patterns++)
        if (strcmp(*patterns, name) == 0 ||
            (fnmatch(*patterns, name, FNM_NOESCAPE) == 0 && !is_local(name)))
            return true;
    return false;
}

/* Check whether the job's `env` sets this variable. */
static bool set_by_job(const struct job *job, const char *name)
{
    size_t n = strlen(name);

    for (char **v = job->env; v && *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return true;
    return false;
}

/* Compare two "NAME=VALUE" strings as strcmp does, for qsort. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int run_env_pass(struct run_env *e, const struct job *job, char *const *environment,
                 struct eddis_error *err)
{
    struct run_env all = { 0 };
    int rc = 0;

    for (char *const *v = environment; *v && rc == 0; v++) {
        size_t n = strcspn(*v, "=");
        cleanup_free char *name = (*v)[n] ? strndup(*v, n) : NULL;

        if (name && selected(job->env_pass, name) && job_check_variable(name, NULL) == 0 &&
            !set_by_job(job, name))
            rc = append_take(&all, strdup(*v), err);
    }
    if (all.n)
        qsort(all.at, (size_t)all.n, sizeof *all.at, by_name);
    for (int i = 0; i < e->n && rc == 0; i++)
        rc = append_take(&all, strdup(e->at[i]), err);
    if (rc < 0) {
        run_env_fini(&all);
        return rc;
    }
    run_env_fini(e);
    *e = all;
    return 0;
}

void run_env_fini(struct run_env *e)
{
    for (int i = 0; i < e->n; i++)
        free(e->at[i]);
    free(e->at);
    *e = (struct run_env){ 0 };
}
