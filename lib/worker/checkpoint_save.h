/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_save.h - which process may write checkpoints to a folder, and the checkpoint calls of
 * eddis.h
 *
 * No lock: only the thread that makes steps calls these functions, without any lock held.
 */
#ifndef EDDIS_WORKER_CHECKPOINT_SAVE_H
#define EDDIS_WORKER_CHECKPOINT_SAVE_H

#include "centre.h"
#include "checkpoint_models.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/checkpoint/fence.h"
#include "lib/eddis.h"
#include "plan_switch.h"

struct checkpoint_save {
    /* Borrowed; these do not change. */
    struct collectives *all;
    struct centre *centre;
    struct plan_switch *plan_switch;
    const struct board_area *area; /* NULL without eddis-run */

    int64_t farthest; /* highest step of committed checkpoints and of steps undone by going back */
    char *fenced;     /* rank 0: folder in which it has set a fence, to write checkpoints there;
                       * NULL: none yet */
    struct fence fence;
};

/* Fence the job's folder, as rank 0 of a restarted job, so that no older generation can complete a
 * checkpoint in it.  -ESTALE: a later generation has fenced the folder.
 */
int checkpoint_save_open(struct checkpoint_save *s, struct eddis_error *err);

/* Free what checkpoint_save_open keeps. */
void checkpoint_save_close(struct checkpoint_save *s);

struct eddis_checkpoint {
    struct eddis *e;
    struct checkpoint *files;   /* NULL: this worker passes (see checkpoint_save_pass) and does not
                                 * create the folder */
    bool whole;                 /* opened for reading */
    enum eddis_phase before;    /* phase before the checkpoint, to which the worker returns */
    struct eddis_error failure; /* error of the first failed put; code 0: none failed */
    struct checkpoint_models kept; /* the library's part of a checkpoint being written */
};

/* Take part, during an exit of the process, in a checkpoint that other workers write.  The
 * checkpoint lacks what this program would put into it, so all workers discard it.  Collective.
 * Return 1: it is discarded; or a negative errno.
 */
int checkpoint_save_pass(struct eddis *e, struct eddis_error *err);

/* Check that c is a checkpoint opened for reading (whole) or one being written (not whole).  Return
 * 0; -EINVAL: c is NULL, or not of the kind that `whole` says.
 */
int checkpoint_save_check(const struct eddis_checkpoint *c, bool whole, struct eddis_error *err);

#endif
