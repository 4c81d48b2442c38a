/* SPDX-License-Identifier: Apache-2.0 */
/* trust.c - decides by owner, mode and the folders above who can have written a file */
#include "trust.h"

#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { NAME = 64, ENTRY = 16384 };

static const int64_t ALL_USERS = UINT32_MAX; /* but -1, which is nobody's */

bool trust_is_self(uid_t uid)
{
    return uid == geteuid();
}

bool trust_is_user(uid_t uid)
{
    return uid == 0 || trust_is_self(uid);
}

bool trust_is_own(const struct stat *st)
{
    return trust_is_self(st->st_uid) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool trust_is_open(const struct stat *st)
{
    return (st->st_mode & (S_IWGRP | S_IWOTH)) && !(st->st_mode & S_ISVTX);
}

/* ---- user namespaces ---- */

/* Read a short file of the system; "" when it cannot be. */
static void read_system(const char *path, char ret[ENTRY])
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret, ENTRY - 1);

    ret[n > 0 ? n : 0] = '\0';
}

/* How many users this process's namespace knows; all of them where there are no namespaces. */
static int64_t mapped_users(void)
{
    char text[ENTRY];
    int64_t n = 0;

    read_system("/proc/self/uid_map", text);
    if (!*text)
        return ALL_USERS;
    for (char *line = text, *end; *line; line = end) {
        (void)strtoll(line, &end, 10); /* here */
        (void)strtoll(end, &end, 10);  /* outside */
        n += strtoll(end, &end, 10);
        end += strspn(end, " \n");
        if (end == line)
            return ALL_USERS;
    }
    return n;
}

/* Whether it is the number that all users have who are unknown in this namespace, root among them,
 * as in a container of Apptainer or unshare -U.
 */
static bool is_unmapped(uid_t uid)
{
    char text[ENTRY];

    if (mapped_users() >= ALL_USERS)
        return false;
    read_system("/proc/sys/kernel/overflowuid", text);
    return *text && strtoll(text, NULL, 10) == (int64_t)uid;
}

/* ---- names ---- */

static void name_of_user(uid_t uid, char ret[NAME])
{
    struct passwd entry, *found = NULL;
    char text[ENTRY];

    if (getpwuid_r(uid, &entry, text, sizeof text, &found) == 0 && found)
        (void)snprintf(ret, NAME, "user %.32s", found->pw_name);
    else
        (void)snprintf(ret, NAME, "user number %u", (unsigned)uid);
}

static void name_of_group(gid_t gid, char ret[NAME])
{
    struct group entry, *found = NULL;
    char text[ENTRY];

    if (getgrgid_r(gid, &entry, text, sizeof text, &found) == 0 && found)
        (void)snprintf(ret, NAME, "group %.32s", found->gr_name);
    else
        (void)snprintf(ret, NAME, "group number %u", (unsigned)gid);
}

/* Whether the group is this user's alone, as adduser of Debian and others makes one for each. */
static bool is_private_group(gid_t gid)
{
    struct passwd user_entry, *user = NULL;
    struct group group_entry, *group = NULL;
    char user_text[ENTRY], group_text[ENTRY];

    if (getpwuid_r(geteuid(), &user_entry, user_text, sizeof user_text, &user) != 0 || !user ||
        user->pw_gid != gid ||
        getgrgid_r(gid, &group_entry, group_text, sizeof group_text, &group) != 0 || !group ||
        strcmp(group->gr_name, user->pw_name) != 0)
        return false;
    for (char **m = group->gr_mem; *m; m++)
        if (strcmp(*m, user->pw_name) != 0)
            return false;
    return true;
}

