/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.h - parameters and optimiser in a checkpoint of eddis.h
 *
 * Files of a checkpoint: "model" says in words what the numbers belong to, "parameters" are the
 * model's values, "optimizer" its state behind the number of updates; "scale" the features' factors
 * and "labels" the classes' names, a line each, where there are any.  Equal on all workers, so rank
 * 0 writes and everybody reads.
 */
#ifndef EDDIS_TRAIN_TRAIN_STATE_H
#define EDDIS_TRAIN_TRAIN_STATE_H

#include "lib/base/error.h"
#include "lib/eddis.h"
#include "model.h"
#include "optimizer.h"

struct train_state {
    struct model *model;
    struct optimizer *optimizer;
    const struct model_input *input;
    real *numbers; /* of the optimiser, for all parameters, behind a short head */
};

/* Make the optimiser's numbers, zero; all others are borrowed.  The caller frees them with
 * train_state_fini. */
int train_state_init(struct train_state *s, struct model *m, struct optimizer *o,
                     const struct model_input *input, struct eddis_error *err);

/* Move the parameters before the step's forward pass, see optimizer.h. */
void train_state_look_ahead(struct train_state *s);

/* Apply the combined gradients; factor multiplies the learning rate. */
void train_state_update(struct train_state *s, double factor);

/* Add the sums of the parameters to the step's report, where the step asks for them. */
void train_state_report(const struct train_state *s, const struct eddis_step *step,
                        struct eddis_report *report);

/* Write a checkpoint.  Collective.  folder: NULL for the job's.  After a failure training may go
 * on, unless it is -ESTALE or the communication's.
 */
int train_state_save(const struct train_state *s, struct eddis *e, const char *folder, int rank,
                     struct eddis_error *err);

/* Read the checkpoint, its factors too, that eddis_restore_begin chooses.  Collective.  Returns 1,
 * or 0 when none is there; passed receives what eddis_restore_begin says of damaged ones.  -EINVAL:
 * it is of another model, or of other labels.
 */
int train_state_restore(struct train_state *s, struct eddis *e, const char *path,
                        struct eddis_error *passed, struct eddis_error *err);

/* Free the optimiser's numbers. */
void train_state_fini(struct train_state *s);

#endif
