/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - the progress of the workers in all generations, and the job's status computed from it
 */
#include "metrics.h"

#include "metrics_plans.h"
#include "metrics_spans.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the workers have done ---- */

int metrics_next(struct metrics *f, const struct plan *plan, int64_t real_version,
                 struct eddis_error *err)
{
    free(f->worker);
    f->worker = NULL;
    f->n_workers = 0;
    f->plan = NULL;
    f->worker = calloc((size_t)plan->n_workers, sizeof *f->worker);
    if (!f->worker)
        return eddis_fail(err, -ENOMEM, "no memory for %d workers", plan->n_workers);
    f->n_workers = plan->n_workers;
    f->plan = plan;
    f->real_version = real_version;
    metrics_plans_begin(f);
    return 0;
}

void metrics_fini(struct metrics *f)
{
    free(f->worker);
    *f = (struct metrics){ 0 };
}

/* Begin a new window of a worker's steps if the present one has METRICS_WINDOW steps.  The previous
 * window remains usable until the new one has as many.
 */
static void move_window(struct metrics_worker *w)
{
    const struct metrics_mark now = metrics_spans_mark(&w->last);

    if (now.steps - w->window[1].steps < METRICS_WINDOW)
        return;
    w->window[0] = w->window[1];
    w->window[1] = now;
}

/* Return samples plus what all workers have done in this generation.  Saturates at INT64_MAX,
 * because the numbers come from programs.
 */
static int64_t with_all(const struct metrics *f, int64_t samples)
{
    for (int i = 0; i < f->n_workers; i++)
        if (__builtin_add_overflow(samples, f->worker[i].last.samples_done, &samples))
            return INT64_MAX;
    return samples;
}

/* Correct the totals of earlier generations, since the present one began at this step, which is
 * earlier than assumed: the newest checkpoint was damaged or missing, or the program chose an older
 * one.
 */
static void went_back(struct metrics *f, int64_t step)
{
    double each = f->past.step_samples > 0 ? f->past.step_samples : (double)f->plan->global_batch;
    double left = (double)f->past.samples - trunc((double)(f->past.steps - step) * each);

    f->past.samples = step ? (int64_t)fmin(fmax(left, 0), 9e18) : 0;
    f->past.steps = step;
}

void metrics_progress(struct metrics *f, const struct progress *p, int64_t now_ns)
{
    struct metrics_worker *w;
    int64_t began;

    if (p->rank < 0 || p->rank >= f->n_workers)
        return;
    w = &f->worker[p->rank];
    metrics_plans_progress(f, w, p);
    w->seen = true;
    w->seen_ns = now_ns;
    w->last = *p;
    began = p->steps_done > p->steps_here ? p->steps_done - p->steps_here : 0;
    if (f->plan && p->steps_here > 0 && began < f->past.steps)
        went_back(f, began);
    if (w->warm.steps == 0 && p->steps_here >= PROTOCOL_COLD_STEPS)
        w->warm = metrics_spans_mark(p);
    if (!w->real_begun && p->step_plan >= f->real_version) {
        w->real_begun = true;
        /* If the worker skipped to a later plan, its steps before are not of the equal split alone.
         */
        if (f->real_version > 1 && p->step_plan == f->real_version)
            w->real_first =
                (struct metrics_mark){ p->steps_before, p->samples_before, p->sum_before };
        w->window[0] = w->window[1] = w->real_first;
    }
    if (w->real_begun)
        move_window(w);
}

bool metrics_real_begun(const struct metrics *f)
{
    for (int i = 0; i < f->n_workers; i++)
        if (!f->worker[i].real_begun)
            return false;
    return f->n_workers > 0;
}

bool metrics_any_seen(const struct metrics *f)
{
    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].seen)
            return true;
    return f->past.any_seen;
}

void metrics_only_equal(struct metrics *f)
{
    if (f->real_version < INT64_MAX)
        metrics_plans_drop(f);
    f->real_version = INT64_MAX;
}

void metrics_end(struct metrics *f, int rank, const char *how)
{
    if (rank >= 0 && rank < f->n_workers)
        (void)snprintf(f->worker[rank].end, sizeof f->worker[rank].end, "%s", how);
}

