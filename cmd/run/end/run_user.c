/* SPDX-License-Identifier: Apache-2.0 */
/* run_user.c - takes on the user, groups and variables of a folder's owner */
#include "run_user.h"

#include "lib/base/strlist.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Check whether an environment variable may be kept, since it reveals nothing about root. */
static bool is_kept(const char *variable)
{
    static const char *const kept[] = { "PATH=", "LANG=", "LC_", "TERM=", "TMPDIR=", "SLURM" };

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
            return true;
    return false;
}

/* Remove root's environment variables and set HOME, USER and LOGNAME for the user: the user can
 * inspect programs started from now on. user NULL: unknown user, HOME is "/".
 */
static int take_variables(const struct passwd *user)
{
    struct strlist kept = { 0 };
    int rc = 0;

    for (char **v = environ; v && *v; v++)
        if (is_kept(*v))
            strlist_addf(&kept, "%s", *v);
    if (kept.failed || clearenv() != 0)
        rc = -ENOMEM;
    for (size_t i = 0; rc == 0 && i < kept.n; i++) {
        char *value = strchr(kept.item[i], '=');

        if (!value)
            continue;
        *value = '\0';
        if (setenv(kept.item[i], value + 1, 1) < 0)
            rc = -errno;
    }
    strlist_fini(&kept);
    if (rc == 0 && (setenv("HOME", user ? user->pw_dir : "/", 1) < 0 ||
                    (user && (setenv("USER", user->pw_name, 1) < 0 ||
                              setenv("LOGNAME", user->pw_name, 1) < 0))))
        rc = -errno;
    return rc;
}

int run_user_become_owner(const char *folder, struct eddis_error *err)
{
    const struct passwd *user;
    struct stat st;
    int rc;

    if (geteuid() != 0)
        return 0;
    if (stat(folder, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot access '%s'", folder);
    if (st.st_uid == 0)
        return 0;
    user = getpwuid(st.st_uid);
    rc = take_variables(user);
    if (rc == 0 && ((user ? initgroups(user->pw_name, user->pw_gid) : setgroups(0, NULL)) < 0 ||
                    setgid(user ? user->pw_gid : st.st_gid) < 0 || setuid(st.st_uid) < 0))
        rc = -errno;
    return rc < 0 ? eddis_fail_errno(err, rc, "cannot switch to user id %u, the owner of the job",
                                     (unsigned)st.st_uid)
                  : 0;
}
