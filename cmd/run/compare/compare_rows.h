/* SPDX-License-Identifier: Apache-2.0 */
/* compare_rows.h - the figures of each mode, from its runs, and which mode is best
 *
 * The efficiency of a mode is the number of samples that sync needed by the number that the mode
 * needed, for the same progress. That progress is the target, if it is an accuracy or a loss and
 * all runs of both modes have reached it. Otherwise it is the smoothed training loss that the worse
 * of the two runs of a seed had at its end.
 */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_ROWS_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_ROWS_H

#include "cmd/run/compare/compare_json.h"

/* Fill c->row, c->n_rows, c->best, c->final_is and c->finished from c->run. */
void compare_rows_fill(struct compare *c);

/* Return half of the 95 % interval of the mean of x [n], by Student's t; NAN for n below 2. */
double compare_interval(const double *x, int n);

/* Return the shortest time to the target of a run that has reached it, in seconds; NAN: no run has.
 */
double compare_best_s(const struct compare *c);

/* Borrow the best row, and in *ret_second the best of the others; each is NULL if no mode can be
 * compared.
 */
const struct compare_row *compare_rows_best(const struct compare *c,
                                            const struct compare_row **ret_second);

/* Return how much better a row is than another one, as a factor: at an accuracy or a loss as target
 * the inverse ratio of their times to it, otherwise the ratio of their progress, samples/s times
 * efficiency; NAN: one of them is not known.
 */
double compare_rows_gain(const struct compare *c, const struct compare_row *a,
                         const struct compare_row *b);

#endif