/* Return the job's samples up to the checkpoint that the workers resumed from.  All workers report
 * the same number once they have read it.
 */
static int64_t restored_samples(const struct metrics *f)
{
    int64_t most = 0;

    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].last.restored_samples > most)
            most = f->worker[i].last.restored_samples;
    return most;
}

/* Check whether progress is counted in samples: either workers advance at their own speed now, or
 * such workers did before the checkpoint, and the present ones do the rest together.
 */
static bool counts_samples(const struct metrics *f)
{
    return f->plan && (algorithm_has(f->plan->algorithm, ALGORITHM_SEVERAL) || restored_samples(f));
}

/* Return how many sync-mode steps correspond to the samples done so far, at least the step resumed
 * from.
 */
static int64_t steps_of_samples(const struct metrics *f)
{
    const struct progress *p = &f->worker[0].last;
    int64_t samples = restored_samples(f), epoch = p->samples_in_epoch, steps = 0;

    for (int i = 0; i < f->n_workers; i++)
        samples += f->worker[i].last.samples_done - f->worker[i].last.restored_at;
    if (epoch > 0) {
        steps = samples / epoch * p->steps_in_epoch;
        samples %= epoch;
    }
    steps += samples / f->plan->global_batch;
    return steps > f->past.steps ? steps : f->past.steps; /* a worker may not have resumed yet */
}

/* Return the worker that has reported the most steps, the first of equals; NULL: no worker has
 * reported.
 */
static const struct metrics_worker *furthest(const struct metrics *f)
{
    const struct metrics_worker *best = NULL;

    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].seen && (!best || f->worker[i].last.steps_done > best->last.steps_done))
            best = &f->worker[i];
    return best;
}

int64_t metrics_steps(const struct metrics *f)
{
    const struct metrics_worker *first = furthest(f);
    int64_t n = INT64_MAX;

    if (metrics_spans_reported(f))
        return first ? first->last.steps_done : f->past.steps;
    if (counts_samples(f))
        return steps_of_samples(f);
    for (int i = 0; i < f->n_workers; i++) {
        int64_t steps = f->worker[i].seen ? f->worker[i].last.steps_done : 0;

        n = steps < n ? steps : n;
    }
    n = f->n_workers ? n : 0;
    return n > f->past.steps ? n : f->past.steps; /* a worker has not read its checkpoint yet */
}

int64_t metrics_samples(const struct metrics *f)
{
    return with_all(f, f->past.samples);
}

double metrics_loss(const struct metrics *f)
{
    double sum = 0, weight = 0;

    for (int i = 0; i < f->n_workers; i++) {
        const struct metrics_worker *w = &f->worker[i];
        double b = (double)f->plan->worker[i].batch;

        if (!w->seen || !isfinite(w->last.loss) || b <= 0)
            continue;
        sum += b * w->last.loss;
        weight += b;
    }
    return weight > 0 ? sum / weight : NAN;
}

int64_t metrics_steps_here(const struct metrics *f)
{
    int64_t n = INT64_MAX;

    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].last.steps_here < n)
            n = f->worker[i].last.steps_here;
    return f->n_workers ? n : 0;
}

/* Return worker i's present batch: of the equal split until the worker has done a step of the real
 * plan.
 */
static int64_t batch_in_force(const struct metrics *f, int i)
{
    const struct plan_worker *pw = &f->plan->worker[i];
    const struct metrics_worker *w = &f->worker[i];

    return f->real_version > 1 && w->seen && !w->real_begun ? pw->equal_batch : pw->batch;
}

double metrics_modelled_speed(const struct plan_worker *w, int64_t batch)
{
    return batch > 0 ? (double)batch / (w->fixed_s + w->sample_s * (double)batch) : 0;
}

/* Return the samples per second that the plan expects of worker i, which has not been measured;
 * NAN: unknown.
 */
static double expected_speed(const struct metrics *f, int i)
{
    return f->plan->relative ? NAN : f->plan->worker[i].samples_per_s;
}

