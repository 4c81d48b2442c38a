/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - train a model on a data set, as an ordinary client of eddis.h
 *
 * A step: ask which samples, wait for them (a thread reads the next step's meanwhile), go forward,
 * go backward and announce each layer's gradients as they appear, wait for the combined ones,
 * update.  After each epoch the workers share the test set evenly and add up what they found.
 *
 * In async and hybrid mode the workers meet at the end only: until then rank 0 reports what it
 * alone sees, the test comes once, with the centre, and checkpoint_folder gets one checkpoint,
 * then.
 *
 * A checkpoint that cannot be written is said once and training goes on; the last one, or the one
 * before the job was told to stop, is a failure.
 */
#ifndef EDDIS_TRAIN_TRAINER_H
#define EDDIS_TRAIN_TRAINER_H

#include "cmd/train/data/dataset.h"
#include "lib/base/error.h"
#include "lib/eddis.h"
#include "model.h"
#include "optimizer.h"

#include <stdbool.h>

struct trainer_data {
    struct dataset *train, *test; /* borrowed; may be the same */
    int64_t n_train;              /* samples 0 .. n_train - 1 of train */
    int64_t first_test, n_test;   /* of test; n_test 0: no test */
    struct model_input input;     /* borrowed; train and test multiply by input.factor, see
                                   * dataset_set_factors, which a checkpoint's replace */
};

struct trainer_epoch {
    int64_t epoch; /* from 1 */
    double loss;   /* mean over the epoch's samples, as each was trained on */
    bool tested;
    double accuracy, test_loss;
    double samples_per_s; /* of all workers, tests not counted; 0: not known */
};

struct trainer {
    struct model_spec model;
    struct optimizer optimizer;
    struct trainer_data data;
    int64_t eval_every; /* test after every so many epochs and after the last, 0: last; with several
                         * models of them rank 0's, and in the end the centre */
    int64_t epochs;     /* as eddis_open was told */
    const char *checkpoint_folder; /* write one there after each epoch; NULL: when the job asks */
    const char *resume;            /* a checkpoint to begin with; NULL: what the job resumes from */
    bool weigh_equally; /* every worker's mean counts alike: wrong for unequal shares, to compare */
    const char *save;   /* the final parameters' file (model_file.h); NULL: none */
    const struct model *start; /* its parameters are the first; borrowed; NULL: drawn by the seed */
    void (*on_epoch)(void *arg, const struct trainer_epoch *r); /* on rank 0; may be NULL */
    /* On rank 0: what people should read, a sentence; may be NULL. */
    void (*on_note)(void *arg, const char *text);
    void *arg;
};

/* Train until the job's epochs are over or it is told to stop, and close e.  Collective.  After a
 * failure e is still open and only eddis_abort may follow, since the others wait.
 * -EDOM: the loss is no number any more.
 */
int trainer_run(const struct trainer *t, struct eddis *e, struct eddis_error *err);

#endif
