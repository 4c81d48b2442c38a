/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - labelled samples in a file, read by number
 *
 * CSV: one sample per line, see csv_row.h; separator, column names and row numbers are detected by
 * csv_form.h.  IDX: the format of MNIST, unsigned bytes, images and labels in two files.  Both
 * formats may be gzipped.
 *
 * Data that fits into memory_bytes is kept in memory: as bytes if all values are whole numbers from
 * 0 to 255, else as floats.  Larger data is read from the file in blocks, again for each epoch: IDX
 * rows by their position, CSV rows through an index of every k-th row's offset of at most 2 MB.
 * Gzip has no positions, so a large gzipped file is first unpacked into an unnamed file in
 * temporary_folder.
 */
#ifndef EDDIS_DATA_DATASET_H
#define EDDIS_DATA_DATASET_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* An option that is detected from the file (AUTO), or set by the user. */
enum dataset_choice { DATASET_AUTO, DATASET_YES, DATASET_NO };

/* The options of dataset_open. */
struct dataset_options {
    const char *path;                /* CSV, or IDX images if labels is set */
    const char *labels;              /* IDX labels, or NULL */
    bool label_first;                /* CSV: the label is the first field; false: the last */
    enum dataset_choice header;      /* CSV: the first line has column names */
    enum dataset_choice row_numbers; /* CSV: the first column numbers the rows and is no feature */
    /* CSV: labels are these texts, sorted; NULL: the labels of the file */
    const char *const *class_names;
    int32_t n_class_names;
    int64_t memory_bytes;         /* largest size kept in memory; 0: 1 GiB */
    const char *temporary_folder; /* folder for unpacked data; NULL: /var/tmp */
};

/* The properties of an open file. */
struct dataset_info {
    int64_t n_samples, n_features;
    int32_t n_classes;               /* largest label + 1 */
    const char *const *class_names;  /* [n_classes], sorted, if labels are text; else NULL */
    int64_t height, width, channels; /* of IDX images; 0: not in the file */
    double min, max;                 /* of all features, unscaled */
    /* [n_features] range of each feature of a CSV file; else NULL */
    const float *column_min, *column_max;
    bool in_memory;
    bool row_numbers;                   /* the first column was left out as row numbers */
    const char *header_note, *row_note; /* explanations of what was detected; "" if obvious */
};

struct dataset;

/* Open a data set and check every byte of it; the caller closes *ret with dataset_close.  -EINVAL:
 * the file is malformed; the error names the line or offset.
 */
int dataset_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err);

/* Borrow the file's properties, until dataset_close. */
const struct dataset_info *dataset_info(const struct dataset *d);

/* Also multiply each feature by its own factor from now on; factor [n_features] is borrowed and may
 * change while nothing is read.  NULL: no factors.
 */
void dataset_set_factors(struct dataset *d, const float *factor);

/* Read the samples index [n] (0 .. n_samples - 1, in any order) to x [n, n_features], each value
 * multiplied by scale and its factor, and their labels to label [n].  Callable from any thread.
 */
int dataset_read(struct dataset *d, const int64_t *index, int64_t n, float scale, float *x,
                 int32_t *label, struct eddis_error *err);

/* Close the file and free d.  Accept NULL. */
void dataset_close(struct dataset *d);

#endif
