/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - whole files and folders: read with a size limit, replace atomically, remove a tree */
#ifndef EDDIS_BASE_FILE_H
#define EDDIS_BASE_FILE_H

#include "error.h"

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Open a regular file of at most max bytes for reading; *ret_size (may be NULL) is its size.  Never
 * blocks on a FIFO.  Return its descriptor or a negative errno value, as file_read does.
 */
int file_open_regular(const char *path, size_t max, off_t *ret_size, struct eddis_error *err);

/* Read a regular file of at most max bytes into *ret, which the caller frees.  A 0 byte follows the
 * text and is not counted in *ret_n, which may be NULL.  Return 0 or a negative errno, and then
 * nothing is to be freed; -EFBIG: longer than max; -EISDIR: a folder; -EINVAL: another kind than a
 * regular file; -ENOENT.
 */
int file_read(const char *path, size_t max, char **ret, size_t *ret_n, struct eddis_error *err);

/* Read a file as file_read does, if trust_file (trust.h) accepts it: for files that decide what is
 * executed.  *warning (may be NULL) is set if a group or others may write to the file or replace
 * it.  -EPERM: the file is not trusted.
 */
int file_read_trusted(const char *path, size_t max, struct eddis_error *warning, char **ret,
                      size_t *ret_n, struct eddis_error *err);

/* Read fd to its end, at most max bytes; `name` is for errors.  Blocks.  Return 0 or a negative
 * errno, with *ret and *ret_n, as file_read does.
 */
int file_read_fd(int fd, const char *name, size_t max, char **ret, size_t *ret_n,
                 struct eddis_error *err);

/* Replace the file by these n bytes: write and sync a new file, then give it this name.  A reader
 * sees the old file or the new one, never a part.  Return 0 or a negative errno; after a failure
 * the old file is unchanged and the new one removed.
 *
 * The new file has no name until it is complete, where the file system allows that.  Else, or for
 * the moment in which it replaces another file, its name is "FILE.PID.part".  If the process is
 * killed then, the next call for the same file that comes LEFT_S later removes it (left.h).
 */
int file_write_atomic(const char *path, const void *data, size_t n, mode_t mode,
                      struct eddis_error *err);

/* Remove the parts that killed calls of file_write_atomic have left in the folder dir, of any file
 * and age: no process writes there now.
 */
void file_remove_parts(const char *dir);

/* Open a new file for writing that has no name in the folder dir, and so ends with its last
 * descriptor.  Return its descriptor or a negative errno: the file system may have no such files.
 */
int file_open_unnamed(const char *dir, mode_t mode);

/* Check that this user can make a file in the folder dir, by making one for a moment.  *ret (may be
 * NULL): the state that the file system gave it.  A kill leaves nothing, or, where files need
 * names, ".eddis-XXXXXX", which a later call removes (left.h).  Return 0 or a negative errno.
 */
int file_try_folder(const char *dir, struct stat *ret);

/* Check whether file_write_atomic could replace the file, by making one beside it for a moment.
 * Return 0 or the error that it would meet.
 */
int file_try(const char *path, struct eddis_error *err);

/* Return the remedy for a write that failed for lack of space: "free space there", or, if code is
 * -EFBIG, to raise the limit of a file's size.
 */
const char *file_room_advice(int code);

/* Open a log to append; create it with this mode if missing.  Never blocks on a FIFO.  Return its
 * descriptor.  -EPERM: the log existed, and another user owns it or all users may write to it;
 * -EINVAL: it is not a regular file.
 */
int file_open_append(const char *path, mode_t mode, struct eddis_error *err);

/* Append n bytes to the file; open it as file_open_append does.  For a single writer.  Return 0
 * or a negative errno; the file is then cut to its length before.
 */
int file_append(const char *path, const void *data, size_t n, mode_t mode, struct eddis_error *err);

/* Write `line` at the end of the file.  If the line cannot be appended because the disk is full,
 * overwrite the file's last bytes with it.  Return 0, or the failure of file_append if neither is
 * possible.
 */
int file_mark_end(const char *path, const char *line, struct eddis_error *err);

/* Return the folder for cached measurements, which can be repeated: $XDG_CACHE_HOME/eddis or
 * ~/.cache/eddis.  The caller frees the text.  NULL if this user has no home folder, or without
 * memory.
 */
char *file_cache_dir(void);

/* Write these n bytes to a new file, mode 0600.  Return 0 or a negative errno; after a failed write
 * a part of the file remains.  -EEXIST: there is such a file or link.
 */
int file_write_new(const char *path, const void *data, size_t n, struct eddis_error *err);

/* Write all n bytes to fd; continue after short writes and interrupts.  Blocks.  Return 0 or a
 * negative errno; a part of the bytes may then have been written.
 */
int file_write_all(int fd, const void *data, size_t n, struct eddis_error *err);

/* Create the folder and its missing parents with this mode.  Existing folders stay as they are.
 * Return 0 or a negative errno; folders created before a failure remain.
 */
int file_mkdirs(const char *path, mode_t mode, struct eddis_error *err);

/* Return the length of the longest leading part of the path that exists; strlen(path) if all of it
 * does.
 */
size_t file_there(const char *path);

/* Remove the folder and its parents whose paths are longer than `kept` bytes, up to the first that
 * is not empty.  With the result of an earlier file_there, this undoes file_mkdirs.
 */
void file_rmdirs(const char *path, size_t kept);

/* Remove a folder and everything in it, without following links.  Return 0, also if there is no
 * such folder, or a negative errno; a part may then have been removed.
 */
int file_remove_tree(const char *path, struct eddis_error *err);

/* Remove a folder as file_remove_tree does, and its entry `last` (NULL: none) after all others,
 * which are gone when it goes.  After a failure to remove another entry, `last` is still there.
 */
int file_remove_tree_last(const char *path, const char *last, struct eddis_error *err);

/* Remove everything in a folder, without following links, and keep the folder, which must exist.
 * Return 0 or a negative errno; a part may then have been removed.
 */
int file_remove_inside(const char *path, struct eddis_error *err);

/* fsync a folder, so that a rename in it survives a power failure.  Return 0, also if the file
 * system cannot sync folders, or a negative errno.
 */
int file_sync_dir(const char *path, struct eddis_error *err);

/* Return "<dir>/<fmt...>" for the caller to free; NULL without memory. */
char *file_join(const char *dir, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
