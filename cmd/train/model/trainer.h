/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - trains a model on a data set, as an ordinary client of eddis.h
 *
 * A step: get the numbers of its samples; wait for these samples, while a thread reads those of the
 * next step; forward pass; backward pass, which announces each layer's gradients as they appear;
 * wait for the combined gradients; update. After each epoch the workers share the test set evenly
 * and sum the results.
 *
 * In async and hybrid mode the workers wait for each other only at the end. Before that, rank 0
 * reports its own results. At the end all workers test the centre, and one checkpoint is written to
 * checkpoint_folder.
 *
 * If a checkpoint cannot be written, this is reported once and training continues. If the last
 * checkpoint, or the checkpoint before a requested stop, cannot be written, training fails.
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
    int64_t n_train; /* number of training samples, which are 0 .. n_train - 1 of `train` */
    int64_t first_test, n_test; /* range of test samples in `test`; n_test 0: no test */
    /* scaling and class names, borrowed; train and test multiply by input.factor
     * (dataset_set_factors), which a restored checkpoint overwrites
     */
    struct model_input input;
};

/* The results of one epoch. */
struct trainer_epoch {
    int64_t epoch; /* number of the epoch, from 1 */
    double loss;   /* mean loss over the epoch's samples, each computed in its own step */
    bool tested;
    double accuracy, test_loss;
    double samples_per_s; /* rate of all workers, without tests; 0: unknown */
};

/* The options of trainer_run. */
struct trainer {
    struct model_spec model;
    struct optimizer optimizer;
    struct trainer_data data;
    /* number of epochs between tests, with a test after the last epoch, too; 0: test only after the
     * last. With several models, rank 0's model is tested, and at the end the centre
     */
    int64_t eval_every;
    int64_t epochs; /* number of epochs, as given to eddis_open */
    /* folder to which a checkpoint is written after each epoch; NULL: write one only if the job
     * asks
     */
    const char *checkpoint_folder;
    /* checkpoint to begin with; NULL: the checkpoint from which the job resumes */
    const char *resume;
    /* weigh every worker's mean equally, which is wrong for unequal batches; for comparisons only
     */
    bool weigh_equally;
    const char *save;          /* file for the final parameters (model_file.h); NULL: none */
    const struct model *start; /* initial parameters, borrowed; NULL: random by the seed */
    /* Called on rank 0 after each epoch; may be NULL. */
    void (*on_epoch)(void *arg, const struct trainer_epoch *r);
    /* Called on rank 0 with a sentence for the user; may be NULL. */
    void (*on_note)(void *arg, const char *text);
    void *arg;
};

/* Train until the job's epochs are over or the job is asked to stop, and close e. Collective.
 * Return 0 or a negative errno; -EDOM: the loss is no longer finite. After a failure e is still
 * open, and only eddis_abort may follow, since other workers wait.
 */
int trainer_run(const struct trainer *t, struct eddis *e, struct eddis_error *err);

#endif
