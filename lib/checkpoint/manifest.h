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
 *     files 2
 *     9ae0daaf 40960 rank-0000.weights        CRC-32, bytes, name; by name
 *     00000000 0 rank-0001.weights
 *     end 5d41402a                            CRC-32 of all bytes before this line
 *
 * There is one way to write each manifest and the parser takes no other: any lost, added or
 * flipped byte is noticed.  Pure: no files here.
 */
#ifndef EDDIS_CHECKPOINT_MANIFEST_H
#define EDDIS_CHECKPOINT_MANIFEST_H

#include "checkpoint.h"

#define MANIFEST_NAME "MANIFEST"

enum { MANIFEST_MAX_FILE = 255 }; /* length of a file's name */

struct manifest_file {
    char name[MANIFEST_MAX_FILE + 1];
    int64_t bytes;
    uint32_t crc;
};

/* Zero-initialised is empty. */
struct manifest {
    struct checkpoint_meta meta;
    struct manifest_file *file; /* [n] */
    size_t n, room;
};

void manifest_fini(struct manifest *m);

/* Whether a file of this name may be in a checkpoint: letters, digits, '.', '_', '-', and neither
 * ".", ".." nor the manifest's own.
 */
bool manifest_is_name(const char *name);

int manifest_add(struct manifest *m, const char *name, int64_t bytes, uint32_t crc,
                 struct eddis_error *err);

/* Put the files in the order of their names; -EEXIST: err tells a name that comes twice. */
int manifest_sort(struct manifest *m, struct eddis_error *err);

/* Borrows the file of this name from a sorted manifest, or NULL. */
const struct manifest_file *manifest_find(const struct manifest *m, const char *name);

/* Returns the whole text of a sorted manifest, or its lines of files only; NULL without memory. */
char *manifest_text(const struct manifest *m);
char *manifest_list_text(const struct manifest *m);

/* Parse what manifest_text wrote; the result is sorted.  -EBADMSG: it is anything else. */
int manifest_parse(const char *text, size_t n, struct manifest *ret, struct eddis_error *err);

/* Append the files of what manifest_list_text wrote.  -EINVAL: it is anything else. */
int manifest_parse_list(const char *text, size_t n, struct manifest *m, struct eddis_error *err);

#endif
