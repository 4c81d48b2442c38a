/* SPDX-License-Identifier: Apache-2.0 */
/* figures_fill.c - a job's status from what the workers' boards say */
#include "figures_spans.h"

#include "lib/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of the real plan when it has begun, in all generations. */
static double job_rate(const struct figures *f)
{
    int64_t samples, ns;

    if (!figures_spans_sum(f, figures_spans_real, &samples, &ns) &&
        !figures_spans_sum(f, figures_spans_all, &samples, &ns))
        samples = ns = 0;
    return figures_spans_per_s(f->past.all_samples + samples, f->past.all_ns + ns);
}

static double recent_rate(const struct figures *f)
{
    int64_t samples = 0, longest_ns = 0;

    for (int i = 0; i < f->n_workers; i++) {
        const struct progress *p = &f->worker[i].last;

        samples += p->recent_samples;
        longest_ns = p->recent.total_ns > longest_ns ? p->recent.total_ns : longest_ns;
    }
    return longest_ns > 0 ? (double)samples * CLOCK_S / (double)longest_ns : NAN;
}

static int64_t batch_in_force(const struct figures *f, int i)
{
    const struct plan_worker *pw = &f->plan->worker[i];
    const struct figures_worker *w = &f->worker[i];

    return f->real_version > 1 && w->seen && !w->real_begun ? pw->equal_batch : pw->batch;
}

/* b / (a + c b) of one worker, from the plan's model or as measured. */
static double own_speed(const struct figures *f, int i)
{
    const struct plan_worker *pw = &f->plan->worker[i];
    const struct figures_worker *w = &f->worker[i];
    int64_t batch = batch_in_force(f, i), ns;
    struct figures_mark from, to;

    if (pw->kind == DEVICE_EMULATED)
        return batch > 0 ? (double)batch / (pw->fixed_s + pw->sample_s * (double)batch) : 0;
    if (w->real_begun) {
        figures_spans_real(w, &from, &to);
        ns = to.sum.compute_ns - from.sum.compute_ns + to.sum.input_ns - from.sum.input_ns;
        if (ns > 0)
            return (double)(to.samples - from.samples) * CLOCK_S / (double)ns;
    }
    return f->plan->relative ? NAN : pw->samples_per_s;
}

static struct board_times difference(const struct board_times *a, const struct board_times *b)
{
    return (struct board_times){ a->input_ns - b->input_ns, a->compute_ns - b->compute_ns,
                                 a->exposed_ns - b->exposed_ns, a->wait_ns - b->wait_ns,
                                 a->total_ns - b->total_ns };
}

static double mean_ms(int64_t ns, int64_t steps)
{
    return steps > 0 ? (double)ns / CLOCK_MS / (double)steps : NAN;
}

/* The steps since the report before; when there were none, and at the end, all under the plan in
 * force.
 */
static void fill_times(const struct figures_worker *w, bool ended, struct worker_status *s)
{
    const struct progress *p = &w->last;
    struct figures_mark from = w->real_first, to = figures_spans_mark(p);
    bool recent = p->recent_steps > 0 && !ended;
    struct board_times t = recent ? p->recent : difference(&to.sum, &from.sum);
    int64_t n = recent ? p->recent_steps : to.steps - from.steps;
    int64_t samples = recent ? p->recent_samples : to.samples - from.samples;

    s->step_ms = mean_ms(t.total_ns, n);
    s->compute_ms = mean_ms(t.compute_ns, n);
    s->input_ms = mean_ms(t.input_ns, n);
    s->exposed_ms = mean_ms(t.exposed_ns, n);
    s->wait_ms = mean_ms(t.wait_ns, n);
    s->overrun_ms = mean_ms(p->overrun_ns, p->steps_here);
    if (t.total_ns > 0)
        s->samples_per_s = (double)samples * CLOCK_S / (double)t.total_ns;
}

/* From the samples that it had, not from its batch: the last step of an epoch is a shorter one. */
static double relative_speed(const struct figures_worker *w, const struct plan_worker *pw,
                             bool ended)
{
    struct figures_mark from = ended ? w->real_first : w->window[0],
                        to = figures_spans_mark(&w->last);
    struct board_times t = difference(&to.sum, &from.sum);
    int64_t n = to.steps - from.steps;
    double own_s = (double)(t.compute_ns + t.input_ns) / CLOCK_S;

    if (!w->real_begun || n < FIGURES_WINDOW || own_s <= 0)
        return NAN;
    return (pw->fixed_s * (double)n + pw->sample_s * (double)(to.samples - from.samples)) / own_s;
}

