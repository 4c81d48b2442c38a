/* SPDX-License-Identifier: Apache-2.0 */
/* trust.h - decide whether another user may have written, or can replace, a file or folder
 *
 * A file is trusted if it belongs to this process's user or root and is not writable by all.  A
 * group may write if it is the user's private group: his primary group, of his name, without
 * another member (Debian's umask 002 relies on it).  Another group, or an access control list, is
 * trusted with a warning.
 *
 * The folder that holds the file must not be writable by all, unless it is sticky like /tmp.  For
 * this folder and its parents, a warning names whoever else can replace their contents: a file that
 * he puts there belongs to him and is rejected itself.  If a user namespace hides the owner of a
 * parent folder, as it hides root, there is no warning.
 *
 * Functions return 0; 1 with a warning in *warning, which may be NULL; or -EPERM with a message
 * that names owner, mode and remedy.
 */
#ifndef EDDIS_BASE_TRUST_H
#define EDDIS_BASE_TRUST_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Modes of files that eddis creates for the user to share, before umask */
#define TRUST_DIR_MODE  0775
#define TRUST_FILE_MODE 0664

/* Check whether uid is this process's effective user. */
bool trust_is_self(uid_t uid);

/* Check whether uid is this process's effective user or root. */
bool trust_is_user(uid_t uid);

/* Check whether this process's user owns the file and nobody else may write to it. */
bool trust_is_own(const struct stat *st);

/* Check whether others may replace the contents of this folder: writable by group or all, and not
 * sticky.
 */
bool trust_is_open(const struct stat *st);

/* Check a file or folder by its stat; `path` is for messages and the access control list.  Return
 * 0; 1: others may write to the file (*warning); -EPERM: the file is not trusted.
 */
int trust_stat(const struct stat *st, const char *path, struct eddis_error *warning,
               struct eddis_error *err);

/* Check an open file or folder as trust_stat does, without its parents.  Return the same. */
int trust_fd(int fd, const char *path, struct eddis_error *warning, struct eddis_error *err);

/* Check that an open file is regular, owned by this user, and not readable or writable by others.
 * Root accepts any owner.  Return 0 or -EPERM.
 */
int trust_private(int fd, const char *path, struct eddis_error *err);

/* Check that others cannot replace what is in a folder, by the folder itself and its parents; links
 * are resolved.  Return 0; 1: some users can replace it (*warning); -EPERM: all users may write to
 * the folder.
 */
int trust_holder(const char *dir, struct eddis_error *warning, struct eddis_error *err);

/* Check an open file itself, then the folder of `path` and its parents.  Return 0; 1 with *warning;
 * -EPERM; or another negative errno.  That folder must not belong to another user (-EPERM); a
 * parent may, with a warning (1).
 */
int trust_file(int fd, const char *path, struct eddis_error *warning, struct eddis_error *err);

/* Check the file or folder at a path as trust_stat does, then its parents as trust_holder does.
 * Return 0; 1 with *warning; or a negative errno, -EPERM: not trusted.
 */
int trust_path(const char *path, struct eddis_error *warning, struct eddis_error *err);

#endif
