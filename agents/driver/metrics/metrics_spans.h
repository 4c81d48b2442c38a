/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_spans.h - samples and step times of workers between two marks, for the figures of a job
 */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_SPANS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_SPANS_H

#include "metrics.h"

/* Writes the marks between which a worker's steps count. */
typedef void (*figures_spans_fn)(const struct figures_worker *w, struct figures_mark *from,
                                 struct figures_mark *to);

/* All steps of the worker, those under the real plan, and those under the equal split before it, of
 * which the first are left out where enough follow and the real plan has begun.
 */
void figures_spans_all(const struct figures_worker *w, struct figures_mark *from,
                       struct figures_mark *to);
void figures_spans_real(const struct figures_worker *w, struct figures_mark *from,
                        struct figures_mark *to);
void figures_spans_equal(const struct figures_worker *w, struct figures_mark *from,
                         struct figures_mark *to);

/* Return where a worker is. */
struct figures_mark figures_spans_mark(const struct progress *p);

/* Whether workers tell the numbers of their steps alone, or print them: maybe not all of them. */
bool figures_spans_told(const struct figures *f);

/* Add up the samples of all workers, and find the longest of their step times.  Returns false when
 * that of one is not known.
 */
bool figures_spans_sum(const struct figures *f, figures_spans_fn marks, int64_t *samples,
                       int64_t *longest_ns);

/* The same of the real plan when it has begun, else of all steps.  Returns false, and 0: none has
 * ended.
 */
bool figures_spans_here(const struct figures *f, int64_t *samples, int64_t *longest_ns);

/* Return samples per second, NAN in no time. */
double figures_spans_per_s(int64_t samples, int64_t ns);

/* Return the samples per second of a worker's computing and input between two marks; NAN: no time
 * of these is known.
 */
double figures_spans_own_speed(const struct figures_mark *from, const struct figures_mark *to);

/* Return the samples per second of all workers together, NAN when they are not known. */
double figures_spans_rate(const struct figures *f, figures_spans_fn marks);

/* The same where workers' marks are steps apart: the sum of what each has done by its own time. */
double figures_spans_rates(const struct figures *f, figures_spans_fn marks);

#endif
