/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_spans.h - compute samples and step times of workers between two marks */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_SPANS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_SPANS_H

#include "metrics.h"

/* Type of a function that stores in *from and *to the marks between which a worker's steps count */
typedef void (*metrics_spans_fn)(const struct metrics_worker *w, struct metrics_mark *from,
                                 struct metrics_mark *to);

/* Choose the marks around all steps of the worker. */
void metrics_spans_all(const struct metrics_worker *w, struct metrics_mark *from,
                       struct metrics_mark *to);

/* Choose the marks around the worker's steps under the real plan; no steps if it has not begun. */
void metrics_spans_real(const struct metrics_worker *w, struct metrics_mark *from,
                        struct metrics_mark *to);

/* Choose the marks around the worker's steps under the equal split before the real plan. The slow
 * first steps are left out if enough steps follow and the real plan has begun.
 */
void metrics_spans_equal(const struct metrics_worker *w, struct metrics_mark *from,
                         struct metrics_mark *to);

/* Return a worker's present steps, samples and step times as a mark. */
struct metrics_mark metrics_spans_mark(const struct progress *p);

/* Check whether a worker has reported steps without any samples, whose number is then unknown. */
bool metrics_spans_uncounted(const struct progress *p);

/* Check whether steps come from the workers' output or from reported step numbers alone, in which
 * case some workers may report no steps.
 */
bool metrics_spans_reported(const struct metrics *f);

/* Add up the samples of all workers and find the longest of their step times, over the real plan,
 * or over all steps if it has not begun.  Return false, with both 0, if no step has ended.
 */
bool metrics_spans_here(const struct metrics *f, int64_t *samples, int64_t *longest_ns);

/* Return the rate of `samples` in ns, in samples per second; NAN if ns is 0. */
double metrics_spans_per_s(int64_t samples, int64_t ns);

/* Return a worker's samples divided by its computing and input time between two marks, in samples
 * per second; NAN: this time is unknown.
 */
double metrics_spans_own_speed(const struct metrics_mark *from, const struct metrics_mark *to);

/* Return the samples of all workers between the marks, divided by the longest total step time of a
 * worker, in samples per second; NAN: unknown.
 */
double metrics_spans_rate(const struct metrics *f, metrics_spans_fn marks);

/* Return the sum over workers of the worker's samples divided by its own step time; NAN: unknown.
 * To be used if the workers' marks are not at the same step.
 */
double metrics_spans_rates(const struct metrics *f, metrics_spans_fn marks);

#endif
