/* SPDX-License-Identifier: Apache-2.0 */
#include "figures.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* First steps map memory and warm caches; they say little about the equal split's speed. */
enum { FIGURES_WARM_UP = 3 };

int figures_init(struct figures *f, const struct plan *plan, int64_t real_version,
                 struct eddis_error *err)
{
    *f = (struct figures){ .plan = plan, .real_version = real_version };
    f->worker = calloc((size_t)plan->n_workers, sizeof *f->worker);
    if (!f->worker)
        return eddis_fail(err, -ENOMEM, "no memory for %d workers", plan->n_workers);
    f->n_workers = plan->n_workers;
    return 0;
}

void figures_fini(struct figures *f)
{
    free(f->worker);
    *f = (struct figures){ 0 };
}

static struct figures_mark mark_of(const struct progress *p)
{
    return (struct figures_mark){ true, p->steps_done, p->samples_done, p->sum };
}

/* Whether all finished steps were done before the real plan took force. */
static bool before_real(const struct figures *f, const struct progress *p)
{
    return p->plan_version < f->real_version || p->plan_since < 0 || p->steps_done <= p->plan_since;
}

void figures_progress(struct figures *f, const struct progress *p, int64_t now_ns)
{
    struct figures_worker *w;

    if (p->rank < 0 || p->rank >= f->n_workers)
        return;
    w = &f->worker[p->rank];
    if (!w->seen) /* after a resume the first step is not number 0 */
        w->first.steps = p->steps_done - p->recent_steps;
    w->seen = w->first.set = true;
    w->seen_ns = now_ns;
    w->last = *p;
    if (f->real_version == 1) {
        w->real_first = w->first;
    } else if (before_real(f, p)) {
        if (p->steps_done > 0 && (!w->equal_first.set || w->equal_first.steps < FIGURES_WARM_UP)) {
            w->equal_first = mark_of(p);
            w->equal_last = (struct figures_mark){ 0 };
        } else if (p->steps_done > w->equal_first.steps) {
            w->equal_last = mark_of(p);
        }
    } else if (!w->real_first.set) {
        w->real_first = mark_of(p);
    }
}

void figures_end(struct figures *f, int rank, const char *how)
{
    if (rank >= 0 && rank < f->n_workers)
        (void)snprintf(f->worker[rank].end, sizeof f->worker[rank].end, "%s", how);
}

int64_t figures_steps(const struct figures *f)
{
    int64_t n = INT64_MAX;

    for (int i = 0; i < f->n_workers; i++) {
        int64_t steps = f->worker[i].seen ? f->worker[i].last.steps_done : 0;

        n = steps < n ? steps : n;
    }
    return f->n_workers ? n : 0;
}

/* Samples of all workers over the longest of their step times, between two marks; NAN: none. */
static double rate_between(const struct figures *f,
                           bool (*marks)(const struct figures_worker *w, struct figures_mark *from,
                                         struct figures_mark *to))
{
    int64_t samples = 0, longest_ns = 0;

