/* SPDX-License-Identifier: Apache-2.0 */
/* trust.h - decides whether another user can have written, or can replace, a file or a folder
 *
 * Trusted is what belongs to this process's user or to root and is not writable by all.  A group
 * may write when it is the user's private one, as umask 002 of Debian means it: of the user's name,
 * the user's own, without another member.  Another group, or an access control list, is trusted
 * too, but warned of.  The folder that holds it may not be writable by all, unless it is sticky, as
 * /tmp is; there and above, whoever else can replace it is warned of: what he puts in its place
 * belongs to him, and is refused itself.  Where a user namespace hides who owns a folder above, as
 * it hides root, nobody is warned of.
 *
 * Functions return 0, or 1 with the sentence of the warning in *warning, which may be NULL, or
 * -EPERM with a sentence that names owner, mode and what mends it.
 */
#ifndef EDDIS_BASE_TRUST_H
#define EDDIS_BASE_TRUST_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Modes of what eddis makes for the user to share: less what umask takes away. */
#define TRUST_DIR_MODE  0775
#define TRUST_FILE_MODE 0664

/* Return whether it is this process's user. */
bool trust_is_self(uid_t uid);

/* Return whether it is this process's user, or root. */
bool trust_is_user(uid_t uid);

/* Return whether this process's user owns it and nobody else may write to it. */
bool trust_is_own(const struct stat *st);

/* Return whether others may replace what is in this folder. */
bool trust_is_open(const struct stat *st);

/* Check a file or folder by its state; the path is for sentences. */
int trust_stat(const struct stat *st, const char *path, struct eddis_error *warning,
               struct eddis_error *err);

/* Check an open file or folder itself. */
int trust_fd(int fd, const char *path, struct eddis_error *warning, struct eddis_error *err);

/* Check that an open file is a regular one that nobody else may even read.  Root believes those of
 * any user.
 */
int trust_private(int fd, const char *path, struct eddis_error *err);

/* Check a folder by who can replace what is in it, and those above it; links are resolved. */
int trust_holder(const char *dir, struct eddis_error *warning, struct eddis_error *err);

/* Check an open file itself, then the folder that the path finds it in, which may not belong to
 * another user, as one that is above it may.
 */
int trust_file(int fd, const char *path, struct eddis_error *warning, struct eddis_error *err);

/* Check what is at a path itself, then the folder that holds it as trust_holder does. */
int trust_path(const char *path, struct eddis_error *warning, struct eddis_error *err);

#endif
