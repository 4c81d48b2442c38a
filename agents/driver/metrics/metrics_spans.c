/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_spans.c - samples and step times of workers between two marks */
#include "metrics_spans.h"

#include "lib/base/clock.h"

#include <math.h>

struct figures_mark figures_spans_mark(const struct progress *p)
{
    return (struct figures_mark){ p->steps_here, p->samples_done, p->sum };
}

double figures_spans_per_s(int64_t samples, int64_t ns)
{
    return ns > 0 ? (double)samples * CLOCK_S / (double)ns : NAN;
}

double figures_spans_own_speed(const struct figures_mark *from, const struct figures_mark *to)
{
    return figures_spans_per_s(to->samples - from->samples,
                               to->sum.compute_ns - from->sum.compute_ns + to->sum.input_ns -
                                   from->sum.input_ns);
}

bool figures_spans_told(const struct figures *f)
{
    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].last.told)
            return true;
    return f->printed;
}

bool figures_spans_sum(const struct figures *f, figures_spans_fn marks, int64_t *samples,
                       int64_t *longest_ns)
{
    bool told = figures_spans_told(f);

    *samples = *longest_ns = 0;
    for (int i = 0; i < f->n_workers; i++) {
        struct figures_mark from, to;
        int64_t ns;

        if (!f->worker[i].seen && told)
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

bool figures_spans_here(const struct figures *f, int64_t *samples, int64_t *longest_ns)
{
    if (figures_spans_sum(f, figures_spans_real, samples, longest_ns) ||
        figures_spans_sum(f, figures_spans_all, samples, longest_ns))
        return true;
    *samples = *longest_ns = 0;
    return false;
}

double figures_spans_rate(const struct figures *f, figures_spans_fn marks)
{
    int64_t samples, ns;

    return figures_spans_sum(f, marks, &samples, &ns) ? figures_spans_per_s(samples, ns) : NAN;
}

double figures_spans_rates(const struct figures *f, figures_spans_fn marks)
{
    double sum = 0;

    for (int i = 0; i < f->n_workers; i++) {
        struct figures_mark from, to;

        if (!f->worker[i].seen)
            return NAN;
        marks(&f->worker[i], &from, &to);
        sum += figures_spans_per_s(to.samples - from.samples, to.sum.total_ns - from.sum.total_ns);
    }
    return f->n_workers > 0 ? sum : NAN;
}

void figures_spans_all(const struct figures_worker *w, struct figures_mark *from,
                       struct figures_mark *to)
{
    *from = (struct figures_mark){ 0 };
    *to = figures_spans_mark(&w->last);
}

void figures_spans_real(const struct figures_worker *w, struct figures_mark *from,
                        struct figures_mark *to)
{
    *to = figures_spans_mark(&w->last);
    *from = w->real_begun ? w->real_first : *to;
}

void figures_spans_equal(const struct figures_worker *w, struct figures_mark *from,
                         struct figures_mark *to)
{
    *to = w->real_begun ? w->real_first : figures_spans_mark(&w->last);
    *from = w->real_begun && to->steps >= w->warm.steps + PROTOCOL_COLD_STEPS
                ? w->warm
                : (struct figures_mark){ 0 };
}
