/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - trains a model on a data set, as an ordinary client of eddis.h
 *
 * A step: get the numbers of its samples; wait for the samples, while a thread reads the next
 * ones; forward pass; backward pass, which announces each layer's gradients as they appear; wait
 * for the combined gradients; update.  After each epoch the workers share the test set evenly and
 * sum the results.
 *
 * In async and hybrid mode the workers synchronise only at the end.  Until then rank 0 reports its
 * own results.  At the end all test the centre, and checkpoint_folder gets one checkpoint.
 *
 * If a checkpoint cannot be written, that is reported once and training continues.  For the last
 * checkpoint, or the one before a requested stop, it is a failure.
 */
#ifndef EDDIS_TRAIN_TRAINER_H
#define EDDIS_TRAIN_TRAINER_H

#include "cmd/train/data/dataset.h"
#include "lib/base/error.h"
#include "lib/eddis.h"
#include "model.h"
#include "optimizer.h"

#include <stdbool.h>

/* The samples for training and for tests. */
struct trainer_data {
    struct dataset *train, *test; /* borrowed; may be the same */
    int64_t n_train;              /* train on samples 0 .. n_train - 1 of train */
    int64_t first_test, n_test;   /* samples of test; n_test 0: no test */
    /* borrowed; train and test multiply by input.factor (dataset_set_factors), which a restored
     * checkpoint overwrites
     */
    struct model_input input;
};

/* The results of one epoch. */
struct trainer_epoch {
    int64_t epoch; /* from 1 */
    double loss;   /* mean over the epoch's samples, each computed in its own step */
    bool tested;
    double accuracy, test_loss;
    double samples_per_s; /* of all workers, without tests; 0: unknown */
};

/* The options of trainer_run. */
struct trainer {
    struct model_spec model;
    struct optimizer optimizer;
    struct trainer_data data;
    /* test after each eval_every epochs and after the last; 0: only after the last.  With several
     * models test rank 0's, and at the end the centre
     */
    int64_t eval_every;
    int64_t epochs; /* as given to eddis_open */
    /* write a checkpoint there after each epoch; NULL: only if the job asks */
    const char *checkpoint_folder;
    const char *resume; /* a checkpoint to begin with; NULL: the one that the job resumes from */
    /* weigh every worker's mean equally: wrong for unequal shares, for comparisons */
    bool weigh_equally;
    const char *save;          /* file for the final parameters (model_file.h); NULL: none */
    const struct model *start; /* initial parameters, borrowed; NULL: random by the seed */
    /* Called on rank 0 after each epoch; may be NULL. */
    void (*on_epoch)(void *arg, const struct trainer_epoch *r);
    /* Called on rank 0 with a sentence for the user; may be NULL. */
    void (*on_note)(void *arg, const char *text);
    void *arg;
};

/* Train until the job's epochs are over or it is asked to stop, and close e.  Collective.  After a
 * failure e is still open and only eddis_abort may follow, since other workers wait.  -EDOM: the
 * loss is not finite any more.
 */
int trainer_run(const struct trainer *t, struct eddis *e, struct eddis_error *err);

#endif
