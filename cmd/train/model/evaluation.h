/* SPDX-License-Identifier: Apache-2.0 */
/* evaluation.h - computes loss and hits (correct predictions) of a model on a test set, or on a
 * part of it
 */
#ifndef EDDIS_TRAIN_EVALUATION_H
#define EDDIS_TRAIN_EVALUATION_H

#include "cmd/train/data/dataset.h"
#include "model.h"

/* An evaluation of one model on one test set. */
struct evaluation {
    struct model *model;
    struct dataset *data;
    int64_t first_row; /* first row of the test set in data */
    float scale;       /* factor of every feature */
    float *x;
    int32_t *label;
};

/* Prepare the evaluation of this model on the rows of data from first_row on; model and data are
 * borrowed until evaluation_fini. Return 0 or a negative errno.
 */
int evaluation_init(struct evaluation *e, struct model *m, struct dataset *data, int64_t first_row,
                    float scale, struct eddis_error *err);

/* Add the loss and the hits of samples first .. end - 1 of the test set to *sum. The samples are
 * computed in groups of at most the model's capacity; if the capacity is 0, the model's arrays are
 * first allocated. Return 0 or a negative errno.
 */
int evaluation_run(struct evaluation *e, int64_t first, int64_t end, struct loss *sum,
                   struct eddis_error *err);

/* Free the buffers. Accepts a zero-initialised struct. */
void evaluation_fini(struct evaluation *e);

#endif
