/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h - who may write checkpoints into a folder: the process that opened it last
 *
 * A process of an older generation may still live, frozen or on a host that was cut off, when the
 * next generation has begun; what it had under way must not become a checkpoint any more.
 *
 *     <dir>/.generation               "eddis generation 1", job, generation, owner: a random word
 *     <dir>/step-00000600.g2.part     being written by generation 2
 *
 * To open: write .generation anew, then take away the parts of other generations, each by one
 * rename.  To commit: read .generation, then rename the part.  So no lock is needed: whoever was
 * frozen between the two finds no part when it goes on, and what it renamed before was whole before
 * the next generation looked.
 *
 * Rank 0's alone.
 */
#ifndef EDDIS_CHECKPOINT_FENCE_H
#define EDDIS_CHECKPOINT_FENCE_H

#include "lib/base/error.h"

enum { FENCE_JOB = 127, FENCE_OWNER = 16 };

struct fence {
    char job[FENCE_JOB + 1]; /* a name of text_is_name, or "-" */
    int generation;          /* from 1 */
    char owner[FENCE_OWNER + 1];
};

/* Become the writer of dir, which is made when missing, and remove what dead generations left.
 * job "" counts as "-".  -ESTALE: a later generation of the job is.  After another failure the
 * parts of other generations are gone all the same.
 */
int fence_open(const char *dir, const char *job, int generation, struct fence *ret,
               struct eddis_error *err);

/* Whether we are the writer still.  -ESTALE: err says who is; -ENOENT: dir was removed or emptied.
 */
int fence_check(const char *dir, const struct fence *f, struct eddis_error *err);

#endif
