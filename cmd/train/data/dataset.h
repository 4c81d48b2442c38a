/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - labelled samples in a file, read by number
 *
 * CSV: one sample a line, see csv_row.h; separator, column names and row numbers are found out as
 * csv_form.h says.  IDX: the format
 * of MNIST, unsigned bytes, images and labels in two files.  Both may be gzipped.
 *
 * What fits into memory_bytes is held in memory, as bytes where all values are whole numbers from
 * 0 to 255 and as floats otherwise.  What does not is read from the file in blocks, again for each
 * epoch: IDX rows by their position, CSV rows through an index of every k-th row's offset that
 * never exceeds 2 MB.  Gzip knows no positions, so a large gzipped file is first unpacked into a
 * file without a name in temporary_folder.
 */
#ifndef EDDIS_DATA_DATASET_H
#define EDDIS_DATA_DATASET_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What is found out by the file, or said. */
enum dataset_choice { DATASET_AUTO, DATASET_NO, DATASET_YES };

struct dataset_options {
    const char *path;                /* CSV, or IDX images when labels is set */
    const char *labels;              /* IDX labels, or NULL */
    bool label_first;                /* CSV: the label is the first field, not the last */
    enum dataset_choice header;      /* CSV: whether the first line has column names */
    enum dataset_choice row_numbers; /* CSV: whether the first column is no feature */
    const char *const *class_names; /* CSV: labels are these texts, sorted; NULL: as the file has */
    int32_t n_class_names;
    int64_t memory_bytes;         /* 0: 1 GiB */
    const char *temporary_folder; /* NULL: /var/tmp */
};

struct dataset_info {
    int64_t n_samples, n_features;
    int32_t n_classes;               /* largest label + 1 */
    const char *const *class_names;  /* [n_classes], sorted, of labels that are text; or NULL */
    int64_t height, width, channels; /* of IDX images; 0 where the file does not say */
    double min, max;                 /* of all features, as they are in the file */
    const float *column_min, *column_max; /* [n_features] of CSV; else NULL */
    bool in_memory;
    bool row_numbers;                   /* the first column was left out */
    const char *header_note, *row_note; /* sentences for people; or "" */
};

struct dataset;

/* Open a file and check every byte of it.  The caller closes it with dataset_close.  -EINVAL: what
 * is wrong with the file, with its line or offset.
 */
int dataset_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err);

/* Borrow what is known of the file, until dataset_close. */
const struct dataset_info *dataset_info(const struct dataset *d);

/* Multiply each feature by a factor of its own, too, from now on; factor [n_features] is borrowed,
 * and may be changed while nothing is read.  NULL: none.
 */
void dataset_set_factors(struct dataset *d, const float *factor);

/* Write samples index [n], 0 .. n_samples - 1 in any order, to x [n, n_features], each value
 * multiplied by scale and its factor, and their labels to label [n].  Any thread.
 */
int dataset_read(struct dataset *d, const int64_t *index, int64_t n, float scale, float *x,
                 int32_t *label, struct eddis_error *err);

/* Close the file and free d, which may be NULL. */
void dataset_close(struct dataset *d);

#endif
