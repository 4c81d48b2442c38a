/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.h - the rows that bench/accuracy measures, and how they are printed */
#ifndef EDDIS_BENCH_ACCURACY_H
#define EDDIS_BENCH_ACCURACY_H

#include "lib/model/algorithm.h"

#include <stdbool.h>
#include <stdint.h>

enum { MAX_SEEDS = 64, BATCH = 256, SPEEDS = 4 };

#define TARGET 0.97
#define MARGIN 0.005 /* loss of accuracy beside one process that counts as none */

/* Command-line options. */
struct options {
    bool json, small, efficiency;
    bool rounds; /* efficiency is that of algorithms with rounds */
    bool wired;
    enum sync_wire wire; /* if wired: the format of gradients to measure, beside float32 */
    int seeds, epochs;
    double rate; /* learning rate */
    const char *data;
};

/* One setting and its results over all seeds. */
struct row {
    const char *name, *algorithm;
    int n, groups;
    int64_t period;
    bool alike;          /* workers of a group have one speed; else one of each speed in turn */
    enum sync_wire wire; /* SYNC_WIRE_AUTO: float32 */
    bool unbroken;       /* all epochs are one, so that no round ends with an epoch */
    double accuracy[MAX_SEEDS];
    double mean, half_width;                  /* mean accuracy; half of its 95 % interval */
    double difference, difference_half_width; /* to the row it is compared with, seed by seed */
    double epochs;                            /* epochs until TARGET is reached */
};

/* Print n rows as one JSON object; row 0 is the run with one process.  Return the exit status. */
int accuracy_print_json(const struct row *row, int n, const struct options *o);

/* Print n rows as a table; row 0 is the run with one process. */
void accuracy_print_table(const struct row *row, int n, const struct options *o);

#endif
