/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.h - writes and reads parameters and optimiser in a checkpoint of eddis.h
 *
 * Files of a checkpoint: "model" describes the model and optimiser as text; "parameters" are the
 * model's values; "optimizer" is the number of updates and the optimiser's state.  If there are
 * any, "scale" has the features' factors and "labels" the classes' names, one per line.  They are
 * equal on all workers, so rank 0 writes and all read.
 */
#ifndef EDDIS_TRAIN_TRAIN_STATE_H
#define EDDIS_TRAIN_TRAIN_STATE_H

#include "lib/base/error.h"
#include "lib/eddis.h"
#include "model.h"
#include "optimizer.h"

/* The state that a checkpoint stores. */
struct train_state {
    struct model *model;
    struct optimizer *optimizer;
    const struct model_input *input;
    float *numbers; /* the optimiser's state for all parameters, behind a short header */
};

/* Allocate the optimiser's state, zero; the other arguments are borrowed.  The caller frees it with
 * train_state_fini.
 */
int train_state_init(struct train_state *s, struct model *m, struct optimizer *o,
                     const struct model_input *input, struct eddis_error *err);

/* Move the parameters to the point at which Nesterov computes the gradient, before the forward
 * pass; see optimizer.h.
 */
void train_state_look_ahead(struct train_state *s);

/* Apply the combined gradients; factor multiplies the learning rate. */
void train_state_update(struct train_state *s, double factor);

/* Add the sums of the parameters to the step's report, if the step asks for them. */
void train_state_report(const struct train_state *s, const struct eddis_step *step,
                        struct eddis_report *report);

/* Write a checkpoint to `folder`; NULL: the job's folder.  Collective.  After a failure training
 * may continue, unless it is -ESTALE or a communication failure.
 */
int train_state_save(const struct train_state *s, struct eddis *e, const char *folder, int rank,
                     struct eddis_error *err);

/* Read the checkpoint that eddis_restore_begin chooses, with its factors.  Collective.  Return 1,
 * or 0 if there is none.  passed: eddis_restore_begin's text about damaged checkpoints.  -EINVAL:
 * the checkpoint is of another model, or of other labels.
 */
int train_state_restore(struct train_state *s, struct eddis *e, const char *path,
                        struct eddis_error *passed, struct eddis_error *err);

/* Free the optimiser's state. */
void train_state_fini(struct train_state *s);

#endif