    for (int i = 0; i < f->n_workers; i++) {
        struct figures_mark from, to;
        int64_t ns;

        if (!f->worker[i].seen || !marks(&f->worker[i], &from, &to))
            return NAN;
        ns = to.sum.total_ns - from.sum.total_ns;
        samples += to.samples - from.samples;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns > 0 ? (double)samples * CLOCK_S / (double)longest_ns : NAN;
}

static bool real_marks(const struct figures_worker *w, struct figures_mark *from,
                       struct figures_mark *to)
{
    *from = w->real_first;
    *to = mark_of(&w->last);
    return from->set && to->steps > from->steps;
}

/* When only one report came in time, its steps count from the very first. */
static bool equal_marks(const struct figures_worker *w, struct figures_mark *from,
                        struct figures_mark *to)
{
    *from = w->equal_last.set ? w->equal_first : w->first;
    *to = w->equal_last.set ? w->equal_last : w->equal_first;
    return to->set && to->steps > from->steps;
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

/* b / (a + c b) of one worker, from the plan's model or as measured. */
static double own_speed(const struct figures *f, int i)
{
    const struct plan_worker *pw = &f->plan->worker[i];
    const struct figures_worker *w = &f->worker[i];
    struct figures_mark from, to;
    int64_t ns;

    if (pw->kind == DEVICE_EMULATED)
        return pw->batch > 0 ? (double)pw->batch / (pw->fixed_s + pw->sample_s * (double)pw->batch)
                             : 0;
    if (w->seen && real_marks(w, &from, &to)) {
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

/* The steps since the report before; when there were none, all under the plan in force. */
static void fill_times(const struct figures_worker *w, const struct plan_worker *pw, bool relative,
                       struct worker_status *s)
{
    const struct progress *p = &w->last;
    struct figures_mark from = w->real_first.set ? w->real_first : w->first, to = mark_of(p);
    bool recent = p->recent_steps > 0;
    struct board_times t = recent ? p->recent : difference(&to.sum, &from.sum);
    int64_t n = recent ? p->recent_steps : to.steps - from.steps;
    int64_t samples = recent ? p->recent_samples : to.samples - from.samples;
    double own_ms;

    s->step_ms = mean_ms(t.total_ns, n);
    s->compute_ms = mean_ms(t.compute_ns, n);
    s->input_ms = mean_ms(t.input_ns, n);
    s->exposed_ms = mean_ms(t.exposed_ns, n);
    s->wait_ms = mean_ms(t.wait_ns, n);
    s->overrun_ms = mean_ms(p->overrun_ns, p->steps_done - w->first.steps);
    if (t.total_ns > 0)
        s->samples_per_s = (double)samples * CLOCK_S / (double)t.total_ns;
    own_ms = s->compute_ms + s->input_ms;
    /* Not expected_ms: the last step of an epoch is shorter than the others. */
    if (own_ms > 0 && !relative)
        s->relative_speed =
            1e3 * (pw->fixed_s + pw->sample_s * (double)samples / (double)n) / own_ms;
}

static const char *phase_name(int phase)
{
    static const char *const names[] = { "start",    "input",      "compute", "wait",
                                         "evaluate", "checkpoint", "done" };

    return phase >= 0 && phase < (int)(sizeof names / sizeof *names) ? names[phase] : "start";
}

static void fill_worker(const struct figures *f, int i, int64_t now_ns, struct worker_status *s)
{
    const struct plan_worker *pw = &f->plan->worker[i];
    const struct figures_worker *w = &f->worker[i];
    bool equal = w->seen && !w->real_first.set;

    s->rank = i;
    (void)snprintf(s->node, sizeof s->node, "%s", f->plan->node[pw->node]);
    (void)snprintf(s->device, sizeof s->device, "%s", pw->device);
    s->batch = equal ? pw->equal_batch : pw->batch;
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
        fill_times(w, pw, f->plan->relative, s);
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
    s->samples = 0;
    for (int i = 0; i < f->n_workers; i++)
        s->samples += f->worker[i].last.samples_done;
}

static void fill_rates(const struct figures *f, struct job_status *s)
{
    const struct plan *p = f->plan;

    s->samples_per_s = rate_between(f, real_marks);
    s->recent_samples_per_s = recent_rate(f);
    s->equal_measured_samples_per_s = f->real_version > 1 ? rate_between(f, equal_marks) : NAN;
    s->predicted_samples_per_s = p->relative ? NAN : p->predicted_samples_per_s;
    s->equal_predicted_samples_per_s = p->equal_samples_per_s;
    if (p->relative)
        s->equal_predicted_samples_per_s *= s->samples_per_s / p->predicted_samples_per_s;
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
        fill_worker(f, i, now_ns, &s->worker[i]);
    s->global_batch = f->plan->global_batch;
    s->loss = mean_loss(f);
    s->accuracy = metric(f, "test_accuracy");
    s->test_loss = metric(f, "test_loss");
    s->emulated = f->plan->emulated;
    fill_steps(f, s);
    fill_rates(f, s);
}
