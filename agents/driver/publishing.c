/* SPDX-License-Identifier: Apache-2.0 */
/* publishing.c - the plan and the equal split before it, as numbered versions for the workers */
#include "publishing.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "scheduler/planner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps that workers do under the plan before when a new one is published: see lib/worker/replan.c.
 */
enum { STEPS_TO_TAKE_UP = 3 };

/* After so many steps the plan behind the equal split is published; 0: there is no such split. */
static int64_t equal_until(const struct publishing *s)
{
    int64_t n = s->run->state.generation > 1 ? 0 : s->run->o->measure_equal;

    return n <= STEPS_TO_TAKE_UP ? n > 0 : n - STEPS_TO_TAKE_UP;
}

/* The plan's workers with an equal split of the same global batch, as version 1. */
static struct plan *equal_of(const struct plan *p, struct eddis_error *err)
{
    cleanup_free char *text = plan_text(p);
    struct plan *e = NULL;

    if (!text)
        eddis_fail(err, -ENOMEM, "no memory for a plan");
    else if (plan_parse(text, strlen(text), "plan", &e, err) == 0) {
        for (int r = 0; r < e->n_workers; r++) {
            struct plan_worker *w = &e->worker[r];

            w->batch = w->equal_batch;
            w->weight = (double)w->batch / (double)e->global_batch;
            w->step_s = w->batch ? w->fixed_s + w->sample_s * (double)w->batch : 0;
            w->samples_per_s = w->batch ? (double)w->batch / w->step_s : 0;
        }
        e->predicted_samples_per_s = e->equal_samples_per_s;
        e->ideal_samples_per_s = planner_ideal(e);
    }
    return e;
}

int publishing_begin(struct publishing *s, struct eddis_error *err)
{
    struct run_plans *all = &s->plans;

    all->plan->version = 1;
    all->equal_until = equal_until(s);
    if (all->equal_until) {
        all->equal = equal_of(all->plan, err);
        if (!all->equal)
            return -ENOMEM;
        all->plan->version = 2;
        journal_plan(&s->run->journal, all->equal);
    }
    journal_plan(&s->run->journal, all->plan);
    all->newest = s->run->status.plan_version = 1;
    s->agreed = 0;
    return 0;
}

static int publish(struct publishing *s, const struct plan *p, int64_t flags,
                   struct eddis_error *err)
{
    cleanup_free struct board_plan *b = order_plan(p, s->plans.newest + 1, flags);
    const struct order o = { .type = ORDER_REBALANCE,
                             .generation = s->run->state.generation,
                             .plan = b,
                             .n_plan = p->n_workers };
    char text[96];

    if (!b)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    s->plans.newest++;
    s->run->status.plan_version = s->plans.newest;
    job_run_order_parts(s->run, &o);
    (void)snprintf(text, sizeof text, "version %" PRId64 "%s", s->plans.newest,
                   flags & BOARD_FLAG_STOP ? ": write a checkpoint and stop" : "");
    job_run_say(s->run, JOB_EVENT_PLAN_PUBLISHED, -1, -1, text);
    return 0;
}

void publishing_stepped(struct publishing *s)
{
    struct eddis_error err = { 0 };

    if (!s->plans.equal || s->plans.newest > 1 ||
        figures_steps_here(&s->run->figures) < s->plans.equal_until)
        return;
    if (publish(s, s->plans.plan, 0, &err) < 0)
        job_run_say(s->run, JOB_EVENT_NOTE, -1, -1, err.text);
}

void publishing_checkpoint(struct publishing *s)
{
    const struct run_plans *all = &s->plans;
    const struct plan *p = all->equal && all->newest == 1 ? all->equal : all->plan;
    struct eddis_error err = { 0 };

    if (p == all->equal)
        figures_only_equal(&s->run->figures);
    if (publish(s, p, BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP, &err) < 0)
        state_fail(&s->run->state, "internal", 1, err.text, clock_now_ns());
}

/* Workers agree on it among themselves; the first to say so is noted. */
void publishing_progress(struct publishing *s, const struct progress *p)
{
    char text[96];

    if (p->plan_since < 0 || p->plan_version <= s->agreed)
        return;
    s->agreed = p->plan_version;
    (void)snprintf(text, sizeof text, "version %" PRId64 " from step %" PRId64, p->plan_version,
                   p->plan_since);
    job_run_say(s->run, JOB_EVENT_PLAN_AGREED, -1, -1, text);
}

void publishing_forget(struct publishing *s)
{
    plan_free(s->plans.plan);
    plan_free(s->plans.equal);
    s->plans.plan = s->plans.equal = NULL;
}
