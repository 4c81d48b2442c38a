/* SPDX-License-Identifier: Apache-2.0 */
/* train_data.c - opens the data sets that eddis-train's command line names */
#include "lib/base/strbuf.h"
#include "train_options.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Properties that a data file must have, since a model or the training data have them. */
struct known {
    int64_t n_features;
    /* The training file had row numbers, so an extra first column is no feature. */
    bool row_numbers;
    const char *const *class_names;
    int32_t n_classes;
};

/* Open a data file with the user's options and store it in *ret. known: properties that the file
 * must have; NULL: none. Return 0 or a negative error.
 */
static int open_file(const struct train_options *o, const char *path, const char *labels,
                     enum dataset_choice row_numbers, const struct known *known,
                     struct dataset **ret, struct eddis_error *err)
{
    struct dataset_options d = { .path = path,
                                 .labels = labels,
                                 .label_first = o->label_first,
                                 .header = o->header,
                                 .row_numbers = row_numbers,
                                 .class_names = known ? known->class_names : NULL,
                                 .n_class_names = known ? known->n_classes : 0,
                                 .memory_bytes = o->memory_bytes,
                                 .temporary_folder = getenv("TMPDIR") };

    return dataset_open(&d, ret, err);
}

/* Open a data file that should have known->n_features features, and store it in *ret. With
 * --row-numbers auto, if it has one feature too few because its first column was taken for row
 * numbers, or one too many because it was not, open it again the other way. The caller checks the
 * number of features. Return 0 or a negative error; *ret may then be open.
 */
static int open_as(const struct train_options *o, const char *path, const char *labels,
                   const struct known *known, struct dataset **ret, struct eddis_error *err)
{
    const struct dataset_info *info;
    enum dataset_choice other;
    int rc = open_file(o, path, labels, o->row_numbers, known, ret, err);

    if (rc == 0 && dataset_info(*ret)->class_names && !known->class_names)
        return eddis_fail(
            err, -EINVAL,
            "the labels of '%s' are text, but the model was trained on numbers as labels", path);
    if (rc < 0 || o->row_numbers != DATASET_AUTO || labels)
        return rc;
    info = dataset_info(*ret);
    if (info->row_numbers && info->n_features == known->n_features - 1)
        other = DATASET_NO;
    else if (!info->row_numbers && known->row_numbers && info->n_features == known->n_features + 1)
        other = DATASET_YES;
    else
        return 0;
    dataset_close(*ret);
    *ret = NULL;
    return open_file(o, path, labels, other, known, ret, err);
}

/* Open the file of the test set, and set the numbers of training and test samples. It must have the
 * features of the training data, and no larger label. Return 0 or a negative error.
 */
static int open_test(struct train_options *o, struct eddis_error *err)
{
    struct trainer_data *d = &o->trainer.data;
    const struct dataset_info *train = dataset_info(d->train), *test;
    struct known known = { train->n_features, train->row_numbers, train->class_names,
                           train->n_classes };
    int rc = open_as(o, o->test_data, o->test_labels, &known, &d->test, err);

    if (rc < 0)
        return rc;
    test = dataset_info(d->test);
    if (test->n_features != train->n_features)
        return eddis_fail(err, -EINVAL, "'%s' has %lld features per row, but '%s' has %lld",
                          o->test_data, (long long)test->n_features, o->data,
                          (long long)train->n_features);
    if (test->n_classes > train->n_classes)
        return eddis_fail(err, -EINVAL, "'%s' has label %d, but the largest label in '%s' is %d",
                          o->test_data, (int)test->n_classes - 1, o->data,
                          (int)train->n_classes - 1);
    d->n_train = train->n_samples;
    d->first_test = 0;
    d->n_test = test->n_samples;
    return 0;
}

/* Use the last rows of the training file as the test set (--test); with --test-only all rows, if no
 * number is given. Return 0; -EINVAL: no row is left for training.
 */
static int split_off_test(struct train_options *o, struct eddis_error *err)
{
    struct trainer_data *d = &o->trainer.data;
    int64_t n = dataset_info(d->train)->n_samples;

    if (o->test_only && o->test == 0)
        o->test = n;
    if (o->test > n || (o->test == n && !o->test_only))
        return eddis_fail(
            err, -EINVAL,
            "--test asks for %lld of the %lld rows in '%s', so no row is left for training",
            (long long)o->test, (long long)n, o->data);
    d->test = d->train;
    d->n_train = d->first_test = n - o->test;
    d->n_test = o->test;
    return 0;
}

/* Set the model's input shape from --shape or the data, and its number of classes. cnn needs a
 * square if neither gives a shape. Return 0, or -EINVAL: --shape is malformed or does not fit the
 * data, or there is no square.
 */
