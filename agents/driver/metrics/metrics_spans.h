/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_spans.h - compute samples and step times of workers between two marks */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_SPANS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_SPANS_H

#include "metrics.h"

/* Chooses the marks *from and *to between which a worker's steps count. */
typedef void (*metrics_spans_fn)(const struct metrics_worker *w, struct metrics_mark *from,
                                 struct metrics_mark *to);

/* Choose all steps of the worker. */
void metrics_spans_all(const struct metrics_worker *w, struct metrics_mark *from,
                       struct metrics_mark *to);

/* Choose the worker's steps under the real plan; none before it has begun. */
void metrics_spans_real(const struct metrics_worker *w, struct metrics_mark *from,
                        struct metrics_mark *to);

/* Choose the worker's steps under the equal split before the real plan.  Its slow first steps are
 * left out if enough follow and the real plan has begun.
 */
void metrics_spans_equal(const struct metrics_worker *w, struct metrics_mark *from,
                         struct metrics_mark *to);

/* Return a worker's present steps, samples and step times as a mark. */
struct metrics_mark metrics_spans_mark(const struct progress *p);

/* Check whether steps come from the workers' output or from reported step numbers alone.  Then some
 * workers may report none.
 */
bool metrics_spans_reported(const struct metrics *f);

/* Add up the samples of all workers and find the longest of their step times, over the real plan,
 * or over all steps if it has not begun.  Return false, with both 0, if no step has ended.
 */
bool metrics_spans_here(const struct metrics *f, int64_t *samples, int64_t *longest_ns);

/* Return samples per second; NAN if ns is 0. */
double metrics_spans_per_s(int64_t samples, int64_t ns);

/* Return a worker's samples per second of computing and input time between two marks; NAN: no such
 * time is known.
 */
double metrics_spans_own_speed(const struct metrics_mark *from, const struct metrics_mark *to);

/* Return the samples per second of all workers over the longest step time; NAN: unknown. */
double metrics_spans_rate(const struct metrics *f, metrics_spans_fn marks);

/* Return the sum of every worker's samples divided by its own step time; NAN: unknown.  Use it if
 * the workers' marks are steps apart.
 */
double metrics_spans_rates(const struct metrics *f, metrics_spans_fn marks);

#endif