/* With one, the group's bits of the mode tell of others, too. */
static bool has_list(const char *path)
{
    return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* ---- what is at a place ---- */

static unsigned mode_of(const struct stat *st)
{
    return st->st_mode & 07777;
}

/* Root runs what is a user's as that user; others can take a copy only. */
static void owner_advice(const char *owner, char *ret, size_t size)
{
    bool named = strncmp(owner, "user number ", 12) != 0;

    if (geteuid() != 0)
        (void)snprintf(ret, size, "if what is in it is right, make it yours by cp -r");
    else
        (void)snprintf(ret, size, "run it as %s%s%s, or, if what is in it is right, chown it",
                       owner, named ? ", by runuser -u " : "", named ? owner + 5 : "");
}

static int refuse_owner(const struct stat *st, const char *path, struct eddis_error *err)
{
    char owner[NAME], self[NAME], advice[3 * NAME];

    name_of_user(st->st_uid, owner);
    name_of_user(geteuid(), self);
    owner_advice(owner, advice, sizeof advice);
    return eddis_fail(err, -EPERM,
                      "'%.200s' is not trusted: it belongs to %s (mode %04o) and this is %s; %s",
                      path, owner, mode_of(st), self, advice);
}

/* Of a mount whose modes are all the same, chmod has no effect; of another's folder it is refused.
 */
static void mode_advice(const struct stat *st, char *ret, size_t size)
{
    if (trust_is_self(st->st_uid) || geteuid() == 0)
        (void)snprintf(
            ret, size,
            "if what is in it is right, chmod %s it, or, where that changes nothing, mount it with "
            "file_mode=0644,dir_mode=0755 (CIFS) or umask=022 (FAT, NTFS)",
            st->st_mode & S_IWGRP && !is_private_group(st->st_gid) ? "go-w" : "o-w");
    else
        (void)snprintf(ret, size, "%s",
                       S_ISDIR(st->st_mode) ? "name a folder of your own in it"
                                            : "if what is in it is right, make it yours by cp -r");
}

static int refuse_mode(const struct stat *st, const char *path, struct eddis_error *err)
{
    char owner[NAME], advice[3 * NAME];

    name_of_user(st->st_uid, owner);
    mode_advice(st, advice, sizeof advice);
    return eddis_fail(err, -EPERM,
                      "'%.200s' is not trusted: all users may write to it (owner %s, mode %04o); "
                      "%s",
                      path, owner, mode_of(st), advice);
}

/* Of a list the group's bits are the mask, and which of its entries may write the mode does not
 * say.
 */
static int warn_group(const struct stat *st, const char *path, struct eddis_error *warning)
{
    char owner[NAME], group[NAME];
    bool list = has_list(path);

    name_of_user(st->st_uid, owner);
    name_of_group(st->st_gid, group);
    (void)eddis_fail(warning, 1,
                     "members of %s%s may write to '%.200s' (owner %s, mode %04o), and so run "
                     "programs in your name; chmod g-w it unless that is meant",
                     group, list ? ", or others whom its access control list names (getfacl)," : "",
                     path, owner, mode_of(st));
    return 1;
}

int trust_stat(const struct stat *st, const char *path, struct eddis_error *warning,
               struct eddis_error *err)
{
    if (!trust_is_user(st->st_uid))
        return refuse_owner(st, path, err);
    if ((st->st_mode & S_IWOTH) && !(S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX))
        return refuse_mode(st, path, err);
    if ((st->st_mode & S_IWGRP) && !(S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX) &&
        (!is_private_group(st->st_gid) || has_list(path)))
        return warn_group(st, path, warning);
    return 0;
}

int trust_fd(int fd, const char *path, struct eddis_error *warning, struct eddis_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot look at '%s'", path);
    return trust_stat(&st, path, warning, err);
}

int trust_private(int fd, const char *path, struct eddis_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot look at '%s'", path);
    if (!S_ISREG(st.st_mode))
        return eddis_fail(err, -EPERM, "'%s' is not a regular file", path);
    if (!trust_is_self(st.st_uid) && geteuid() != 0)
        return refuse_owner(&st, path, err);
    if (st.st_mode & 077)
        return eddis_fail(err, -EPERM,
                          "'%.200s' is not a private file of its user (mode %04o); chmod 600 it",
                          path, mode_of(&st));
    return 0;
}

/* ---- who can replace it ---- */

static int warn_above(const struct stat *st, const char *path, struct eddis_error *warning)
{
    char owner[NAME];
    bool all = st->st_mode & S_IWOTH;

    name_of_user(st->st_uid, owner);
    (void)eddis_fail(warning, 1,
                     "%s may replace what is in '%.200s' (owner %s, mode %04o), and so run "
                     "programs in your name; %s unless that is meant",
                     all ? "all users" : owner, path, owner, mode_of(st),
                     !all ? "choose another folder"
                     : trust_is_self(st->st_uid) || geteuid() == 0
                         ? "chmod o-w it, or mount it with a mode of 0755,"
                         : "choose another folder");
    return 1;
}

/* What another owner of a folder means: with FOR_ANY he is warned of in all of them, with FOR_OWN
 * he is refused in the one that holds it.
 */
enum holder { ABOVE, FOR_ANY, FOR_OWN };

/* A folder above.  Another owner is a colleague or an administrator.  What is put there in the
 * place of the user's own belongs to another; so only at once in the holder it is refused.
 */
static int check_above(const struct stat *st, const char *path, enum holder holder,
                       struct eddis_error *warning, struct eddis_error *err)
{
    bool open = (st->st_mode & S_IWOTH) && !(st->st_mode & S_ISVTX);

    if (open && holder != ABOVE)
        return refuse_mode(st, path, err);
    if (holder == FOR_OWN && !trust_is_user(st->st_uid))
        return refuse_owner(st, path, err);
    if (!trust_is_open(st) && !trust_is_user(st->st_uid) &&
        is_unmapped(st->st_uid)) /* root's, most likely, as / and /home are */
        return 0;
    if (open || !trust_is_user(st->st_uid))
        return warn_above(st, path, warning);
    return trust_stat(st, path, warning, err);
}

/* Cut the last name of an absolute path off. */
static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');

    slash[slash == path] = '\0';
}