static int find_shape(struct train_options *o, struct eddis_error *err)
{
    const struct dataset_info *info = dataset_info(o->trainer.data.train);
    struct model_spec *m = &o->trainer.model;
    int64_t root = (int64_t)sqrt((double)info->n_features);
    int rc = 0;

    m->n_classes = info->n_classes;
    if (o->shape)
        rc = model_spec_shape(o->shape, m);
    else if (info->height)
        m->height = info->height, m->width = info->width, m->channels = info->channels;
    else if (strcmp(m->name, "cnn") != 0)
        m->height = info->n_features, m->width = m->channels = 1;
    else if (root * root == info->n_features)
        m->height = m->width = root, m->channels = 1;
    else
        return eddis_fail(
            err, -EINVAL,
            "'%s' has %lld features per row, which is not a square; give --shape HxWxC", o->data,
            (long long)info->n_features);
    if (rc < 0)
        return eddis_fail(err, -EINVAL, "--shape is '%s'; write it like 28x28 or 32x32x3",
                          o->shape);
    if (m->height * m->width > info->n_features ||
        m->height * m->width * m->channels != info->n_features)
        return eddis_fail(err, -EINVAL,
                          "shape %lldx%lldx%lld does not fit the %lld features of '%s'",
                          (long long)m->height, (long long)m->width, (long long)m->channels,
                          (long long)info->n_features, o->data);
    return 0;
}

/* Use the model of --load, and check that the training data fit it. Return 0 or -EINVAL. */
static int take_model(struct train_options *o, struct eddis_error *err)
{
    const struct dataset_info *info = dataset_info(o->trainer.data.train);
    const struct model_spec *s = &o->loaded.spec;

    if (info->n_features != o->loaded.model->n_features)
        return eddis_fail(
            err, -EINVAL, "'%s' has %lld features per row, but the model of '%s' takes %lld",
            o->data, (long long)info->n_features, o->load, (long long)o->loaded.model->n_features);
    if (info->n_classes > s->n_classes)
        return eddis_fail(err, -EINVAL,
                          "'%s' has label %d, but the largest label of the model in '%s' is %d",
                          o->data, (int)info->n_classes - 1, o->load, (int)s->n_classes - 1);
    o->trainer.model = *s;
    o->trainer.start = o->loaded.model;
    return 0;
}

/* ---- scaling of features ---- */

/* If the largest magnitudes of columns differ by this factor, one scale for all trains badly. */
enum { UNLIKE = 100 };

/* Return the largest magnitude (absolute value) in a column of the data. */
static double largest_of(const struct dataset_info *info, int64_t column)
{
    return fmax(fabs((double)info->column_min[column]), fabs((double)info->column_max[column]));
}

/* Return 1 / largest, limited to a float's range; 1 if largest is 0. */
static float factor_of(double largest)
{
    return largest > 0 ? (float)fmin(1 / largest, (double)FLT_MAX) : 1;
}

/* Store the smallest and the greatest of the columns' largest magnitudes in *ret_least and
 * *ret_most, without constant columns; 0 if all are constant. Return the number of columns that are
 * not constant.
 */
static int64_t column_range(const struct dataset_info *info, double *ret_least, double *ret_most)
{
    int64_t n = 0;

    *ret_least = *ret_most = 0;
    for (int64_t i = 0; i < info->n_features; i++) {
        double v = largest_of(info, i);

        if (info->column_min[i] == info->column_max[i])
            continue;
        *ret_least = n == 0 || v < *ret_least ? v : *ret_least;
        *ret_most = v > *ret_most ? v : *ret_most;
        n++;
    }
    return n;
}

/* Check whether each feature of a CSV file gets a factor of its own: with --scale column always;
 * with auto if the columns' magnitudes differ much (then o->scale_note gets why), but not for cnn,
 * whose convolution needs one scale.
 */
static bool wants_factors(struct train_options *o, const struct dataset_info *info)
{
    double least, most;

    if (!info->column_min || (o->scaling != SCALE_AUTO && o->scaling != SCALE_COLUMN))
        return false;
    if (o->scaling == SCALE_COLUMN)
        return true;
    if (strcmp(o->trainer.model.name, "cnn") == 0 || column_range(info, &least, &most) < 2 ||
        most <= UNLIKE * least)
        return false;
    (void)snprintf(o->scale_note, sizeof o->scale_note,
                   "the largest magnitudes of the columns range from %.6g to %.6g, so each column "
                   "is divided by its own, as --scale column does",
                   least, most);
    return true;
}

/* Allocate o->factor, and set it to the inverse of each column's largest magnitude. Return 0 or
 * -ENOMEM.
 */