/* Return worker i's samples per second without communication.  An emulated device has the plan's
 * model b / (a + c b); another device is measured over the same steps as the job's rate.
 */
static double own_speed(const struct metrics *f, int i)
{
    const struct metrics_worker *w = &f->worker[i];
    struct metrics_mark from, to;
    double speed;

    if (f->plan->worker[i].kind == DEVICE_EMULATED)
        return metrics_modelled_speed(&f->plan->worker[i], batch_in_force(f, i));
    if (w->real_begun)
        metrics_spans_real(w, &from, &to);
    else
        metrics_spans_all(w, &from, &to);
    speed = metrics_spans_own_speed(&from, &to);
    return isnan(speed) ? expected_speed(f, i) : speed;
}

/* Return worker i's samples per second without communication over the steps since the report before
 * the last.  If there are none, use the latest medians, or else own_speed.
 */
static double recent_speed(const struct metrics *f, int i)
{
    const struct progress *p = &f->worker[i].last;
    const struct metrics_mark to = { p->recent_steps, p->recent_samples, p->recent };
    double speed;

    if (f->plan->worker[i].kind == DEVICE_EMULATED)
        return own_speed(f, i);
    speed = metrics_spans_own_speed(&(struct metrics_mark){ 0 }, &to);
    if (!isnan(speed))
        return speed;
    if (p->metrics.plan >= f->plan->version && p->metrics.own.median_s > 0)
        return (double)p->metrics.count / p->metrics.own.median_s;
    return own_speed(f, i);
}

/* Return the sum over all workers of speed(f, i), their samples per second; NAN if one is unknown.
 */
static double ideal_rate(const struct metrics *f, double (*speed)(const struct metrics *f, int i))
{
    double sum = 0;

    for (int i = 0; i < f->n_workers; i++)
        sum += speed(f, i);
    return sum;
}

void metrics_replan(struct metrics *f, const struct plan *plan)
{
    f->plan = plan;
    metrics_plans_begin(f);
}

/* Return the rate of the equal split in samples per second; NAN: unknown.  Before the real plan
 * begins it is the job's rate.
 */
static double equal_rate(const struct metrics *f)
{
    return metrics_real_begun(f) ? metrics_spans_rates(f, metrics_spans_equal)
                                 : metrics_spans_rate(f, metrics_spans_equal);
}

/* End a generation whose program resumes by itself: count all its samples in the totals.  They are
 * corrected once the program reports the step at which it resumed.
 */
static void end_reported(struct metrics *f)
{
    const struct metrics_worker *first = furthest(f);

    f->past.samples = with_all(f, f->past.samples);
    if (first && first->last.steps_here > 0)
        f->past.step_samples = (double)with_all(f, 0) / (double)first->last.steps_here;
    f->past.steps = metrics_steps(f);
}

/* End a generation after which the job resumes from resume_step: count its samples in the totals,
 * without those after that step.
 */
static void end_counted(struct metrics *f, int64_t resume_step)
{
    struct metrics_past *past = &f->past;
    int64_t redone = metrics_steps(f) - (resume_step > 0 ? resume_step : 0);

    past->samples = with_all(f, past->samples) - (redone > 0 ? redone * f->plan->global_batch : 0);
    if (past->samples < 0 || resume_step <= 0)
        past->samples = 0;
    past->steps = resume_step > 0 ? resume_step : 0;
}

void metrics_end_generation(struct metrics *f, int64_t resume_step)
{
    struct metrics_past *past = &f->past;
    int64_t samples, ns;
    double ideal;

    if (!f->plan)
        return;
    ideal = ideal_rate(f, own_speed);
    if (metrics_spans_reported(f) && resume_step <= 0)
        end_reported(f);
    else
        end_counted(f, resume_step);
    /* Skip a generation in which a device's speed is still unknown: it was too short to matter. */
    if (metrics_spans_here(f, &samples, &ns) && !isnan(ideal)) {
        double s = f->plan->relative ? (double)samples / f->plan->predicted_samples_per_s
                                     : (double)ns / CLOCK_S;

        past->ideal_samples += ideal * (double)ns / CLOCK_S;
        past->equal_samples += f->plan->equal_samples_per_s * s;
        past->all_samples += samples;
        past->all_ns += ns;
    }
    if (f->real_version > 1 && equal_rate(f) > 0)
        past->equal_samples_per_s = equal_rate(f);
    past->any_seen = metrics_any_seen(f);
    metrics_plans_end(f);
    f->plan = NULL;
}

