/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_save.h - who may write checkpoints to a folder, and the calls of eddis.h about them
 *
 * No lock: the thread that makes steps uses it, without any lock held.
 */
#ifndef EDDIS_WORKER_CHECKPOINT_SAVE_H
#define EDDIS_WORKER_CHECKPOINT_SAVE_H

#include "centre.h"
#include "checkpoint_models.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/checkpoint/fence.h"
#include "lib/eddis.h"
#include "replan.h"

struct checkpoint_save {
    /* Borrowed; these do not change. */
    struct collectives *all;
    struct centre *centre;
    struct replan *replan;
    const struct board_area *area; /* NULL without eddis-run */

    int64_t farthest; /* step, of checkpoints committed and of ways left by going back */
    char *fenced;     /* rank 0: the folder that it writes checkpoints to; NULL: none so far */
    struct fence fence;
};

/* Fence the job's folder, as rank 0 of a restarted job: no older generation can complete a
 * checkpoint in it from now on.  -ESTALE: this generation is the older one.
 */
int checkpoint_save_open(struct checkpoint_save *s, struct eddis_error *err);
void checkpoint_save_close(struct checkpoint_save *s);

struct eddis_checkpoint {
    struct eddis *e;
    struct checkpoint *files;      /* NULL: this worker passes, and does not make the folder */
    bool whole;                    /* opened to be read */
    enum eddis_phase before;       /* to go back to */
    struct eddis_error failure;    /* of the first put that failed; code 0: none did */
    struct checkpoint_models kept; /* while it is written */
};

/* Take part in one that others write, wherever, at an exit: without what this program would put
 * into it, which nobody knows, so that it is not kept.  Collective.
 */
int checkpoint_save_pass(struct eddis *e, struct eddis_error *err);

/* Refuse NULL, and in a call that takes only what is whole, or only what is being written, the
 * other kind: -EINVAL.
 */
int checkpoint_save_check(const struct eddis_checkpoint *c, bool whole, struct eddis_error *err);

#endif
