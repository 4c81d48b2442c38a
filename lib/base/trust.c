/* SPDX-License-Identifier: Apache-2.0 */
/* trust.c - decide by owner, mode and parent folders who may have written a file */
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

enum { NAME = 64, ENTRY = 16384 }; /* sizes: of a user's or group's name; of a file's text */

static const int64_t ALL_USERS = UINT32_MAX; /* number of user ids, without the invalid id -1 */

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

/* Read the file `path` of /proc into ret as text, cut off at ENTRY - 1 bytes.  Store "" if it
 * cannot be read.
 */
static void read_system(const char *path, char ret[ENTRY])
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret, ENTRY - 1);

    ret[n > 0 ? n : 0] = '\0';
}

/* Return the number of user ids that this process's user namespace maps; ALL_USERS if the kernel
 * has no namespaces.
 */
static int64_t mapped_users(void)
{
    char text[ENTRY];
    int64_t n = 0;

    read_system("/proc/self/uid_map", text);
    if (!*text)
        return ALL_USERS;
    for (char *line = text, *end; *line; line = end) {
        (void)strtoll(line, &end, 10); /* first id in the namespace */
        (void)strtoll(end, &end, 10);  /* first id in the parent namespace */
        n += strtoll(end, &end, 10);
        end += strspn(end, " \n");
        if (end == line)
            return ALL_USERS;
    }
    return n;
}

/* Check whether uid is the overflow id, which stands for all users that this process's user
 * namespace does not map, as root in a container of Apptainer or unshare -U.  False if the
 * namespace maps all users.
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

/* Write "user NAME" to ret, or "user number UID" if the user has no name. */
static void name_of_user(uid_t uid, char ret[NAME])
{
    struct passwd entry, *found = NULL;
    char text[ENTRY];

    if (getpwuid_r(uid, &entry, text, sizeof text, &found) == 0 && found)
        (void)snprintf(ret, NAME, "user %.32s", found->pw_name);
    else
        (void)snprintf(ret, NAME, "user number %u", (unsigned)uid);
}

/* Write "group NAME" to ret, or "group number GID" if the group has no name. */
static void name_of_group(gid_t gid, char ret[NAME])
{
    struct group entry, *found = NULL;
    char text[ENTRY];

    if (getgrgid_r(gid, &entry, text, sizeof text, &found) == 0 && found)
        (void)snprintf(ret, NAME, "group %.32s", found->gr_name);
    else
        (void)snprintf(ret, NAME, "group number %u", (unsigned)gid);
}

/* Check whether the group belongs to this process's user alone: it is the user's primary group, has
 * the user's name and no other members.  Debian's adduser makes such a group for each user.
 */
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

/* Check whether the file `path` has an access control list, so that the group bits of its mode are
 * the list's mask.
 */