void metrics_refine(struct metrics *f, const struct plan *plan)
{
    f->plan = plan;
    metrics_plans_refine(f);
}

/* ---- the status ---- */

/* Check whether the job's samples are unknown: its workers report steps, but no samples. */
static bool is_uncounted(const struct metrics *f)
{
    bool any = false;

    for (int i = 0; i < f->n_workers; i++) {
        if (f->worker[i].last.samples_done > 0)
            return false;
        any = any || metrics_spans_uncounted(&f->worker[i].last);
    }
    return any && f->past.all_samples == 0;
}

/* Return the samples per second of all generations together; NAN: no step has ended, or the samples
 * are unknown.
 */
static double job_rate(const struct metrics *f)
{
    int64_t samples, ns;

    if (is_uncounted(f))
        return NAN;

    metrics_spans_here(f, &samples, &ns);
    return metrics_spans_per_s(f->past.all_samples + samples, f->past.all_ns + ns);
}

/* Return the mean of a rate over all generations, weighted by step time. past_samples: what that
 * rate gives in the step time of earlier generations; here_per_s: the present rate.
 */
static double over_generations(const struct metrics *f, double past_samples, double here_per_s)
{
    int64_t samples, ns;

    if (f->past.all_ns == 0)
        return here_per_s;
    if (metrics_spans_here(f, &samples, &ns))
        past_samples += here_per_s * (double)ns / CLOCK_S;
    return past_samples * CLOCK_S / (double)(f->past.all_ns + ns);
}

/* Return the samples per second of all workers over the steps since the report before the last;
 * NAN: unknown.  Leave out stalled workers, whose last report says nothing about the present.
 */
static double recent_rate(const struct metrics *f, const struct job_status *s)
{
    int64_t samples = 0, longest_ns = 0;

    if (is_uncounted(f))
        return NAN;

    for (int i = 0; i < f->n_workers; i++) {
        const struct progress *p = &f->worker[i].last;

        if (job_status_is_stalled(&s->worker[i]))
            continue;
        samples += p->recent_samples;
        longest_ns = p->recent.total_ns > longest_ns ? p->recent.total_ns : longest_ns;
    }
    return longest_ns > 0 ? (double)samples * CLOCK_S / (double)longest_ns : NAN;
}

/* Return the step times a - b, member by member. */
static struct board_times difference(const struct board_times *a, const struct board_times *b)
{
    return (struct board_times){ a->input_ns - b->input_ns, a->compute_ns - b->compute_ns,
                                 a->exposed_ns - b->exposed_ns, a->wait_ns - b->wait_ns,
                                 a->total_ns - b->total_ns };
}

/* Return the mean time of a step in milliseconds; NAN without steps. */
static double mean_ms(int64_t ns, int64_t steps)
{
    return steps > 0 ? (double)ns / CLOCK_MS / (double)steps : NAN;
}

/* Fill a worker's mean times per step and its rate: over the steps since the report before the
 * last; if there are none, or the job has ended, over all steps under the plan in force.
 */
static void fill_means(const struct metrics_worker *w, bool ended, struct worker_status *s)
{
    const struct progress *p = &w->last;
    struct metrics_mark from = w->real_first, to = metrics_spans_mark(p);
    bool recent = p->recent_steps > 0 && !ended;
    struct board_times t = recent ? p->recent : difference(&to.sum, &from.sum);
    int64_t n = recent ? p->recent_steps : to.steps - from.steps;
    int64_t samples = recent ? p->recent_samples : to.samples - from.samples;

    s->step_ms = mean_ms(t.total_ns, n);
    s->compute_ms = mean_ms(t.compute_ns, n);
    s->input_ms = mean_ms(t.input_ns, n);
    s->exposed_ms = mean_ms(t.exposed_ns, n);
    s->wait_ms = mean_ms(t.wait_ns, n);
    if (t.total_ns > 0 && !metrics_spans_uncounted(p))
        s->samples_per_s = (double)samples * CLOCK_S / (double)t.total_ns;
}

