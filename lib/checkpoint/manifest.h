/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - the text that makes a folder of files a checkpoint
 *
 *     eddis checkpoint 1
 *     step 500
 *     seed 42
 *     samples 1437
 *     batch 256
 *     ranks 4
 *     generation 1
 *     files 3
 *     -------- 81920 dcp/__0_0.distcp         a file in a subfolder has no checksum
 *     9ae0daaf 40960 rank-0000.weights        CRC-32, bytes, name; by name
 *     00000000 0 rank-0001.weights
 *     end 5d41402a                            CRC-32 of all bytes before this line
 *
 * Each manifest has exactly one spelling, and the parser accepts no other, so any lost, added or
 * changed byte is noticed.  No files are accessed here.
 */
#ifndef EDDIS_CHECKPOINT_MANIFEST_H
#define EDDIS_CHECKPOINT_MANIFEST_H

#include "checkpoint.h"

#define MANIFEST_NAME "MANIFEST"

enum {
    MANIFEST_MAX_FILE = 255, /* length of a file's name, with its subfolders */
    MANIFEST_MAX_DEPTH = 8,  /* subfolders in it */
};

struct manifest_file {
    char name[MANIFEST_MAX_FILE + 1];
    int64_t bytes;
    uint32_t crc; /* 0 if manifest_is_sized */
};

/* A manifest; initialize it with zeros for an empty one. */
struct manifest {
    struct checkpoint_meta meta;
    struct manifest_file *file; /* [n], with memory for `room` */
    size_t n, room;
};

/* Free the list of files and reset the manifest. */
void manifest_fini(struct manifest *m);

/* Check whether a file of this name may be in a checkpoint.  A name has letters, digits, '.', '_'
 * and
 * '-', and is not ".", ".." or the manifest's own name; names of subfolders and '/' may be before
 * it.
 */
bool manifest_is_name(const char *name);

/* Check whether a file is listed by its size alone: one in a subfolder. */
bool manifest_is_sized(const char *name);

/* Append a file.  Return 0, -EINVAL: there are too many, or -ENOMEM; m is then unchanged. */
int manifest_add(struct manifest *m, const char *name, int64_t bytes, uint32_t crc,
                 struct eddis_error *err);

/* Sort the files by name.  Return 0 or -EEXIST: err has a name that occurs twice. */
int manifest_sort(struct manifest *m, struct eddis_error *err);

/* Borrow the file of this name from a sorted manifest; NULL: none. */
const struct manifest_file *manifest_find(const struct manifest *m, const char *name);

/* Return the whole text of a sorted manifest, which the caller frees; NULL without memory. */
char *manifest_text(const struct manifest *m);

/* Return only the lines of the files, which the caller frees; NULL without memory. */
char *manifest_list_text(const struct manifest *m);

/* Parse the output of manifest_text; *ret is sorted, and the caller calls manifest_fini on it.
 * Return 0 or a negative errno, and then *ret is unchanged; -EBADMSG: the text is anything else.
 */
int manifest_parse(const char *text, size_t n, struct manifest *ret, struct eddis_error *err);

/* Append the files in the output of manifest_list_text.  Return 0 or a negative errno, and then m
 * is unchanged; -EINVAL: the text is anything else.
 */
int manifest_parse_list(const char *text, size_t n, struct manifest *m, struct eddis_error *err);

#endif
