/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.h - rows of bench/accuracy, and how they are printed */
#ifndef EDDIS_BENCH_ACCURACY_H
#define EDDIS_BENCH_ACCURACY_H

#include "lib/model/algorithm.h"

#include <stdbool.h>
#include <stdint.h>

enum { MAX_SEEDS = 64, BATCH = 256, SPEEDS = 4 };

#define TARGET 0.97
#define MARGIN 0.005 /* below one process that counts as no loss */

struct options {
    bool json, small, efficiency;
    bool wired;
    enum sync_wire wire; /* of the rows to measure where wired; else all rows, of float32 */
    int seeds, epochs;
    const char *data;
};

struct row {
    const char *name, *algorithm;
    int n, groups;
    int64_t period;
    bool alike;          /* the workers of a group; else one of each speed in turn */
    enum sync_wire wire; /* SYNC_WIRE_AUTO: float32 */
    double accuracy[MAX_SEEDS];
    double mean, half_width;                  /* of its 95 % interval */
    double difference, difference_half_width; /* to base_of, seed by seed */
    double epochs;                            /* until TARGET */
};

/* Print rows [n], of which the first is one process, as one JSON object; returns the exit status.
 */
int accuracy_print_json(const struct row *row, int n, const struct options *o);

/* The same as a table for people. */
void accuracy_print_table(const struct row *row, int n, const struct options *o);

#endif