/* Check a folder and those above it; `path` is used up. */
static int check_folders(char *path, enum holder holder, struct eddis_error *warning,
                         struct eddis_error *err)
{
    int rc = 0;

    for (;; holder = ABOVE) {
        struct stat st;
        int one;

        if (stat(path, &st) < 0)
            return eddis_fail_errno(err, -errno, "cannot look at '%s'", path);
        one = check_above(&st, path, holder, rc ? NULL : warning, err);
        if (one < 0)
            return one;
        rc = one ? one : rc;
        if (!path[1])
            return rc;
        cut_name(path);
    }
}

int trust_holder(const char *dir, struct eddis_error *warning, struct eddis_error *err)
{
    char full[PATH_MAX];

    if (!realpath(dir, full))
        return eddis_fail_errno(err, -errno, "cannot look at '%s'", dir);
    return check_folders(full, FOR_ANY, warning, err);
}

int trust_file(int fd, const char *path, struct eddis_error *warning, struct eddis_error *err)
{
    char full[PATH_MAX];
    int rc = trust_fd(fd, path, warning, err), above;

    if (rc < 0)
        return rc;
    if (!realpath(path, full))
        return eddis_fail_errno(err, -errno, "cannot look at '%s'", path);
    cut_name(full);
    above = check_folders(full, FOR_OWN, rc ? NULL : warning, err);
    return above ? above : rc;
}

int trust_path(const char *path, struct eddis_error *warning, struct eddis_error *err)
{
    char full[PATH_MAX];
    struct stat st;
    int rc, above;

    if (!realpath(path, full) || stat(full, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot look at '%s'", path);
    rc = trust_stat(&st, path, warning, err);
    if (rc < 0 || !full[1])
        return rc;
    cut_name(full);
    above = check_folders(full, FOR_ANY, rc ? NULL : warning, err);
    return above ? above : rc;
}