static bool has_list(const char *path)
{
    return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* ---- checks of one file or folder ---- */

/* Return the permission bits of a file's mode. */
static unsigned mode_of(const struct stat *st)
{
    return st->st_mode & 07777;
}

/* Write to ret [size] the remedy for a file that belongs to `owner`, a text of name_of_user: root
 * can run eddis as that user or chown the file; other users can only copy it.
 */
static void owner_advice(const char *owner, char *ret, size_t size)
{
    bool named = strncmp(owner, "user number ", 12) != 0;

    if (geteuid() != 0)
        (void)snprintf(ret, size, "if its contents are right, make a copy of your own with cp -r");
    else
        (void)snprintf(ret, size, "run eddis as %s%s%s, or, if its contents are right, chown it",
                       owner, named ? ", by runuser -u " : "", named ? owner + 5 : "");
}

/* Return -EPERM with the message that `path` belongs to another user; it names owner, mode, this
 * user and the remedy.
 */
static int refuse_owner(const struct stat *st, const char *path, struct eddis_error *err)
{
    char owner[NAME], self[NAME], advice[3 * NAME];

    name_of_user(st->st_uid, owner);
    name_of_user(geteuid(), self);
    owner_advice(owner, advice, sizeof advice);
    return eddis_fail(
        err, -EPERM,
        "'%.200s' is not trusted: it belongs to %s (mode %04o) and this process runs as %s; %s",
        path, owner, mode_of(st), self, advice);
}

/* Write to ret [size] the remedy for a file or folder that all users may write to: chmod, or on
 * mounts with one mode for all files a mount option; on another user's file a copy or an own
 * folder.
 */
static void mode_advice(const struct stat *st, char *ret, size_t size)
{
    if (trust_is_self(st->st_uid) || geteuid() == 0)
        (void)snprintf(
            ret, size,
            "if its contents are right, chmod %s it, or, if that changes nothing, mount it with "
            "file_mode=0644,dir_mode=0755 (CIFS) or umask=022 (FAT, NTFS)",
            st->st_mode & S_IWGRP && !is_private_group(st->st_gid) ? "go-w" : "o-w");
    else
        (void)snprintf(ret, size, "%s",
                       S_ISDIR(st->st_mode)
                           ? "name a folder of your own in it"
                           : "if its contents are right, make a copy of your own with cp -r");
}

/* Return -EPERM with the message that all users may write to `path`, and the remedy. */
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

/* Return 1 with the warning that a group may write to `path`.  If `path` has an access control
 * list, the warning also mentions the list: the group bits are its mask and do not show who may
 * write.
 */
static int warn_group(const struct stat *st, const char *path, struct eddis_error *warning)
{
    char owner[NAME], group[NAME];
    bool list = has_list(path);

    name_of_user(st->st_uid, owner);
    name_of_group(st->st_gid, group);
    (void)eddis_fail(warning, 1,
                     "members of %s%s may write to '%.200s' (owner %s, mode %04o), and so run "
                     "programs in your name; chmod g-w it unless this is intended",
                     group, list ? ", or others that its access control list names (getfacl)," : "",
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
        return eddis_fail_errno(err, -errno, "cannot stat '%s'", path);
    return trust_stat(&st, path, warning, err);
}

int trust_private(int fd, const char *path, struct eddis_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot stat '%s'", path);
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

/* ---- checks of the folders above a file ---- */

/* Return 1 with the warning that all users, or its owner, may replace the contents of folder
 * `path`.
 */
static int warn_above(const struct stat *st, const char *path, struct eddis_error *warning)
{
    char owner[NAME];
    bool all = st->st_mode & S_IWOTH;

    name_of_user(st->st_uid, owner);
    (void)eddis_fail(warning, 1,
                     "%s may replace the contents of '%.200s' (owner %s, mode %04o), and so run "
                     "programs in your name; %s unless this is intended",
                     all ? "all users" : owner, path, owner, mode_of(st),
                     !all ? "choose another folder"
                     : trust_is_self(st->st_uid) || geteuid() == 0
                         ? "chmod o-w it, or mount it with a mode of 0755,"
                         : "choose another folder");
    return 1;
}

/* The role of a checked folder.  FOR_ANY: it directly contains the checked path, and another owner
 * gives a warning.  FOR_OWN: it directly contains the checked file, and another owner is an error.
 * ABOVE: it is a parent of one of these.
 */
enum holder { ABOVE, FOR_ANY, FOR_OWN };

/* Check a folder above a path.  Return 0, 1 with a warning, or -EPERM with an error.  Another
 * owner, who may be a colleague or administrator, gives a warning, for FOR_OWN an error: a file
 * that this owner puts in place of the user's file has the wrong owner and is rejected itself.  A
 * folder that all users may write to, without the sticky bit, is an error, for ABOVE a warning.
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
        is_unmapped(st->st_uid)) /* the owner is most likely root, as of / and /home */
        return 0;
    if (open || !trust_is_user(st->st_uid))
        return warn_above(st, path, warning);
    return trust_stat(st, path, warning, err);
}

/* Cut the last name off an absolute path, in place; "/" remains of a path of one name. */
static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');

    slash[slash == path] = '\0';
}

/* Check a folder, in the role `holder`, and all its parents.  Return 0, 1 with the first warning,
 * or a negative errno value.  `path`, which is absolute, is cut down to "/".
 */
static int check_folders(char *path, enum holder holder, struct eddis_error *warning,
                         struct eddis_error *err)
{
    int rc = 0;

    for (;; holder = ABOVE) {
        struct stat st;
        int one;

        if (stat(path, &st) < 0)
            return eddis_fail_errno(err, -errno, "cannot stat '%s'", path);
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
        return eddis_fail_errno(err, -errno, "cannot stat '%s'", dir);
    return check_folders(full, FOR_ANY, warning, err);
}

int trust_file(int fd, const char *path, struct eddis_error *warning, struct eddis_error *err)
{
    char full[PATH_MAX];
    int rc = trust_fd(fd, path, warning, err), above;

    if (rc < 0)
        return rc;
    if (!realpath(path, full))
        return eddis_fail_errno(err, -errno, "cannot stat '%s'", path);
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
        return eddis_fail_errno(err, -errno, "cannot stat '%s'", path);
    rc = trust_stat(&st, path, warning, err);
    if (rc < 0 || !full[1])
        return rc;
    cut_name(full);
    above = check_folders(full, FOR_ANY, rc ? NULL : warning, err);
    return above ? above : rc;
}
