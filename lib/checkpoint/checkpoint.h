/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - a checkpoint as files, written so that an incomplete one never looks whole
 *
 *     <dir>/step-00000500/           whole: it was renamed to this name when all below was on disk
 *         rank-0000.weights          what a rank put
 *         whatever-else              what the program wrote into the folder itself
 *         dcp/__0_0.distcp           what it wrote into subfolders: large files, never read here
 *         MANIFEST                   step, seed, ...; size and CRC-32 of every file, of those in
 *                                    subfolders the size alone; its own CRC-32
 *     <dir>/step-00000600.g2.part/   one that generation 2 is writing, or left by a crash
 *     <dir>/.generation              who may write here: fence.h
 *
 * Nothing here communicates with other ranks.  The caller ensures this order among them:
 *
 *     rank 0: checkpoint_begin          | barrier | others: checkpoint_join
 *     all:    checkpoint_put ...        |
 *     others: checkpoint_list --------> | gather  | rank 0: checkpoint_add_list
 *     rank 0: checkpoint_commit_take    | tell    | others: checkpoint_abandon_take (frees only)
 *
 * A folder counts as whole if its MANIFEST parses and every file in it has its size and checksum.
 * Files and folders that are not in the MANIFEST are ignored.
 * If the folder is named step-..., that must be the MANIFEST's step.
 */
#ifndef EDDIS_CHECKPOINT_CHECKPOINT_H
#define EDDIS_CHECKPOINT_CHECKPOINT_H

#include "fence.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHECKPOINT_MAX_NAME = 128, /* length of an entry's name, without "rank-0000." */
    CHECKPOINT_MAX_FILES = 65536,
    CHECKPOINT_MAX_MANIFEST = 16 << 20,
};

/* Prefix of the names of the library's own entries; a program's names must not begin with it. */
#define CHECKPOINT_OWN "eddis."

struct checkpoint;

struct checkpoint_meta {
    int64_t step;    /* the next step to do; if samples are listed, the step at which sync mode has
                      * done as many */
    uint64_t seed;   /* seed of the order of samples */
    int64_t samples; /* samples of one epoch */
    int64_t batch;   /* global batch; with the step it gives the position in the epoch */
    int n_ranks;
    int generation;
};

/* ---- writing ---- */

/* Create "<dir>/step-<step>.g<generation>.part", on rank 0 alone; remove what an earlier attempt
 * left there.  *ret is freed by commit or abandon.  Return 0 or a negative errno; -ESTALE, -ENOENT:
 * as fence_check.
 */
int checkpoint_begin(const char *dir, int64_t step, const struct fence *f, struct checkpoint **ret,
                     struct eddis_error *err);

/* Open, on another rank, the ".part" folder that rank 0 of this generation has created.  *ret is
 * freed by commit or abandon.  Return 0 or a negative errno; -ENOENT: this node does not see the
 * folder.
 */
int checkpoint_join(const char *dir, int64_t step, int generation, struct checkpoint **ret,
                    struct eddis_error *err);

/* Borrow the path of the folder; valid until the checkpoint is freed. */
const char *checkpoint_folder(const struct checkpoint *c);

/* Write n bytes as "rank-<rank>.<name>", sync them and add them to the list.  Blocks.  Return 0 or
 * a negative errno; -EINVAL: invalid name; -EEXIST: this name was put before; -ENOENT: the folder
 * was removed.  After a failed write, such as -ENOSPC, file and list are as before.
 */
int checkpoint_put(struct checkpoint *c, int rank, const char *name, const void *data, size_t n,
                   struct eddis_error *err);

/* Check whether an entry of this name is the library's own. */
bool checkpoint_is_own(const char *name);

/* Return the list of what this process has put, as text for rank 0's checkpoint_add_list; the
 * caller frees it.  NULL without memory.
 */
char *checkpoint_list(const struct checkpoint *c);

/* Add another rank's list, n bytes, on rank 0.  Return 0 or a negative errno; -EINVAL: the list is
 * damaged, nothing is added.
 */
int checkpoint_add_list(struct checkpoint *c, const char *text, size_t n, struct eddis_error *err);

/* Complete the checkpoint, on rank 0 alone, and free c in any case.  Files in the folder that are
 * in no list are synced, and read and summed unless they are in a subfolder (-EINVAL: one has the
 * name of a library's entry, or is no file).  Then
 * write the manifest, rename the folder, and remove old checkpoints: of whole ones up to this step
 * the `keep` newest stay, with keep <= 0 all.  An earlier checkpoint of the same step is replaced.
 * Return 0 or a negative errno, after which nothing of it is left, unless only the last sync of its
 * parent folder failed; -ESTALE: a later generation writes here, see fence.h.
 */
int checkpoint_commit_take(struct checkpoint *c, const struct checkpoint_meta *meta, int keep,
                           struct eddis_error *err);

/* Let the commit also remove whole checkpoints of later steps, up to last_step. */
void checkpoint_drop_later(struct checkpoint *c, int64_t last_step);

/* Give up writing: rank 0 removes the folder; all free c, which may be NULL. */
void checkpoint_abandon_take(struct checkpoint *c);

/* ---- reading ---- */

/* Open the newest whole checkpoint in dir, with every checksum compared.  Return 1, or 0 if there
 * is none (also if dir is missing).  passed (may be NULL): error of the newest checkpoint that is
 * not whole or belongs to another user; code 0: none.  -EPERM: the newest one is this user's, but
 * others may write to it.
 */
int checkpoint_open_newest(const char *dir, struct checkpoint **ret, struct eddis_error *passed,
                           struct eddis_error *err);

/* Check whether the folder belongs to neither this user nor root, so that it is not the job's. */
bool checkpoint_is_foreign(const char *path);

/* Open a checkpoint for reading; checkpoint_close frees *ret.  Every file's size is compared; with
 * `sums` also every checksum.  checkpoint_get compares the checksum of what it reads in any case.
 * Return 0 or a negative errno; -ENOENT: there is no folder at path; -EBADMSG: the checkpoint is
 * not whole, err has the reason.
 */
int checkpoint_open(const char *path, bool sums, struct checkpoint **ret, struct eddis_error *err);

/* Return the bytes of all files of the checkpoint, by its manifest. */
int64_t checkpoint_bytes(const struct checkpoint *c);

/* Check whether path is a folder of checkpoints, not a checkpoint itself. */
bool checkpoint_is_collection(const char *path);

/* Close and free a checkpoint opened for reading; c may be NULL. */
void checkpoint_close(struct checkpoint *c);

/* Borrow the checkpoint's step, seed and other data. */
const struct checkpoint_meta *checkpoint_meta(const struct checkpoint *c);

/* Return the bytes that this rank has put under this name, or -ENOENT. */
int64_t checkpoint_size(const struct checkpoint *c, int rank, const char *name);

/* Read what this rank has put under this name to data [n].  Return 0 or a negative errno, and then
 * data is undefined; -ENOENT: the rank has put nothing under it; -EMSGSIZE: the length is not n;
 * -EBADMSG: the file has changed since it was opened.
 */
int checkpoint_get(const struct checkpoint *c, int rank, const char *name, void *data, size_t n,
                   struct eddis_error *err);

#endif