static const char *phase_name(int phase)
{
    static const char *const names[] = { "start",    "input",      "compute", "wait",
                                         "evaluate", "checkpoint", "done" };

    return phase >= 0 && phase < (int)(sizeof names / sizeof *names) ? names[phase] : "start";
}

static void fill_worker(const struct figures *f, int i, bool ended, int64_t now_ns,
                        struct worker_status *s)
{
    const struct plan_worker *pw = &f->plan->worker[i];
    const struct figures_worker *w = &f->worker[i];

    s->rank = i;
    (void)snprintf(s->node, sizeof s->node, "%s", f->plan->node[pw->node]);
    (void)snprintf(s->device, sizeof s->device, "%s", pw->device);
    s->batch = batch_in_force(f, i);
    s->group = pw->group;
    s->staleness = w->last.staleness;
    s->expected_ms = f->plan->relative
                         ? NAN
                         : 1e3 * (s->batch ? pw->fixed_s + pw->sample_s * (double)s->batch : 0);
    (void)snprintf(s->state, sizeof s->state, "%s",
                   w->end[0] ? w->end
                   : w->seen ? phase_name(w->last.phase)
                             : "waiting");
    if (!w->seen)
        return;
    s->pid = w->last.pid;
    s->steps_done = w->last.steps_done;
    if (w->last.page_age_ns >= 0)
        s->last_step_age_s = (double)(w->last.page_age_ns + now_ns - w->seen_ns) / CLOCK_S;
    if (w->last.steps_done > 0)
        fill_times(w, ended, s);
    if (!f->plan->relative)
        s->relative_speed = relative_speed(w, pw, ended);
}

/* Mean of the workers' last losses, by the samples that they stand for. */
static double mean_loss(const struct figures *f)
{
    double sum = 0, weight = 0;

    for (int i = 0; i < f->n_workers; i++) {
        const struct figures_worker *w = &f->worker[i];
        double b = (double)f->plan->worker[i].batch;

        if (!w->seen || !isfinite(w->last.loss) || b <= 0)
            continue;
        sum += b * w->last.loss;
        weight += b;
    }
    return weight > 0 ? sum / weight : NAN;
}

static double metric(const struct figures *f, const char *name)
{
    const struct progress *p = &f->worker[0].last;

    for (int i = 0; i < BOARD_METRICS; i++)
        if (strncmp(p->metric[i].name, name, BOARD_METRIC_NAME) == 0)
            return p->metric[i].value;
    return NAN;
}

static void fill_steps(const struct figures *f, struct job_status *s)
{
    const struct progress *p = &f->worker[0].last;

    s->steps_done = figures_steps(f);
    s->steps_total = p->steps_total;
    s->epochs = p->epochs;
    s->epoch = 0;
    if (p->steps_in_epoch > 0)
        s->epoch = s->steps_done / p->steps_in_epoch + 1;
    if (s->epochs > 0 && s->epoch > s->epochs)
        s->epoch = s->epochs;
    s->samples = f->past.samples;
    for (int i = 0; i < f->n_workers; i++)
        s->samples += f->worker[i].last.samples_done;
}

static void fill_rates(const struct figures *f, struct job_status *s)
{
    const struct plan *p = f->plan;

    s->samples_per_s = job_rate(f);
    s->recent_samples_per_s = recent_rate(f);
    s->equal_measured_samples_per_s =
        f->real_version > 1               ? figures_spans_rate(f, figures_spans_equal)
        : f->past.equal_samples_per_s > 0 ? f->past.equal_samples_per_s
                                          : NAN;
    s->predicted_samples_per_s = p->relative ? NAN : p->predicted_samples_per_s;
    s->equal_predicted_samples_per_s = p->relative ? NAN : p->equal_samples_per_s;
    s->ideal_samples_per_s = 0;
    for (int i = 0; i < f->n_workers; i++)
        s->ideal_samples_per_s += own_speed(f, i);
    s->eta_s = NAN;
    if (s->steps_total > 0 && s->recent_samples_per_s > 0)
        s->eta_s = (double)(s->steps_total - s->steps_done) * (double)p->global_batch /
                   s->recent_samples_per_s;
}

void figures_fill(const struct figures *f, int64_t now_ns, struct job_status *s)
{
    if (!f->plan || s->n_workers != f->n_workers)
        return;
    for (int i = 0; i < f->n_workers; i++)
        fill_worker(f, i, s->state == JOB_ENDED, now_ns, &s->worker[i]);
    s->global_batch = f->plan->global_batch;
    s->loss = mean_loss(f);
    s->accuracy = metric(f, "test_accuracy");
    s->test_loss = metric(f, "test_loss");
    s->emulated = f->plan->emulated;
    fill_steps(f, s);
    fill_rates(f, s);
}
