/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_impl.h - what writing and reading checkpoints share */
#ifndef EDDIS_CHECKPOINT_CHECKPOINT_IMPL_H
#define EDDIS_CHECKPOINT_CHECKPOINT_IMPL_H

#include "checkpoint.h"
#include "fence.h"
#include "manifest.h"

struct checkpoint {
    char *dir;    /* NULL: open for reading */
    char *folder; /* the checkpoint's own */
    int64_t step;
    bool owner;         /* rank 0 while writing: removes the folder unless it is committed */
    struct fence fence; /* the owner's */
    int64_t drop_to;    /* later steps up to this one are removed by the commit */
    struct manifest m;
};

/* A folder's entries that are called as checkpoints are, newest first. */
struct checkpoint_name {
    int64_t step;
    int generation; /* that writes it; 0: whole */
};

/* Returns their number and an array that the caller frees; 0 when dir is missing. */
int checkpoint_names(const char *dir, struct checkpoint_name **ret, struct eddis_error *err);

/* Write "step-00000500" or "step-00000500.g1.part" to ret [48]. */
void checkpoint_name_text(const struct checkpoint_name *n, char *ret);

/* Parse such a name; false: it is another. */
bool checkpoint_name_parse(const char *text, struct checkpoint_name *ret);

/* Write the name of the file of an entry to ret [MANIFEST_MAX_FILE + 1]; false: the name cannot
 * be one.
 */
bool checkpoint_file_name(int rank, const char *name, char *ret);

/* Size and sum of a regular file in a folder; sync: and see that it is on disk. */
int checkpoint_sum(const char *folder, const char *name, bool sync, struct manifest_file *ret,
                   struct eddis_error *err);

/* Read and parse the folder's manifest, and compare its step with the folder's name and every
 * file's size; with sums also the checksums.  -ENOENT: no such folder; -EBADMSG: not whole.
 */
int checkpoint_check(const char *folder, bool sums, struct manifest *ret, struct eddis_error *err);

#endif
