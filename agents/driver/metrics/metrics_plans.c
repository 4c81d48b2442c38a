/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_plans.c - add up the workers' steps under each plan */
#include "metrics_plans.h"

#include "metrics_spans.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the list ---- */

/* Return a new entry at the end of the list of plans, for the caller to fill in, never NULL; the
 * list owns it.  If the list is full, remove its second entry: the first plan and the newest plans
 * are kept.
 */
static struct metrics_plan *next_place(struct metrics_plans *l)
{
    if (l->n == STATUS_MAX_PLANS) {
        l->n--;
        memmove(&l->plan[1], &l->plan[2], (size_t)(l->n - 1) * sizeof *l->plan);
    }
    return &l->plan[l->n++];
}

/* Copy the predictions of plan p into its entry of the list, and compute the ideal of its emulated
 * devices, which is not measured.
 */
static void expect(struct metrics_plan *e, const struct plan *p)
{
    e->s.predicted_samples_per_s = p->relative ? NAN : p->predicted_samples_per_s;
    e->s.ideal_samples_per_s = p->relative ? NAN : p->ideal_samples_per_s;
    e->emulated_ideal = 0;
    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].kind == DEVICE_EMULATED)
            e->emulated_ideal += metrics_modelled_speed(&p->worker[i], p->worker[i].batch);
}

void metrics_plans_refine(struct metrics *f)
{
    if (f->plans.n)
        expect(&f->plans.plan[f->plans.n - 1], f->plan);
}

void metrics_plans_begin(struct metrics *f)
{
    const struct plan *p = f->plan;
    struct metrics_plan *e = next_place(&f->plans);

    *e = (struct metrics_plan){
        .s = { .generation = p->generation,
               .version = p->version,
               .since = -1,
               .samples_per_s = NAN },
        .n_workers = p->n_workers,
    };
    expect(e, p);
    (void)snprintf(e->s.reason, sizeof e->s.reason, "%s", p->change);
}

void metrics_plans_drop(struct metrics *f)
{
    if (f->plans.n)
        f->plans.n--;
}

/* Check whether an entry of the list of plans belongs to the present generation. */
static bool is_present(const struct metrics *f, const struct metrics_plan *e)
{
    return f->plan && e->s.generation == f->plan->generation;
}

/* Return the entry of the newest plan of the present generation whose version is not above this
 * one, borrowed; NULL: none.
 */
static struct metrics_plan *plan_of(struct metrics *f, int64_t version)
{
    for (int i = f->plans.n - 1; i >= 0 && is_present(f, &f->plans.plan[i]); i--)
        if (f->plans.plan[i].s.version <= version)
            return &f->plans.plan[i];
    return NULL;
}

/* ---- a worker's steps ---- */

/* Add worker i's steps between two marks to the entry of a plan of the present generation; add
 * nothing if no time has passed.
 */
static void add_span(const struct metrics *f, struct metrics_plan *e, int i,
                     const struct metrics_mark *from, const struct metrics_mark *to)
{
    double per_s =
        metrics_spans_per_s(to->samples - from->samples, to->sum.total_ns - from->sum.total_ns);

    if (isnan(per_s))
        return;
    e->rate += per_s;
    e->n_rates++;
    if (f->plan->worker[i].kind != DEVICE_EMULATED)
        e->measured_ideal += metrics_spans_own_speed(from, to);
    if (to->steps - from->steps > e->s.steps)
        e->s.steps = to->steps - from->steps;
}

/* Add the steps of a worker, up to mark `end`, to the entry of the plan that the worker used, and
 * record that it uses none.
 */
static void leave(struct metrics *f, struct metrics_worker *w, const struct metrics_mark *end)
{
    struct metrics_plan *e = w->plan ? plan_of(f, w->plan) : NULL;

    if (e && e->s.version == w->plan)
        add_span(f, e, (int)(w - f->worker), &w->plan_begin, end);
    w->plan = 0;
}

/* Record in the plan's entry the first step of the plan version that a worker reports.  The workers
 * agree on it before any of them takes that step; the first version begins at the start.
 */
static void know_since(struct metrics *f, const struct progress *p)
{
    struct metrics_plan *e = plan_of(f, p->plan_version);

    if (e && e->s.version == p->plan_version && p->plan_version > 1 && e->s.since < 0)
        e->s.since = p->plan_since;
}

void metrics_plans_progress(struct metrics *f, struct metrics_worker *w, const struct progress *p)
{
    struct metrics_plan *e = plan_of(f, p->step_plan);
    const struct metrics_mark before = { p->steps_before, p->samples_before, p->sum_before },
                              last = metrics_spans_mark(&w->last);
    bool next;
    int64_t since;

    know_since(f, p);
    if (!e || p->steps_here == 0 || w->plan == e->s.version)
        return;
    /* Versions in between may be other plans, or the same plan with a checkpoint. */
    next = p->step_plan == e->s.version && plan_of(f, p->step_plan - 1) &&
           plan_of(f, p->step_plan - 1)->s.version == w->plan;
    leave(f, w, next ? &before : &last);
    w->plan = e->s.version;
    w->plan_begin = w->plan == 1 ? (struct metrics_mark){ 0 } : before;
    since = p->steps_done - p->steps_here + w->plan_begin.steps;
    if (e->s.since < 0 || since < e->s.since)
        e->s.since = since;
}

void metrics_plans_end(struct metrics *f)
{
    for (int i = 0; i < f->n_workers; i++) {
        const struct metrics_mark last = metrics_spans_mark(&f->worker[i].last);

        leave(f, &f->worker[i], &last);
    }
}

/* ---- the status ---- */

/* Return the status of a listed plan.  It includes the steps so far of workers that still use the
 * plan.
 */
static struct plan_status status_of(const struct metrics *f, const struct metrics_plan *plan)
{
    struct metrics_plan e = *plan;

    for (int i = 0; is_present(f, plan) && i < f->n_workers; i++) {
        const struct metrics_worker *w = &f->worker[i];
        const struct metrics_mark last = metrics_spans_mark(&w->last);

        if (w->plan == e.s.version)
            add_span(f, &e, i, &w->plan_begin, &last);
    }
    if (e.n_rates == e.n_workers && e.n_workers > 0) {
        e.s.samples_per_s = e.rate;
        e.s.ideal_samples_per_s = e.emulated_ideal + e.measured_ideal;
    }
    return e.s;
}

void metrics_plans_fill(const struct metrics *f, struct job_status *s)
{
    s->n_plans = f->plans.n;
    for (int i = 0; i < s->n_plans; i++)
        s->plan[i] = status_of(f, &f->plans.plan[i]);
}
