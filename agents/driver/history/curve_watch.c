/* SPDX-License-Identifier: Apache-2.0 */
/* curve_watch.c - record the smoothed loss of a job for later jobs of its program */
#include "curve_watch.h"

#include "lib/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Shortest interval between two points. */
#define POINT_NS (CLOCK_S / 10)

/* A course with fewer points or steps says too little. */
enum { FEWEST_POINTS = 8, FEWEST_STEPS = 30 };

/* eddis adjusts the period while a job runs. A course that is stored has changes by more than a
 * factor of PERIODS in its first 1/EARLY only.
 */
enum { PERIODS = 2, EARLY = 4 };

/* Check whether the job goes on from a checkpoint, or is about to. */
static bool is_resumed(const struct job_run *r)
{
    const struct metrics *f = &r->metrics;

    return r->state.generation > 1 || f->past.samples > 0 ||
           (f->n_workers > 0 && f->worker[0].last.steps_done > f->worker[0].last.steps_here);
}

/* Check whether plan p trains what the course is of. */
static bool is_alike(const struct past_curve *of, const struct plan *p)
{
    return algorithm_find(of->algorithm) == algorithm_find(p->algorithm) &&
           of->writers == plan_models(p) && of->batch == p->global_batch;
}

/* Check whether two periods are nearly equal. */
static bool is_near(int64_t a, int64_t b)
{
    return a <= PERIODS * b && b <= PERIODS * a;
}

/* Check whether a worker has had a loss that is not finite. */
static bool is_diverged(const struct metrics *f)
{
    for (int i = 0; i < f->n_workers; i++)
        if (f->worker[i].last.loss_step > 0)
            return true;
    return false;
}

void curve_watch_look(struct curve_watch *w, const struct plan *p, const struct job_run *r,
                      int64_t now_ns)
{
    struct curve_point now = { .samples = metrics_samples(&r->metrics),
                               .loss = metrics_loss(&r->metrics),
                               .accuracy = NAN };

    w->diverged |= is_diverged(&r->metrics);
    if (w->ended || now_ns < w->next_ns || now.samples <= 0 || !isfinite(now.loss))
        return;
    if (is_resumed(r) || (w->of.batch && !is_alike(&w->of, p))) {
        w->ended = true;
        return;
    }
    if (!w->of.batch) {
        (void)snprintf(w->of.algorithm, sizeof w->of.algorithm, "%s", p->algorithm);
        w->period = p->options.period;
    } else if (!is_near(w->period, p->options.period)) {
        w->period = p->options.period;
        w->since = now.samples;
    }
    w->of.writers = plan_models(p);
    w->of.period = p->options.period;
    w->of.batch = p->global_batch;
    w->next_ns = now_ns + POINT_NS;
    (void)curve_add(&w->curve, &now, p->global_batch);
}

void curve_watch_keep(struct curve_watch *w, struct history *k)
{
    struct eddis_error err = { 0 };

    if (k->run->o->compared || w->diverged || k->model.bytes == 0 || !w->of.batch)
        return;
    curve_end(&w->curve);
    if (w->curve.n < FEWEST_POINTS || w->curve.last.samples / w->of.batch < FEWEST_STEPS ||
        w->since > w->curve.last.samples / EARLY)
        return;
    past_curve_take(&w->of, &w->curve);
    if (past_curve_keep(k->run->reader, k->run->o->job, k->model.bytes, &w->of, &err) < 0)
        job_run_say(k->run, JOB_EVENT_NOTE, -1, -1, err.text);
}
