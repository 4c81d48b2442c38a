/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - whole files and folders: read with a limit, replace atomically, remove a tree */
#ifndef EDDIS_BASE_FILE_H
#define EDDIS_BASE_FILE_H

#include "error.h"

#include <stddef.h>
#include <sys/types.h>

/* Read a regular file of at most max bytes.  Returns its text, followed by a 0 byte that *ret_n
 * (may be NULL) does not count.  -EFBIG: longer than max; -EINVAL: not a regular file; -ENOENT.
 */
int file_read(const char *path, size_t max, char **ret, size_t *ret_n, struct eddis_error *err);

/* As file_read, of a file that steers what is run: what is opened is checked itself, then the
 * folder that holds it, as trust_file (trust.h) does.  warning, which may be NULL, is written when
 * others may write to it; -EPERM: they may, and are not trusted.
 */
int file_read_trusted(const char *path, size_t max, struct eddis_error *warning, char **ret,
                      size_t *ret_n, struct eddis_error *err);

/* Read fd to its end, at most max bytes.  Blocks.  Result as file_read. */
int file_read_fd(int fd, const char *name, size_t max, char **ret, size_t *ret_n,
                 struct eddis_error *err);

/* Replace the file by these n bytes: written beside it, synced, renamed.  A reader sees the old
 * file or the new one, never a part.
 */
int file_write_atomic(const char *path, const void *data, size_t n, mode_t mode,
                      struct eddis_error *err);

/* Whether file_write_atomic could write here: a file is made beside it and removed. */
int file_try(const char *path, struct eddis_error *err);

/* Return what is to be done where a write failed by this code, negative errno: "free space there",
 * or for -EFBIG that the limit is to be raised.
 */
const char *file_room_advice(int code);

/* Open a log to append, made with this mode when missing.  -EPERM: others may write to it, or have
 * put it there; not of one that this call makes.  Never blocks for a FIFO.
 */
int file_open_append(const char *path, mode_t mode, struct eddis_error *err);

/* Append n bytes in one write, or none of them; the file is made when missing.  For one writer. */
int file_append(const char *path, const void *data, size_t n, mode_t mode, struct eddis_error *err);

/* Put a line at the file's end: on a full disk, where it cannot be appended, over the last bytes.
 */
int file_mark_end(const char *path, const char *line, struct eddis_error *err);

/* Returns the folder in which eddis keeps what it can measure again, $XDG_CACHE_HOME/eddis or
 * ~/.cache/eddis; NULL when this user has none, or without memory.
 */
char *file_cache_dir(void);

/* Write all n bytes to fd, going on after short writes and interrupts.  Blocks. */
int file_write_all(int fd, const void *data, size_t n, struct eddis_error *err);

/* Make the folder and those above it with this mode; those that are there stay as they are. */
int file_mkdirs(const char *path, mode_t mode, struct eddis_error *err);

/* How many bytes at the path's beginning name what is there; all of them: so does the path. */
size_t file_there(const char *path);

/* Remove the folder and those above it that are longer than `kept` bytes, as far as they are empty:
 * with file_there before, what file_mkdirs has made.
 */
void file_rmdirs(const char *path, size_t kept);

/* Remove a folder and all in it, never following a link.  A missing folder is success. */
int file_remove_tree(const char *path, struct eddis_error *err);

/* Likewise, but leave the folder, which must be there. */
int file_remove_inside(const char *path, struct eddis_error *err);

/* fsync a folder, so that a rename inside it survives a power cut. */
int file_sync_dir(const char *path, struct eddis_error *err);

/* Returns "<dir>/<fmt...>", or NULL without memory. */
char *file_join(const char *dir, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
