/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - how far the workers are, in all generations of a job */
#include "figures.h"

#include "figures_spans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
 * with none at all.
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

    if (p->rank < 0 || p->rank >= f->n_workers)
        return;
    w = &f->worker[p->rank];
    w->seen = true;
    w->seen_ns = now_ns;
    w->last = *p;
    if (f->plan && p->steps_here > 0 && p->steps_done - p->steps_here < f->past.steps)
        went_back(f, p->steps_done - p->steps_here);
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
