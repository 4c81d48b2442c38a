/* SPDX-License-Identifier: Apache-2.0 */
/* run_user.c - takes on the user, groups and variables of a folder's owner */
#include "run_user.h"

#include "lib/base/strlist.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Check whether an environment variable ("NAME=VALUE") may be kept, since it reveals nothing about
 * root.
 */
static bool is_kept(const char *variable)
{
    static const char *const kept[] = { "PATH=", "LANG=", "LC_", "TERM=", "TMPDIR=", "SLURM" };

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
            return true;
    return false;
}

/* Remove root's environment variables and set HOME, USER and LOGNAME for the user: the user can
 * inspect programs started from now on. user NULL: unknown user, HOME is "/". The new environment
 * is never freed. Return 0, or -ENOMEM: the environment is unchanged.
 */
static int take_variables(const struct passwd *user)
{
    struct strlist kept = { 0 };

    for (char **v = environ; v && *v; v++)
        if (is_kept(*v))
            strlist_addf(&kept, "%s", *v);
    strlist_set(&kept, "HOME", user ? user->pw_dir : "/");
    if (user) {
        strlist_set(&kept, "USER", user->pw_name);
        strlist_set(&kept, "LOGNAME", user->pw_name);
    }
    if (kept.failed) {
        strlist_fini(&kept);
        return -ENOMEM;
    }
    environ = kept.item;
    return 0;
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
