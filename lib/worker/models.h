/* SPDX-License-Identifier: Apache-2.0 */
/* models.h - whether the workers that train one model still have the same one
 *
 * What the program tells of its model behind a step travels with the agreement of the step behind,
 * and behind the last one with the meeting at the end.  A model that is not that of the others, and
 * NaN in all of them, are a failure of all workers at once and of the job: what is trained from
 * there on is worth nothing, and a checkpoint of it would hide that.  Plain data: replan.lock
 * guards it.
 */
#ifndef EDDIS_WORKER_MODELS_H
#define EDDIS_WORKER_MODELS_H

#include "lib/base/error.h"
#include "lib/board/layout.h"
#include "lib/sync/model_sums.h"

struct models {
    int64_t every; /* steps between two comparisons; 0: none are made */
    int rank;
    bool told; /* and not sent yet */
    double sum[MODEL_SUMS];
    struct model_check shown;
};

/* Whether models are compared behind this step, from 0: behind the 1st, 2nd, 4th, 8th ... one until
 * that is every so many, then every so many, and behind the last.
 */
bool models_due(const struct models *m, int64_t step, bool last);

/* Keep this worker's sums until they are sent. */
void models_tell(struct models *m, const double sum[MODEL_SUMS]);

/* Write them to *ret, once; nothing else is known: nobody's. */
void models_report(struct models *m, struct model_sums *ret);

/* Take what all have told behind so many steps.  -EPROTO: the models are not one, or not finite. */
int models_agree(struct models *m, const struct model_sums *all, int64_t steps,
                 struct eddis_error *err);

#endif
