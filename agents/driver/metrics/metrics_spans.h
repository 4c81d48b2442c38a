/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_spans.h - compute samples and step times of workers between two marks */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_SPANS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_SPANS_H

#include "metrics.h"

/* Chooses the marks *from and *to between which a worker's steps count. */
typedef void (*figures_spans_fn)(const struct figures_worker *w, struct figures_mark *from,
                                 struct figures_mark *to);

/* Choose all steps of the worker. */
void figures_spans_all(const struct figures_worker *w, struct figures_mark *from,
                       struct figures_mark *to);

/* Choose the worker's steps under the real plan; none before it has begun. */
void figures_spans_real(const struct figures_worker *w, struct figures_mark *from,
                        struct figures_mark *to);

/* Choose the worker's steps under the equal split before the real plan.  Its slow first steps are
 * left out if enough follow and the real plan has begun.
 */
void figures_spans_equal(const struct figures_worker *w, struct figures_mark *from,
                         struct figures_mark *to);

/* Return a worker's present steps, samples and step times as a mark. */
struct figures_mark figures_spans_mark(const struct progress *p);

/* Check whether steps come from the workers' output or from reported step numbers alone.  Then some
 * workers may report none.
 */
bool figures_spans_told(const struct figures *f);

/* Add up the samples of all workers and find the longest of their step times.  Return false if a
 * worker is unknown or no time has passed.
 */
bool figures_spans_sum(const struct figures *f, figures_spans_fn marks, int64_t *samples,
                       int64_t *longest_ns);

/* Add up samples and find the longest step time, as figures_spans_sum does, over the real plan, or
 * over all steps if it has not begun.  Return false, with both 0, if no step has ended.
 */
bool figures_spans_here(const struct figures *f, int64_t *samples, int64_t *longest_ns);

/* Return samples per second; NAN if ns is 0. */
double figures_spans_per_s(int64_t samples, int64_t ns);

/* Return a worker's samples per second of computing and input time between two marks; NAN: no such
 * time is known.
 */
double figures_spans_own_speed(const struct figures_mark *from, const struct figures_mark *to);

/* Return the samples per second of all workers over the longest step time; NAN: unknown. */
double figures_spans_rate(const struct figures *f, figures_spans_fn marks);

/* Return the sum of every worker's samples divided by its own step time; NAN: unknown.  Use it if
 * the workers' marks are steps apart.
 */
double figures_spans_rates(const struct figures *f, figures_spans_fn marks);

#endif
