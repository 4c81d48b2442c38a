/* SPDX-License-Identifier: Apache-2.0 */
/* train_options.h - eddis-train's command line and the data that it names */
#ifndef EDDIS_CMD_TRAIN_TRAIN_OPTIONS_H
#define EDDIS_CMD_TRAIN_TRAIN_OPTIONS_H

#include "cmd/train/model/model_file.h"
#include "cmd/train/model/trainer.h"

/* Parsed command line, and what is opened by it. */
struct train_options {
    const char *data, *labels, *test_data, *test_labels; /* files; NULL: not given */
    int64_t test;                                        /* this many last rows are the test set */
    bool label_first;
    enum dataset_choice header, row_numbers;
    enum train_scale { SCALE_AUTO, SCALE_COLUMN, SCALE_NONE, SCALE_NUMBER } scaling;
    double scale; /* for SCALE_NUMBER */
    int64_t memory_bytes;
    int64_t threads; /* 0: automatic */
    int64_t batch;   /* samples a step; 0: 64 for each worker */
    int64_t seed;
    bool adam;
    const char *shape;         /* "28x28"; NULL: from the file */
    const char *load;          /* file of a model to begin with, or to test; NULL: none */
    bool test_only;            /* train nothing */
    struct model_file loaded;  /* content of the file `load`, once the data are open */
    bool help, version, quiet; /* help, version: print it and exit */
    float *factor;             /* factor of each feature, owned; NULL: none */
    char scale_note[160];   /* why the factors were made; "": they were not, or the user asked for
                               them */
    struct trainer trainer; /* all other options */
};

/* Parse argv; texts are borrowed from it. -EINVAL: err says which option is wrong. */
int train_options_parse(int argc, char **argv, struct train_options *ret, struct eddis_error *err);

/* Check that the folder of --resume exists. Whether it is a complete checkpoint is found out later,
 * in the job.
 */
int train_options_check_resume(const struct train_options *o, struct eddis_error *err);

/* Check that --save and --checkpoint-dir can be written, before hours of training. The folder of
 * checkpoints is made. The error names the option.
 */
int train_options_check_output(const struct train_options *o, struct eddis_error *err);

/* Print --help to standard output. */
void train_options_help(void);

/* Open the data files and fill in o->trainer.data and the model's shape and classes. With --load,
 * model, classes and input are those of the file, else they follow from the data. Close them with
 * train_data_close; on failure nothing stays open.
 */
int train_data_open(struct train_options *o, struct eddis_error *err);

/* Call fn for each remark about how the data were interpreted. */
void train_data_report(const struct train_options *o, void (*fn)(void *arg, const char *text),
                       void *arg);

/* Close the data and free what train_data_open has made. */
void train_data_close(struct train_options *o);

#endif
