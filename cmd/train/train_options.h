/* SPDX-License-Identifier: Apache-2.0 */
/* train_options.h - eddis-train's command line, and the data that it names */
#ifndef EDDIS_CMD_TRAIN_TRAIN_OPTIONS_H
#define EDDIS_CMD_TRAIN_TRAIN_OPTIONS_H

#include "cmd/train/model/model_file.h"
#include "cmd/train/model/trainer.h"

struct train_options {
    const char *data, *labels, *test_data, *test_labels; /* files; NULL: not given */
    int64_t test;                                        /* last rows that are the test set */
    bool label_first;
    enum dataset_choice header, row_numbers;
    enum train_scale { SCALE_AUTO, SCALE_COLUMN, SCALE_NONE, SCALE_NUMBER } scaling;
    double scale; /* of SCALE_NUMBER */
    int64_t memory_bytes;
    int threads;   /* 0: auto */
    int64_t batch; /* 0: 64 a worker */
    uint64_t seed;
    const char *shape;         /* "28x28", or NULL: as the file says */
    const char *load;          /* a model to begin with, or to test; NULL: none */
    bool test_only;            /* train nothing */
    struct model_file loaded;  /* what load names, once the data are open */
    bool help, version, quiet; /* help, version: print it and do nothing else */
    float *factor;             /* of the features, made with the data; NULL: none */
    char scale_note[160];      /* that they have been made, and why; or "" */
    struct trainer trainer;    /* the rest */
};

/* Read argv; strings are borrowed from it.  -EINVAL: which option is wrong, and how. */
int train_options_parse(int argc, char **argv, struct train_options *ret, struct eddis_error *err);

/* Check that the folder of --resume is there; whether it is a whole checkpoint the job finds out.
 */
int train_options_check_resume(const struct train_options *o, struct eddis_error *err);

/* Check that --save and --checkpoint-dir can be written, before hours are spent on what they are to
 * hold; the folder of checkpoints is made.  The sentence names the option.
 */
int train_options_check_output(const struct train_options *o, struct eddis_error *err);

void train_options_help(void);

/* Open the files, and fill in o->trainer.data and the model's shape and classes; those, the kind of
 * model and the input are those of o->load where that is given, else the data's.
 * The caller closes trainer.data.train and, when it is another, .test.
 */
int train_data_open(struct train_options *o, struct eddis_error *err);

/* Call fn for each sentence about how the files are read that people should know. */
void train_data_tell(const struct train_options *o, void (*fn)(void *arg, const char *text),
                     void *arg);

void train_data_close(struct train_options *o);

#endif
