/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - a checkpoint as files: written so that a part of one never looks whole
 *
 *     <dir>/step-00000500/           whole: it was renamed to this name when all below was on disk
 *         rank-0000.weights          what a rank put
 *         whatever-else              what the program wrote into the folder itself
 *         MANIFEST                   step, seed, ...; size and CRC-32 of every file; its own CRC-32
 *     <dir>/step-00000600.g2.part/   one that generation 2 is writing, or left by a crash
 *     <dir>/.generation              who may write here: fence.h
 *
 * Nothing here talks to other ranks.  The order among them is the caller's:
 *
 *     rank 0: checkpoint_begin          | barrier | others: checkpoint_join
 *     all:    checkpoint_put ...        |
 *     others: checkpoint_list --------> | gather  | rank 0: checkpoint_add_list
 *     rank 0: checkpoint_commit_take    | tell    | others: checkpoint_abandon_take (frees only)
 *
 * A folder is taken for whole when its MANIFEST parses, is the one of this step (a folder named
 * step-... must bear its own number) and every file in it has its size and checksum.
 */
#ifndef EDDIS_CHECKPOINT_CHECKPOINT_H
#define EDDIS_CHECKPOINT_CHECKPOINT_H

#include "fence.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHECKPOINT_MAX_NAME = 128, /* of an entry, without "rank-0000." */
    CHECKPOINT_MAX_FILES = 65536,
    CHECKPOINT_MAX_MANIFEST = 16 << 20,
};

/* How the names of entries begin that the library itself makes; a program's do not. */
#define CHECKPOINT_OWN "eddis."

struct checkpoint;

struct checkpoint_meta {
    int64_t step;    /* the next one to be done; of listed samples that of sync mode */
    uint64_t seed;   /* of the order of samples */
    int64_t samples; /* of one epoch */
    int64_t batch;   /* of all ranks: with it the step tells the position in the epoch */
    int n_ranks;
    int generation;
};

/* ---- writing ---- */

/* Make "<dir>/step-<step>.g<generation>.part"; what is left there of an earlier attempt is removed.
 * Rank 0 alone.  -ESTALE and -ENOENT: as fence_check.
 */
int checkpoint_begin(const char *dir, int64_t step, const struct fence *f, struct checkpoint **ret,
                     struct eddis_error *err);

/* Take part in the one that rank 0 of this generation began.  -ENOENT: this node does not see its
 * folder.
 */
int checkpoint_join(const char *dir, int64_t step, int generation, struct checkpoint **ret,
                    struct eddis_error *err);

/* Borrows the folder, valid until the checkpoint is freed. */
const char *checkpoint_folder(const struct checkpoint *c);

/* Write n bytes as "rank-<rank>.<name>" and sync them.  -EINVAL: name; -EEXIST: it was put before;
 * after -ENOSPC and the like the file is gone again.  Blocks.
 */
int checkpoint_put(struct checkpoint *c, int rank, const char *name, const void *data, size_t n,
                   struct eddis_error *err);

/* Return whether an entry of this name is the library's own. */
bool checkpoint_is_own(const char *name);

/* What this process has put, as text for rank 0's checkpoint_add_list.  NULL without memory. */
char *checkpoint_list(const struct checkpoint *c);

/* Add another rank's list, n bytes.  -EINVAL: it is damaged. */
int checkpoint_add_list(struct checkpoint *c, const char *text, size_t n, struct eddis_error *err);

/* Make it whole: files that are in the folder but in no list are read, summed and synced (-EINVAL:
 * one is called as an entry of the library's own); then the manifest, the rename, and
 * checkpoint_prune(dir, step, keep).  An earlier checkpoint of the same
 * step is replaced.  Rank 0 alone; takes c.  After a failure no part of it is left.  -ESTALE: a
 * later generation writes here, fence.h.
 */
int checkpoint_commit_take(struct checkpoint *c, const struct checkpoint_meta *meta, int keep,
                           struct eddis_error *err);

/* Have the commit remove whole checkpoints of later steps too, up to this one. */
void checkpoint_drop_later(struct checkpoint *c, int64_t last_step);

/* Give it up: rank 0 removes the folder, others only free.  Accepts NULL. */
void checkpoint_abandon_take(struct checkpoint *c);

/* Remove what is not worth keeping in dir: parts of this generation and those before, and of the
 * checkpoints up to this step all but the `keep` newest whole ones (keep <= 0: none is removed).
 * Later steps, of a run that went further, stay.  Sizes are compared here, checksums are not.
 */
int checkpoint_prune(const char *dir, int64_t step, int generation, int keep,
                     struct eddis_error *err);

/* ---- reading ---- */

/* Open the newest whole checkpoint in dir, every file's sum compared.  Returns 1, or 0 when there
 * is none (also when dir is missing).  passed (may be NULL) receives the sentence about the newest
 * one that is not whole, or belongs to another user; its code is 0 when there is none.  -EPERM: one
 * of this user's own, which others may write to.
 */
int checkpoint_open_newest(const char *dir, struct checkpoint **ret, struct eddis_error *passed,
                           struct eddis_error *err);

/* Return whether the folder itself belongs to neither this user nor root: it is not the job's. */
bool checkpoint_is_foreign(const char *path);

/* Open one for reading.  Every file's size is compared, with sums every file is read and its sum
 * compared too; checkpoint_get looks at the sum of what it reads in any case.  -ENOENT; -EBADMSG:
 * it is not whole, err says what is wrong with it.  Freed by checkpoint_close.
 */
int checkpoint_open(const char *path, bool sums, struct checkpoint **ret, struct eddis_error *err);

/* Bytes of all its files, by its manifest. */
int64_t checkpoint_bytes(const struct checkpoint *c);

/* Whether path is a folder that holds checkpoints, not one itself. */
bool checkpoint_is_collection(const char *path);

void checkpoint_close(struct checkpoint *c); /* accepts NULL */

/* Borrows. */
const struct checkpoint_meta *checkpoint_meta(const struct checkpoint *c);

/* Bytes put by this rank under this name, or -ENOENT. */
int64_t checkpoint_size(const struct checkpoint *c, int rank, const char *name);

/* Read what this rank put under this name to data [n].  -ENOENT; -EMSGSIZE: it has another
 * length; -EBADMSG: the file has changed since it was opened.
 */
int checkpoint_get(const struct checkpoint *c, int rank, const char *name, void *data, size_t n,
                   struct eddis_error *err);

#endif
