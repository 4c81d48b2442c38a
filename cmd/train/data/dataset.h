/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - labelled samples in a file, read by number
 *
 * CSV: one sample per line, see csv_row.h; separator, column names and row numbers are detected by
 * csv_form.h. IDX: the format of MNIST, unsigned bytes, images and labels in two files. CSV and IDX
 * files may be gzipped.
 *
 * Data that fits into memory_bytes is kept in memory: as bytes if all values are whole numbers from
 * 0 to 255, otherwise as floats. Larger data is read from the file in blocks, again in each epoch:
 * IDX rows by their position, CSV rows through an index of at most 2 MB with the offset of every
 * k-th row. Gzip allows no access by position, so a large gzipped file is first unpacked into an
 * unnamed file in temporary_folder.
 */
#ifndef EDDIS_DATA_DATASET_H
#define EDDIS_DATA_DATASET_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Value of an option that is detected from the file (AUTO), or set by the user */
enum dataset_choice { DATASET_AUTO, DATASET_YES, DATASET_NO };

/* The options of dataset_open. */
struct dataset_options {
    const char *path;           /* path of the CSV file; if `labels` is set, of the IDX images */
    const char *labels;         /* path of the IDX labels; NULL: the file is CSV */
    bool label_first;           /* CSV: the label is the first field; false: the last */
    enum dataset_choice header; /* CSV: the first line has column names */
    enum dataset_choice row_numbers; /* CSV: the first column numbers the rows and is no feature */
    /* CSV: sorted texts; each label must be one of them; NULL: the labels found in the file */
    const char *const *class_names;
    int32_t n_class_names;
    int64_t memory_bytes;         /* maximum size of data that is kept in memory; 0: 1 GiB */
    const char *temporary_folder; /* folder for unpacked data; NULL: /var/tmp */
};

/* The properties of an open file. */
struct dataset_info {
    int64_t n_samples, n_features;
    int32_t n_classes; /* largest label + 1 */
    /* [n_classes] sorted names if labels are text; otherwise NULL */
    const char *const *class_names;
    int64_t height, width, channels; /* size of IDX images; 0: the file does not say */
    double min, max;                 /* range of all features, unscaled */
    /* [n_features] range of each feature of a CSV file; otherwise NULL */
    const float *column_min, *column_max;
    bool in_memory;
    bool row_numbers;                   /* the first column was left out as row numbers */
    const char *header_note, *row_note; /* explanations of what was detected; "" if obvious */
};

struct dataset;

/* Open a data set in *ret, and check every byte of it; the caller closes *ret with dataset_close.
 * Return 0; -EINVAL: the file is malformed, and err names the line or offset; or another negative
 * errno.
 */
int dataset_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err);

/* Borrow the file's properties, until dataset_close. */
const struct dataset_info *dataset_info(const struct dataset *d);

/* Let dataset_read also multiply each feature by a factor of its own. factor [n_features] is
 * borrowed; its values may be changed while no dataset_read runs. NULL: no factors.
 */
void dataset_set_factors(struct dataset *d, const float *factor);

/* Read the samples with the numbers index [n] (0 .. n_samples - 1, in any order) into x [n,
 * n_features], each value multiplied by scale and the feature's factor, and their labels into label
 * [n]. Return 0 or a negative errno. Can be called from any thread.
 */
int dataset_read(struct dataset *d, const int64_t *index, int64_t n, float scale, float *x,
                 int32_t *label, struct eddis_error *err);

/* Close the file and free d.  Accept NULL. */
void dataset_close(struct dataset *d);

#endif
