/* SPDX-License-Identifier: Apache-2.0 */
/* user_env.c - hide some of the user's variables by renaming them, and restore them */
#include "user_env.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prefix of the name of a hidden variable. */
#define HIDDEN "EDDIS_HIDDEN_"

static const size_t hidden = sizeof HIDDEN - 1; /* length of the prefix */

/* Check whether the name of `variable`, a NAME=VALUE, begins with the prefix of hidden variables.
 */
static bool is_hidden(const char *variable)
{
    return strncmp(variable, HIDDEN, hidden) == 0;
}

bool user_env_steers(const char *variable)
{
    static const char *const patterns[] = {
        "SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "GNUTLS_*",
        "CURL_*",        "OPENSSL_*",     "*_MODULES",    "*_[Pp][Rr][Oo][Xx][Yy]",
    };
    size_t n = strcspn(variable, "=");
    char name[128];

    if (is_hidden(variable) || variable[n] != '=' || n >= sizeof name)
        return false;
    memcpy(name, variable, n);
    name[n] = '\0';
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

/* Append this process's environment to ret, with the prefix before the name of each variable that
 * steers libraries.  Return false if there is no such variable, or without memory.
 */
static bool hide_all(struct strlist *ret)
{
    bool any = false;

    for (char **e = environ; *e; e++) {
        bool hide = user_env_steers(*e);

        any = any || hide;
        strlist_addf(ret, "%s%s", hide ? HIDDEN : "", *e);
    }
    return any && !ret->failed;
}

void user_env_hide(char **argv)
{
    struct strlist env = { 0 };
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (!hide_all(&env)) {
        strlist_fini(&env);
        return;
    }
    self[n > 0 ? n : 0] = '\0';
    /* A program run by a loader or valgrind must not execute itself. */
    if (strcmp(basename(self), program_invocation_short_name) == 0)
        (void)execve(self, argv, env.item);
    /* Without exec, at least variables that libraries read later are hidden. */
    (void)clearenv();
    for (size_t i = 0; i < env.n; i++)
        (void)putenv(env.item[i]); /* putenv keeps the string */
    free(env.item);
}

const char *user_env_get(const char *name)
{
    const char *value = getenv(name);
    char other[PATH_MAX];

    if (value || snprintf(other, sizeof other, HIDDEN "%s", name) >= (int)sizeof other)
        return value;
    return getenv(other);
}

void user_env_add_without(struct strlist *ret, const char *const *patterns)
{
    for (char **e = environ; *e; e++) {
        const char *variable = *e + (is_hidden(*e) ? hidden : 0);
        const char *const *p = patterns;

        while (*p && fnmatch(*p, variable, 0) != 0)
            p++;
        if (!*p)
            strlist_addf(ret, "%s", variable);
    }
}

void user_env_add(struct strlist *ret)
{
    static const char *const none[] = { NULL };

    user_env_add_without(ret, none);
}
