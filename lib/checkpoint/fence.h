/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h - let only the process that has opened a folder most recently write checkpoints into it
 *
 * A process of an older generation may still live, frozen or on a disconnected host, when the next
 * generation has begun.  What such a process was writing must not become a checkpoint any more.
 *
 *     <dir>/.generation               "eddis generation 1", job, generation, owner: a random word
 *     <dir>/step-00000600.g2.part     being written by generation 2
 *
 * To open: write .generation anew, then remove the parts of other generations, each by one rename.
 * To commit: read .generation, then rename the part.  So no lock is needed.  A process that was
 * frozen between reading and renaming finds no part when it continues.  What it renamed earlier was
 * whole before the next generation searched for checkpoints.
 *
 * Only rank 0 uses a fence.
 */
#ifndef EDDIS_CHECKPOINT_FENCE_H
#define EDDIS_CHECKPOINT_FENCE_H

#include "lib/base/error.h"

enum { FENCE_JOB = 127, FENCE_OWNER = 16 };

struct fence {
    char job[FENCE_JOB + 1]; /* a name valid for text_is_name, or "-" */
    int generation;          /* from 1 */
    char owner[FENCE_OWNER + 1];
};

/* Become the only writer of dir, which is created if missing, and remove the parts that other
 * generations left there.  job "" counts as "-".  Return 0 with the fence in *ret, or a negative
 * errno; -ESTALE: a later generation of the job is the writer.  After any other failure the parts
 * of other generations may be gone all the same.
 */
int fence_open(const char *dir, const char *job, int generation, struct fence *ret,
               struct eddis_error *err);

/* Check that this process is still the writer of dir.  Write the fence again if a process of an
 * older generation has overwritten it.  Return 0 or a negative errno; -ESTALE: err names the new
 * writer; -ENOENT: dir was removed or emptied.
 */
int fence_check(const char *dir, const struct fence *f, struct eddis_error *err);

#endif