/* Fill a worker's times per step with its medians, which are of one plan and one speed.  Medians
 * need not add up, so waiting is what the other parts leave of the step.
 */
static void fill_medians(const struct step_metrics *f, struct worker_status *s)
{
    s->compute_ms = 1e3 * f->compute.median_s;
    s->input_ms = 1e3 * f->input.median_s;
    s->exposed_ms = 1e3 * f->exposed.median_s;
    s->step_ms = fmax(1e3 * f->total.median_s, s->compute_ms + s->input_ms + s->exposed_ms);
    s->wait_ms = fmax(s->step_ms - (s->compute_ms + s->input_ms + s->exposed_ms), 0);
}

/* Fill the step times, memory and overrun in a worker's status. ended: the job has ended. */
static void fill_times(const struct metrics_worker *w, bool ended, struct worker_status *s)
{
    const struct progress *p = &w->last;
    const struct step_metrics *f = p->own_times ? &p->reported : &p->metrics;

    fill_means(w, ended, s);
    if (f->plan > 0 && !ended)
        fill_medians(f, s);
    s->overrun_ms = mean_ms(p->overrun_ns, p->steps_here);
    s->metrics = *f;
    s->queued_ms = 1e3 * p->queued_s;
    s->memory_bytes = p->memory_bytes;
    s->memory_told = p->memory_told;
    s->piece = p->at_once;
}

/* Return a worker's speed relative to the time model (1: as modelled); NAN: too few steps.  It is
 * computed from the samples done, not steps times batch, because an epoch's last step is shorter.
 */
static double relative_speed(const struct metrics_worker *w, const struct plan_worker *pw,
                             bool ended)
{
    struct metrics_mark from = ended ? w->real_first : w->window[0],
                        to = metrics_spans_mark(&w->last);
    struct board_times t = difference(&to.sum, &from.sum);
    int64_t n = to.steps - from.steps;
    double own_s = (double)(t.compute_ns + t.input_ns) / CLOCK_S;

    if (!w->real_begun || n < METRICS_WINDOW || own_s <= 0)
        return NAN;
    return (pw->fixed_s * (double)n + pw->sample_s * (double)(to.samples - from.samples)) / own_s;
}

/* Return the name of a worker's phase, as it appears in the status, a string constant; "start" for
 * an unknown phase.
 */
static const char *phase_name(int phase)
{
    static const char *const names[] = { "start",    "input",      "compute", "wait",
                                         "evaluate", "checkpoint", "done" };

    return phase >= 0 && phase < (int)(sizeof names / sizeof *names) ? names[phase] : "start";
}

/* Fill the status of worker i; if the worker has not reported, only the plan's part. ended: the job
 * has ended.
 */
static void fill_worker(const struct metrics *f, int i, bool ended, int64_t now_ns,
                        struct worker_status *s)
{
    const struct plan_worker *pw = &f->plan->worker[i];
    const struct metrics_worker *w = &f->worker[i];

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
    s->gpu = !ended && !w->end[0] ? w->last.gpu : (struct gpu_state){ 0 };
    s->n_gpus = !ended && !w->end[0] ? w->last.n_gpus : 0;
    memcpy(s->gpus, w->last.gpus, (size_t)s->n_gpus * sizeof *s->gpus);
    s->steps_done = w->last.steps_done;
    if (w->last.page_age_ns >= 0)
        s->last_step_age_s = (double)(w->last.page_age_ns + now_ns - w->seen_ns) / CLOCK_S;
    if (w->last.steps_done > 0)
        fill_times(w, ended, s);
    if (!f->plan->relative && !metrics_spans_uncounted(&w->last))
        s->relative_speed = relative_speed(w, pw, ended);
}

