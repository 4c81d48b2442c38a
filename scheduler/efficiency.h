/* SPDX-License-Identifier: Apache-2.0 */
/* efficiency.h - the progress per sample of an algorithm, as far as it was measured for a program
 *
 * The table of lib/model/algorithm was measured with one small program. The losses of a program's
 * jobs in several modes, or a comparison of modes (eddis-run --compare), show the efficiency of the
 * program itself, for the numbers of models and the periods that it trained with. The table is
 * scaled to agree with these measurements.
 */
#ifndef EDDIS_SCHEDULER_EFFICIENCY_H
#define EDDIS_SCHEDULER_EFFICIENCY_H

#include "lib/model/algorithm.h"

#include <stdbool.h>
#include <stdint.h>

enum { EFFICIENCY_KEY = 64 };

/* A measurement */
struct efficiency_row {
    char key[EFFICIENCY_KEY]; /* from efficiency_key: equal for measurements of the same */
    char algorithm[16];
    int64_t writers;  /* number of models that were trained */
    int64_t period;   /* steps between exchanges of models */
    int64_t batch;    /* global batch, in samples */
    double value;     /* samples that sync needed / samples that this algorithm needed */
    int64_t learnt_s; /* wall-clock time of the measurement, in seconds */
};

/* The measurements of a program, borrowed; all 0: there are none */
struct efficiencies {
    const struct efficiency_row *row; /* [n] in any order */
    int n;
    int64_t batch; /* global batch of the plan; only measurements with this batch are used */
};

/* Fill in the key of a measurement whose other members are set. */
void efficiency_key(struct efficiency_row *row);

/* Check whether the algorithm was measured with the plan's global batch. */
bool efficiency_is_measured(const struct efficiencies *e, const struct algorithm *a);

/* Return the progress per sample relative to sync with this number of models and this period: what
 * was measured, at most EFFICIENCY_MOST; or, at most 1, the table's value (algorithm_efficiency)
 * times the factors by which measurements differ from it; near measurements, by the logarithms of
 * models and period, count more. e may be NULL.
 */
double efficiency_of(const struct efficiencies *e, const struct algorithm *a, int writers,
                     int64_t period);

/* Largest efficiency that is believed: more is chance. */
#define EFFICIENCY_MOST 1.25

#endif
