/* SPDX-License-Identifier: Apache-2.0 */
/* models.h - check whether the workers that train one model still have the same model
 *
 * The sums that the program reports of its model after a step are compared in the next step's
 * agreement, and those of the last step when the workers meet at the end.  If a model differs from
 * the others, or all hold NaN, all workers and the job fail immediately: further training is worth
 * nothing, and a checkpoint of such a model would hide the fault.  Plain data, guarded by the lock
 * of struct plan_switch.
 */
#ifndef EDDIS_WORKER_MODELS_H
#define EDDIS_WORKER_MODELS_H

#include "lib/base/error.h"
#include "lib/board/layout.h"
#include "lib/sync/model_sums.h"

struct models {
    int64_t every; /* steps between two comparisons; 0: none are made */
    int rank;
    bool pending; /* the program has reported `sum`, and it is not sent yet */
    double sum[MODEL_SUMS];
    struct model_check shown; /* result that the board shows */
};

/* Check whether models are compared after this step (from 0): after the 1st, 2nd, 4th, 8th ... step
 * up to `every`, then after each multiple of `every`, and after the last.
 */
bool models_due(const struct models *m, int64_t step, bool last);

/* Keep this worker's sums until they are sent. */
void models_keep(struct models *m, const double sum[MODEL_SUMS]);

/* Move the kept sums to *ret; if there are none, write the neutral value to *ret, the sums of no
 * worker.
 */
void models_report(struct models *m, struct model_sums *ret);

/* Judge the sums of all workers after so many steps, and record the result in m->shown.  Return 0
 * or -EPROTO: the models differ, or are not finite.
 */
int models_agree(struct models *m, const struct model_sums *all, int64_t steps,
                 struct eddis_error *err);

#endif