/* Return the metric of this name that rank 0 has reported; NAN: it has reported none. */
static double metric(const struct metrics *f, const char *name)
{
    const struct progress *p = &f->worker[0].last;

    for (int i = 0; i < BOARD_METRICS; i++)
        if (strncmp(p->metric[i].name, name, BOARD_METRIC_NAME) == 0)
            return p->metric[i].value;
    return NAN;
}

/* Return the job's total number of steps; 0: unknown. done: the steps done.  The job's setting wins
 * if the program divides its samples itself: a number printed beside a step may count one epoch
 * only, which shows in the next epoch.
 */
static int64_t all_steps(const struct metrics *f, const struct progress *p, int64_t done)
{
    bool reported = metrics_spans_reported(f);
    int64_t n =
        f->all_steps > 0 && (reported || p->steps_total <= 0) ? f->all_steps : p->steps_total;

    return reported && done > n ? 0 : n;
}

/* Fill the numbers of steps, epochs and samples in the job's status, and whether the program stops
 * by itself.
 */
static void fill_steps(const struct metrics *f, struct job_status *s)
{
    const struct metrics_worker *first = metrics_spans_reported(f) ? furthest(f) : NULL;
    const struct progress *p = first ? &first->last : &f->worker[0].last;

    s->steps_done = metrics_steps(f);
    s->steps_total = all_steps(f, p, s->steps_done);
    s->epochs = p->epochs;
    s->epoch = 0;
    if (p->steps_in_epoch > 0)
        s->epoch = s->steps_done / p->steps_in_epoch + 1;
    if (s->epochs > 0 && s->epoch > s->epochs)
        s->epoch = s->epochs;
    s->samples = metrics_samples(f);
    s->stopped_by_program = false;
    for (int i = 0; i < f->n_workers; i++)
        s->stopped_by_program |= f->worker[i].last.stops;
}

/* Return the expected seconds to the job's end; NAN: unknown.  If the program divides its samples
 * itself, the mean step time is used, which says more than its sample count.
 */
static double time_left_s(const struct metrics *f, const struct job_status *s)
{
    const struct metrics_worker *first = metrics_spans_reported(f) ? furthest(f) : NULL;
    double left = (double)(s->steps_total - s->steps_done);

    if (s->steps_total <= 0)
        return NAN;
    if (first && first->last.steps_here > 0)
        return left * (double)first->last.sum.total_ns / CLOCK_S / (double)first->last.steps_here;
    return s->recent_samples_per_s > 0
               ? left * (double)f->plan->global_batch / s->recent_samples_per_s
               : NAN;
}

/* Fill the measured, predicted and ideal rates and the remaining time in the job's status. */
static void fill_rates(const struct metrics *f, struct job_status *s)
{
    const struct plan *p = f->plan;

    s->samples_per_s = job_rate(f);
    s->recent_samples_per_s = recent_rate(f, s);
    s->equal_measured_samples_per_s = f->real_version > 1 ? equal_rate(f)
                                      : f->past.equal_samples_per_s > 0
                                          ? f->past.equal_samples_per_s
                                          : NAN;
    s->predicted_samples_per_s = p->relative ? NAN : p->predicted_samples_per_s;
    s->equal_predicted_samples_per_s =
        p->relative ? NAN : over_generations(f, f->past.equal_samples, p->equal_samples_per_s);
    s->recent_ideal_samples_per_s = ideal_rate(f, recent_speed);
    s->ideal_samples_per_s = over_generations(f, f->past.ideal_samples, ideal_rate(f, own_speed));
    s->eta_s = time_left_s(f, s);
}

void metrics_fill(const struct metrics *f, int64_t now_ns, struct job_status *s)
{
    if (!f->plan || s->n_workers != f->n_workers)
        return;
    for (int i = 0; i < f->n_workers; i++)
        fill_worker(f, i, s->state == JOB_ENDED, now_ns, &s->worker[i]);
    s->global_batch = f->plan->global_batch;
    s->loss = metrics_loss(f);
    s->accuracy = metric(f, "test_accuracy");
    s->test_loss = metric(f, "test_loss");
    s->emulated = f->plan->emulated;
    fill_steps(f, s);
    fill_rates(f, s);
    metrics_plans_fill(f, s);
}
