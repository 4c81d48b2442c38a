/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.h - writes and reads parameters and optimiser in a checkpoint of eddis.h
 *
 * Files of a checkpoint: "model" describes the model and optimiser as text; "parameters" are the
 * model's values; "optimizer" is the number of updates and the optimiser's state. If the features
 * have factors, "scale" contains them; if the classes have names, "labels" contains the names, one
 * per line. All this is equal on all workers, so rank 0 writes and all ranks read.
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
    float *numbers; /* a short header, and the optimiser's state for all parameters */
};

/* Initialize *s with an optimiser state of zeros; m, o and input are borrowed. The caller frees the
 * state with train_state_fini. Return 0 or a negative errno.
 */
int train_state_init(struct train_state *s, struct model *m, struct optimizer *o,
                     const struct model_input *input, struct eddis_error *err);

/* Move the parameters to the point at which Nesterov computes the gradient, before the forward
 * pass; see optimizer.h.
 */
void train_state_look_ahead(struct train_state *s);

/* Apply the combined gradients; factor multiplies the learning rate. */
void train_state_update(struct train_state *s, double factor);

/* If the step asks for the sums of the parameters, add them to the step's report. */
void train_state_report(const struct train_state *s, const struct eddis_step *step,
                        struct eddis_report *report);

/* Write a checkpoint to `folder` (NULL: the job's folder), and remove the oldest ones beyond the
 * job's number and those of later steps. Collective. Return 0 or a negative errno. After a failure
 * training may continue, except after -ESTALE or a communication failure.
 */
int train_state_save(const struct train_state *s, struct eddis *e, const char *folder, int rank,
                     struct eddis_error *err);

/* Read the checkpoint that eddis_restore_begin chooses, with its factors. Collective. Return 1; 0
 * if there is no checkpoint; -EINVAL: the checkpoint is of another model or of other labels; or
 * another negative errno. Store in *passed eddis_restore_begin's text about damaged checkpoints.
 */
int train_state_restore(struct train_state *s, struct eddis *e, const char *path,
                        struct eddis_error *passed, struct eddis_error *err);

/* Free the optimiser's state. */
void train_state_fini(struct train_state *s);

#endif
