/* SPDX-License-Identifier: Apache-2.0 */
/* train_options.h - eddis-train's command line and the data that it names */
#ifndef EDDIS_CMD_TRAIN_TRAIN_OPTIONS_H
#define EDDIS_CMD_TRAIN_TRAIN_OPTIONS_H

#include "cmd/train/model/model_file.h"
#include "cmd/train/model/trainer.h"

/* Parsed command line, and the data that it names */
struct train_options {
    const char *data, *labels, *test_data, *test_labels; /* files; NULL: not given */
    int64_t test; /* number of last rows that are the test set */
    bool label_first;
    enum dataset_choice header, row_numbers;
    enum train_scale { SCALE_AUTO, SCALE_COLUMN, SCALE_NONE, SCALE_NUMBER } scaling;
    double scale; /* factor of every feature, for SCALE_NUMBER */
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
    /* why the factors were made; "": there are none, or the user asked for them */
    char scale_note[160];
    struct trainer trainer; /* all other options */
};

/* Parse argv into *ret, whose texts are borrowed from argv. Return 0, or -EINVAL; err says which
 * option is wrong.
 */
int train_options_parse(int argc, char **argv, struct train_options *ret, struct eddis_error *err);

/* Check that the folder of --resume exists; whether it is a complete checkpoint is checked later,
 * in the job. Return 0 or a negative errno.
 */
int train_options_check_resume(const struct train_options *o, struct eddis_error *err);

/* Check, before hours of training, that the file of --save and the folder of --checkpoint-dir can
 * be written; the folder is made. Return 0 or a negative errno; err names the option.
 */
int train_options_check_output(const struct train_options *o, struct eddis_error *err);

/* Print --help to standard output. */
void train_options_help(void);

/* Open the data files, and fill in o->trainer.data and the model's shape and classes. With --load,
 * model, classes and input are those of the file, otherwise they follow from the data. The caller
 * closes the data with train_data_close; on failure no file stays open. Return 0 or a negative
 * errno.
 */
int train_data_open(struct train_options *o, struct eddis_error *err);

/* Call fn for each remark about how the data were interpreted. */
void train_data_report(const struct train_options *o, void (*fn)(void *arg, const char *text),
                       void *arg);

/* Close the data, and free the memory that train_data_open has allocated. */
void train_data_close(struct train_options *o);

#endif