static int make_factors(struct train_options *o, const struct dataset_info *info,
                        struct eddis_error *err)
{
    o->factor = malloc((size_t)info->n_features * sizeof *o->factor);
    if (!o->factor)
        return eddis_fail(err, -ENOMEM, "out of memory");
    for (int64_t i = 0; i < info->n_features; i++)
        o->factor[i] = factor_of(largest_of(info, i));
    return 0;
}

/* Choose scale and factors of the input from the whole training file, or from the model's file, so
 * that all workers have the same ones. Store them in o->trainer.data.input, and let the data sets
 * apply the factors. Return 0 or -ENOMEM.
 */
static int find_input(struct train_options *o, struct eddis_error *err)
{
    struct trainer_data *d = &o->trainer.data;
    const struct dataset_info *info = dataset_info(d->train);
    int rc = 0;

    d->input = (struct model_input){ .scale = 1, .class_names = info->class_names };
    if (o->load && o->scaling == SCALE_AUTO)
        d->input.scale = o->loaded.input.scale;
    else if (o->scaling == SCALE_NUMBER)
        d->input.scale = (float)o->scale;
    else if (wants_factors(o, info))
        rc = make_factors(o, info, err);
    else if (o->scaling == SCALE_AUTO)
        d->input.scale = factor_of(fmax(fabs(info->min), fabs(info->max)));
    if (rc < 0)
        return rc;
    d->input.factor = o->factor;
    if (o->load && o->scaling == SCALE_AUTO)
        d->input.factor = o->loaded.input.factor;
    dataset_set_factors(d->train, d->input.factor);
    dataset_set_factors(d->test, d->input.factor);
    return 0;
}

/* ---- opening ---- */

/* Open the training data; before that read the model of --load, which the data must fit. Return 0
 * or a negative error.
 */
static int open_train(struct train_options *o, struct eddis_error *err)
{
    struct dataset **train = &o->trainer.data.train;
    struct known known;
    int rc = o->load ? model_file_read(o->load, &o->loaded, err) : 0;

    if (rc < 0)
        return rc;
    if (!o->load)
        return open_file(o, o->data, o->labels, o->row_numbers, NULL, train, err);
    known = (struct known){ o->loaded.model->n_features, false, o->loaded.input.class_names,
                            o->loaded.spec.n_classes };
    return open_as(o, o->data, o->labels, &known, train, err);
}

int train_data_open(struct train_options *o, struct eddis_error *err)
{
    int rc = open_train(o, err);

    if (rc == 0)
        rc = o->test_data ? open_test(o, err) : split_off_test(o, err);
    if (rc == 0)
        rc = o->load ? take_model(o, err) : find_shape(o, err);
    if (rc == 0)
        rc = find_input(o, err);
    if (rc < 0)
        train_data_close(o);
    return rc;
}

/* Call fn for each remark about how a file's header and rows were interpreted. */
static void report_file(const char *path, const struct dataset *d,
                        void (*fn)(void *arg, const char *text), void *arg)
{
    const char *notes[] = { dataset_info(d)->header_note, dataset_info(d)->row_note };

    for (int i = 0; i < 2; i++) {
        char text[512];

        (void)snprintf(text, sizeof text, "%.300s: %s", path, notes[i]);
        if (notes[i][0])
            fn(arg, text);
    }
}

enum { SHOWN_LABELS = 20 }; /* most labels that are listed */

/* Call fn with the numbers of text labels, "labels: 0 setosa, 1 versicolor", at most SHOWN_LABELS
 * of them; not if labels are numbers.
 */
static void tell_labels(const struct dataset_info *info, void (*fn)(void *arg, const char *text),
                        void *arg)
{
    struct strbuf b = { 0 };
    int32_t n = info->class_names ? info->n_classes : 0;

    for (int32_t i = 0; i < n && i < SHOWN_LABELS; i++)
        strbuf_addf(&b, "%s%d %s", i ? ", " : "labels: ", (int)i, info->class_names[i]);
    if (n > SHOWN_LABELS)
        strbuf_addf(&b, " and %d more", (int)n - SHOWN_LABELS);
    if (n && strbuf_text(&b)[0])
        fn(arg, strbuf_text(&b));
    strbuf_fini(&b);
}

void train_data_report(const struct train_options *o, void (*fn)(void *arg, const char *text),
                       void *arg)
{
    const struct trainer_data *d = &o->trainer.data;

    report_file(o->data, d->train, fn, arg);
    if (d->test != d->train)
        report_file(o->test_data, d->test, fn, arg);
    if (o->scale_note[0])
        fn(arg, o->scale_note);
    tell_labels(dataset_info(d->train), fn, arg);
}

void train_data_close(struct train_options *o)
{
    struct trainer_data *d = &o->trainer.data;

    if (d->test != d->train)
        dataset_close(d->test);
    dataset_close(d->train);
    d->train = d->test = NULL;
    free(o->factor);
    o->factor = NULL;
    model_file_fini(&o->loaded);
}
