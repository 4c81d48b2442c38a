/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - how far the workers are in all generations of a job, and its status from that */
#include "figures.h"

#include "figures_spans.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the workers have done ---- */

int figures_init(struct figures *f, const struct plan *plan, int64_t real_version,
                 struct eddis_error *err)
{
    *f = (struct figures){ 0 };
    return figures_next(f, plan, real_version, err);
}

int figures_next(struct figures *f, const struct plan *plan, int64_t real_version,
                 struct eddis_error *err)
{
    free(f->worker);
    *f = (struct figures){ .plan = plan, .real_version = real_version, .past = f->past };
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

/* Begin a window when the present one has become long enough; the one before covers the gap. */
static void move_window(struct figures_worker *w)
{
    const struct figures_mark now = figures_spans_mark(&w->last);

    if (now.steps - w->window[1].steps < FIGURES_WINDOW)
        return;
    w->window[0] = w->window[1];
    w->window[1] = now;
}

/* The generation began with an older checkpoint than was thought, since the newest was damaged, or
 * with none at all; or its program went back to an older one.
 */
static void went_back(struct figures *f, int64_t step)
{
    f->past.samples -= (f->past.steps - step) * f->plan->global_batch;
    if (f->past.samples < 0 || step == 0)
        f->past.samples = 0;
    f->past.steps = step;
}

void figures_progress(struct figures *f, const struct progress *p, int64_t now_ns)
{
    struct figures_worker *w;
    int64_t began;

    if (p->rank < 0 || p->rank >= f->n_workers)
        return;
    w = &f->worker[p->rank];
    w->seen = true;
    w->seen_ns = now_ns;
    w->last = *p;
    began = p->steps_done > p->steps_here ? p->steps_done - p->steps_here : 0;
    if (f->plan && p->steps_here > 0 && began < f->past.steps)
        went_back(f, began);
    if (!w->real_begun && p->step_plan >= f->real_version) {
        w->real_begun = true;
        /* With a later plan already what was before is no longer of the equal split alone. */
        if (f->real_version > 1 && p->step_plan == f->real_version)
            w->real_first =
                (struct figures_mark){ p->steps_before, p->samples_before, p->sum_before };
        w->window[0] = w->window[1] = w->real_first;
    }
    if (w->real_begun)
        move_window(w);
}

bool figures_real_begun(const struct figures *f)
{
    for (int i = 0; i < f->n_workers; i++)
        if (!f->worker[i].real_begun)
            return false;
    return f->n_workers > 0;
}

bool figures_any_seen(const struct figures *f)
{
    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].seen)
            return true;
    return f->past.any_seen;
}

void figures_only_equal(struct figures *f)
{
    f->real_version = INT64_MAX;
}

void figures_end(struct figures *f, int rank, const char *how)
{
    if (rank >= 0 && rank < f->n_workers)
        (void)snprintf(f->worker[rank].end, sizeof f->worker[rank].end, "%s", how);
}

/* Where workers go at their own paces, the job is as far as all their samples are. */
static int64_t steps_of_samples(const struct figures *f)
{
    int64_t samples = 0;

    for (int i = 0; i < f->n_workers; i++)
        samples += f->worker[i].last.samples_done;
    return f->past.steps + samples / f->plan->global_batch;
}

int64_t figures_steps(const struct figures *f)
{
    int64_t n = INT64_MAX;

    if (f->plan && algorithm_has(f->plan->algorithm, ALGORITHM_SEVERAL))
        return steps_of_samples(f);
    for (int i = 0; i < f->n_workers; i++) {
        int64_t steps = f->worker[i].seen ? f->worker[i].last.steps_done : 0;

        n = steps < n ? steps : n;
    }
    n = f->n_workers ? n : 0;
    return n > f->past.steps ? n : f->past.steps; /* it has not read its checkpoint yet */
}

int64_t figures_steps_here(const struct figures *f)
{
    int64_t n = INT64_MAX;

    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].last.steps_here < n)
            n = f->worker[i].last.steps_here;
    return f->n_workers ? n : 0;
}

void figures_end_generation(struct figures *f, int64_t resume_step)
{
    struct figures_past *past = &f->past;
    int64_t samples, ns, redone;

    if (!f->plan)
        return;
    redone = figures_steps(f) - (resume_step > 0 ? resume_step : 0);
    for (int i = 0; i < f->n_workers; i++)
        past->samples += f->worker[i].last.samples_done;
    past->samples -= redone > 0 ? redone * f->plan->global_batch : 0;
    if (past->samples < 0 || resume_step <= 0)
        past->samples = 0;
    if (figures_spans_sum(f, figures_spans_real, &samples, &ns) ||
        figures_spans_sum(f, figures_spans_all, &samples, &ns)) {
        past->all_samples += samples;
        past->all_ns += ns;
    }
    if (f->real_version > 1 && figures_spans_rate(f, figures_spans_equal) > 0)
        past->equal_samples_per_s = figures_spans_rate(f, figures_spans_equal);
    past->any_seen = figures_any_seen(f);
    past->steps = resume_step > 0 ? resume_step : 0;
    f->plan = NULL;
}

/* ---- the status ---- */

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

double figures_exposed(const struct figures *f)
{
    int64_t exposed_ns = 0, total_ns = 0;

    for (int i = 0; i < f->n_workers; i++) {
        const struct figures_worker *w = &f->worker[i];

        if (!w->seen || w->last.steps_here < FIGURES_WINDOW)
            return NAN;
        exposed_ns += w->last.sum.exposed_ns;
        total_ns += w->last.sum.total_ns;
    }
    return total_ns > 0 ? (double)exposed_ns / (double)total_ns : NAN;
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
