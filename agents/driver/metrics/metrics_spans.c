/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_spans.c - samples and step times of workers between two marks */
#include "metrics_spans.h"

#include "lib/base/clock.h"

#include <math.h>

struct metrics_mark metrics_spans_mark(const struct progress *p)
{
    return (struct metrics_mark){ p->steps_here, p->samples_done, p->sum };
}

double metrics_spans_per_s(int64_t samples, int64_t ns)
{
    return ns > 0 ? (double)samples * CLOCK_S / (double)ns : NAN;
}

double metrics_spans_own_speed(const struct metrics_mark *from, const struct metrics_mark *to)
{
    return metrics_spans_per_s(to->samples - from->samples,
                               to->sum.compute_ns - from->sum.compute_ns + to->sum.input_ns -
                                   from->sum.input_ns);
}

bool metrics_spans_uncounted(const struct progress *p)
{
    return p->steps_only && p->steps_here > 0 && p->samples_done == 0;
}

bool metrics_spans_reported(const struct metrics *f)
{
    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].last.steps_only)
            return true;
    return f->printed;
}

/* Store in *samples the sum of the samples of all workers between their marks, and in *longest_ns
 * the longest of their step times.  Return true if every worker is known and time has passed;
 * otherwise false, and the two values mean nothing.
 */
static bool add_up(const struct metrics *f, metrics_spans_fn marks, int64_t *samples,
                   int64_t *longest_ns)
{
    bool reported = metrics_spans_reported(f);

    *samples = *longest_ns = 0;
    for (int i = 0; i < f->n_workers; i++) {
        struct metrics_mark from, to;
        int64_t ns;

        if (!f->worker[i].seen && reported)
            continue;
        if (!f->worker[i].seen)
            return false;
        marks(&f->worker[i], &from, &to);
        ns = to.sum.total_ns - from.sum.total_ns;
        *samples += to.samples - from.samples;
        *longest_ns = ns > *longest_ns ? ns : *longest_ns;
    }
    return *longest_ns > 0;
}

bool metrics_spans_here(const struct metrics *f, int64_t *samples, int64_t *longest_ns)
{
    if (add_up(f, metrics_spans_real, samples, longest_ns) ||
        add_up(f, metrics_spans_all, samples, longest_ns))
        return true;
    *samples = *longest_ns = 0;
    return false;
}

double metrics_spans_rate(const struct metrics *f, metrics_spans_fn marks)
{
    int64_t samples, ns;

    return add_up(f, marks, &samples, &ns) ? metrics_spans_per_s(samples, ns) : NAN;
}

double metrics_spans_rates(const struct metrics *f, metrics_spans_fn marks)
{
    double sum = 0;

    for (int i = 0; i < f->n_workers; i++) {
        struct metrics_mark from, to;

        if (!f->worker[i].seen)
            return NAN;
        marks(&f->worker[i], &from, &to);
        sum += metrics_spans_per_s(to.samples - from.samples, to.sum.total_ns - from.sum.total_ns);
    }
    return f->n_workers > 0 ? sum : NAN;
}

void metrics_spans_all(const struct metrics_worker *w, struct metrics_mark *from,
                       struct metrics_mark *to)
{
    *from = (struct metrics_mark){ 0 };
    *to = metrics_spans_mark(&w->last);
}

void metrics_spans_real(const struct metrics_worker *w, struct metrics_mark *from,
                        struct metrics_mark *to)
{
    *to = metrics_spans_mark(&w->last);
    *from = w->real_begun ? w->real_first : *to;
}

void metrics_spans_equal(const struct metrics_worker *w, struct metrics_mark *from,
                         struct metrics_mark *to)
{
    *to = w->real_begun ? w->real_first : metrics_spans_mark(&w->last);
    *from = w->real_begun && to->steps >= w->warm.steps + PROTOCOL_COLD_STEPS
                ? w->warm
                : (struct metrics_mark){ 0 };
}
