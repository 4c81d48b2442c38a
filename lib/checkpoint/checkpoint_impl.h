/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_impl.h - state and helpers shared by writing and reading checkpoints */
#ifndef EDDIS_CHECKPOINT_CHECKPOINT_IMPL_H
#define EDDIS_CHECKPOINT_CHECKPOINT_IMPL_H

#include "checkpoint.h"
#include "fence.h"
#include "manifest.h"

#include <sys/stat.h>

struct checkpoint {
    char *dir;    /* NULL: open for reading */
    char *folder; /* path of the checkpoint's folder */
    int64_t step;
    bool owner;         /* rank 0 while writing: must remove the folder unless the checkpoint is
                         * committed */
    struct fence fence; /* set if owner */
    int64_t drop_to;    /* the commit removes checkpoints of later steps, up to this step */
    struct manifest m;
};

/* The name of a checkpoint's folder. */
struct checkpoint_name {
    int64_t step;
    int generation; /* generation that writes the checkpoint; 0: the checkpoint is whole */
};

/* List the checkpoints and parts in dir, newest first.  Return their number, 0 if dir is missing;
 * the caller frees *ret.
 */
int checkpoint_names(const char *dir, struct checkpoint_name **ret, struct eddis_error *err);

/* Write "step-00000500" or "step-00000500.g1.part" to ret [48]. */
void checkpoint_name_text(const struct checkpoint_name *n, char *ret);

/* Parse a name that checkpoint_name_text writes; return false if text is another name. */
bool checkpoint_name_parse(const char *text, struct checkpoint_name *ret);

/* Write the file name of an entry to ret [MANIFEST_MAX_FILE + 1]; return false if the entry's name
 * is invalid.
 */
bool checkpoint_file_name(int rank, const char *name, char *ret);

/* Store name, size and checksum of a regular file in a folder in *ret.  sync: also sync it to disk.
 * Return 0 or a negative errno; -EPERM: other users may write to the file; -EINVAL: it is not a
 * regular one.
 */
int checkpoint_sum(const char *folder, const char *name, bool sync, struct manifest_file *ret,
                   struct eddis_error *err);

/* Check that every listed file exists with its length (-ENOENT, -EINVAL if not), and add every
 * other file in the folder, which the program itself wrote: synced, and summed unless it is in a
 * subfolder.  Return 0 or a negative errno; -EINVAL also: such a file has a name that cannot be
 * used, or is no file.
 */
int checkpoint_take_stock(struct checkpoint *c, struct eddis_error *err);

/* Take from all other users the right to write to an open file or folder that the program made with
 * its umask.  Return 0, or -EPERM: it is not this user's, or others may still write to it.
 */
int checkpoint_make_own(int fd, struct stat *st, const char *path, struct eddis_error *err);

/* Read and parse the folder's manifest; compare its step with the folder's name, and every file's
 * size, with `sums` also its checksum.  The caller calls manifest_fini on *ret.  -ENOENT: no such
 * folder; -EBADMSG: not whole.
 */
int checkpoint_check(const char *folder, bool sums, struct manifest *ret, struct eddis_error *err);

#endif
