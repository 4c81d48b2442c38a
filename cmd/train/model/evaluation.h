/* SPDX-License-Identifier: Apache-2.0 */
/* evaluation.h - loss and hits of a model on a test set, or on a part of it */
#ifndef EDDIS_TRAIN_EVALUATION_H
#define EDDIS_TRAIN_EVALUATION_H

#include "cmd/train/data/dataset.h"
#include "model.h"
#include "real_batch.h"

struct evaluation {
    struct model *model;
    struct dataset *data;
    int64_t first_row; /* of the test set in data */
    float scale;       /* multiplies every feature */
    float *x;
    int32_t *label;
    struct real_batch batch;
};

/* Evaluate this model on rows first_row and following; both are borrowed until evaluation_fini. */
int evaluation_init(struct evaluation *e, struct model *m, struct dataset *data, int64_t first_row,
                    float scale, struct eddis_error *err);

/* Add to *sum the loss and the hits of samples first .. end - 1 of the test set, at most as many at
 * once as the model has room for; one without room gets some.
 */
int evaluation_run(struct evaluation *e, int64_t first, int64_t end, struct loss *sum,
                   struct eddis_error *err);

/* Accepts one that is zero-initialised. */
void evaluation_fini(struct evaluation *e);

#endif
