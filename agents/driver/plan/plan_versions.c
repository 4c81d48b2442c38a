/* SPDX-License-Identifier: Apache-2.0 */
/* plan_versions.c - publish the plan, and the equal split before it, as numbered versions */
#include "plan_versions.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/model/algorithm.h"
#include "lib/model/choice_json.h"
#include "scheduler/limits.h"
#include "scheduler/planner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps that workers still do under the old plan after a new one is published: see
 * lib/worker/plan_switch.c.
 */
enum { STEPS_TO_TAKE_UP = 3 };

/* Return the first worker whose largest allowed batch is below its equal share; -1: none. */
static int too_small(const struct plan *p)
{
    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].equal_batch > limits_most(p, i))
            return i;
    return -1;
}

/* Check whether the plan is itself the equal split. */
static bool is_equal(const struct plan *p)
{
    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].batch != p->worker[i].equal_batch)
            return false;
    return true;
}

/* Return the number of equal-split steps that the user requested; 0 after a restart. */
static int64_t asked_equal(const struct plan_versions *s)
{
    return s->run->state.generation > 1 ? 0 : s->run->o->measure_equal;
}

/* Return after how many steps of the equal split the plan is to be published; 0: no equal split is
 * measured.
 */
static int64_t equal_until(const struct plan_versions *s)
{
    int64_t n = asked_equal(s);

    if (too_small(s->plans.plan) >= 0 || is_equal(s->plans.plan))
        return 0;
    return n > STEPS_TO_TAKE_UP ? n - STEPS_TO_TAKE_UP : 0;
}

/* Return a copy of plan p with an equal split of the same global batch, and predictions for it, for
 * the caller to free.  NULL: no memory.
 */
static struct plan *equal_of(const struct plan *p, struct eddis_error *err)
{
    struct plan *e = plan_copy(p);

    if (!e) {
        eddis_fail(err, -ENOMEM, "no memory for a plan");
        return NULL;
    }
    for (int r = 0; r < e->n_workers; r++) {
        struct plan_worker *w = &e->worker[r];

        w->batch = w->equal_batch;
        w->weight = (double)w->batch / (double)e->global_batch;
        w->step_s = w->batch ? w->fixed_s + w->sample_s * (double)w->batch : 0;
        w->samples_per_s = w->batch ? (double)w->batch / w->step_s : 0;
    }
    e->predicted_samples_per_s = e->equal_samples_per_s;
    e->ideal_samples_per_s = planner_ideal(e);
    return e;
}

/* Set the version of the plan: 1, or 2 after an equal split, which is made here and gets 1.  Set
 * plans.equal_until, and write both plans to the job's folder.  Return 0 or -ENOMEM.
 */
static int number(struct plan_versions *s, struct eddis_error *err)
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
    return 0;
}

/* If the user requested an equal split that is not measured, print why.  Either a worker's limit is
 * below its equal share, or the plan is the equal split: its steps would be compared with
 * themselves, the first ones slow.
 */
static void say_unmeasured(const struct plan_versions *s)
{
    const struct plan *p = s->plans.plan;
    int i = too_small(p);

    if (asked_equal(s) == 0 || (i < 0 && !is_equal(p)))
        return;
    if (i >= 0)
        job_run_sayf(s->run, JOB_EVENT_SAY, -1, i,
                     "the equal split is not measured, because rank %d may take at most %" PRId64
                     " samples%s and an equal share is %" PRId64 "%s",
                     i, limits_most(p, i),
                     p->worker[i].guessed ? ", its part by the memory of the GPUs," : "",
                     p->worker[i].equal_batch,
                     p->worker[i].guessed ? "; set batch.max to that or more if it fits" : "");
    else
        job_run_sayf(s->run, JOB_EVENT_SAY, -1, -1, "the equal split is not measured, because %s",
                     p->n_workers == 1 ? "there is one worker" : "the plan is the equal split");
}

int plan_versions_begin(struct plan_versions *s, bool open, struct eddis_error *err)
{
    int rc = number(s, err);

    if (rc < 0)
        return rc;
    if (!open)
        say_unmeasured(s);
    s->plans.newest = !open;
    s->run->status.plan_version = 1;
    s->agreed = s->save_ns = 0;
    s->refused = false;
    return 0;
}

bool plan_versions_is_open(const struct plan_versions *s)
{
    return s->plans.plan && s->plans.newest == 0;
}

/* Order all parts to give the workers plan p as the next version, with BOARD_FLAG_* flags.  Count
 * the version in plans.newest and report it.  Return 0, or -ENOMEM with nothing changed.
 */
static int publish(struct plan_versions *s, const struct plan *p, int64_t flags,
                   struct eddis_error *err)
{
    cleanup_free struct board_plan *b = order_plan(p, s->plans.newest + 1, flags);
    cleanup_free int *group = calloc((size_t)p->n_workers, sizeof *group);
    struct order o = { .type = s->plans.newest ? ORDER_REBALANCE : ORDER_SETTLE,
                       .generation = s->run->state.generation,
                       .options = p->options,
                       .group = group,
                       .plan = b,
                       .n_plan = p->n_workers };

    if (!b || !group)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    (void)snprintf(o.mode, sizeof o.mode, "%s", p->mode);
    (void)snprintf(o.algorithm, sizeof o.algorithm, "%s", p->algorithm);
    for (int r = 0; r < p->n_workers; r++)
        group[r] = p->worker[r].group;
    s->plans.newest++;
    if (!(flags & (BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP)))
        s->run->status.plan_version = s->plans.newest;
    job_run_order_parts(s->run, &o);
    job_run_sayf(s->run, JOB_EVENT_PLAN_PUBLISHED, -1, -1, "version %" PRId64 "%s%s",
                 s->plans.newest, flags & BOARD_FLAG_CHECKPOINT ? ": write a checkpoint" : "",
                 flags & BOARD_FLAG_STOP ? " and stop" : "");
    return 0;
}

int plan_versions_settle(struct plan_versions *s, struct plan *p, struct eddis_error *err)
{
    struct run_plans *all = &s->plans;
    int rc;

    if (p != all->plan)
        plan_free(all->plan);
    plan_free(all->equal);
    all->plan = p;
    all->equal = NULL;
    rc = number(s, err);
    if (rc < 0)
        return rc;
    say_unmeasured(s);
    return all->equal ? publish(s, all->equal, BOARD_FLAG_PASSING, err) : publish(s, p, 0, err);
}

bool plan_versions_measures_equal(const struct plan_versions *s)
{
    return s->plans.equal && s->plans.newest <= 1;
}

/* Check whether every worker has done a step under the newest version. */
static bool is_taken_up(const struct plan_versions *s)
{
    const struct metrics *f = &s->run->metrics;

    for (int r = 0; r < f->n_workers; r++)
        if (f->worker[r].last.step_plan < s->plans.newest)
            return false;
    return f->n_workers > 0;
}

/* Check whether any worker is writing a checkpoint. */
static bool is_saving(const struct plan_versions *s)
{
    const struct metrics *f = &s->run->metrics;

    for (int r = 0; r < f->n_workers; r++)
        if (f->worker[r].last.phase == STATE_RANK_CHECKPOINT)
            return true;
    return false;
}

/* Check whether a checkpoint is due by time, and set s->save_ns if it is unset or a worker is
 * saving: the interval counts from the end of the last checkpoint, so that slow files leave time
 * for training.  Nothing is due before all workers use the newest version, because they keep only
 * the last few.
 */
static bool is_due(struct plan_versions *s, int64_t now_ns)
{
    int64_t every_ns = s->run->o->job->checkpoint.every.ns;

    if (!every_ns || plan_versions_is_open(s) || !state_all_up(&s->run->state) ||
        s->run->state.outcome != STATE_OUTCOME_OPEN)
        return false;
    if (!s->save_ns || is_saving(s))
        s->save_ns = clock_after_ns(now_ns, every_ns);
    return now_ns >= s->save_ns && is_taken_up(s) && !plan_versions_measures_equal(s);
}

/* Publish the plan again with these flags.  Return whether that succeeded; report the error if not.
 */
static bool publish_again(struct plan_versions *s, int64_t flags)
{
    struct eddis_error err = { 0 };

    if (publish(s, s->plans.plan, flags, &err) == 0)
        return true;
    job_run_say(s->run, JOB_EVENT_NOTE, -1, -1, err.text);
    return false;
}

bool plan_versions_stepped(struct plan_versions *s, int64_t now_ns)
{
    if (plan_versions_measures_equal(s) && !plan_versions_is_open(s))
        return metrics_steps_here(&s->run->metrics) >= s->plans.equal_until && publish_again(s, 0);
    if (!is_due(s, now_ns) || !publish_again(s, BOARD_FLAG_CHECKPOINT))
        return false;
    s->save_ns = 0;
    return true;
}

int plan_versions_replace(struct plan_versions *s, struct plan *p, struct eddis_error *err)
{
    int rc;

    p->version = s->plans.newest + 1;
    rc = publish(s, p, 0, err);
    if (rc < 0) {
        plan_free(p);
        return rc;
    }
    journal_plan(&s->run->journal, p);
    metrics_replan(&s->run->metrics, p);
    plan_free(s->plans.plan);
    s->plans.plan = p;
    s->run->status.replans++;
    return 0;
}

void plan_versions_show(struct plan_versions *s, const struct plan *p)
{
    struct job_status *t = &s->run->status;
    bool external = program_is_external(&p->program);

    (void)snprintf(t->mode, sizeof t->mode, "%s", p->mode);
    (void)snprintf(t->algorithm, sizeof t->algorithm, "%s",
                   external ? algorithm_external()->name : p->algorithm);
}

void plan_versions_refine(struct plan_versions *s, struct plan *p)
{
    plan_versions_show(s, p);
    journal_plan(&s->run->journal, p);
    metrics_refine(&s->run->metrics, p);
    plan_free(s->plans.plan);
    s->plans.plan = p;
}

void plan_versions_predict(struct plan_versions *s, double samples_per_s)
{
    struct plan *p = s->plans.plan;

    /* The equal split was predicted by the same model, with the same error. */
    if (p->predicted_samples_per_s > 0)
        p->equal_samples_per_s *= samples_per_s / p->predicted_samples_per_s;
    p->predicted_samples_per_s = samples_per_s;
    journal_plan(&s->run->journal, p);
    metrics_refine(&s->run->metrics, p);
}

void plan_versions_checkpoint(struct plan_versions *s)
{
    const struct run_plans *all = &s->plans;
    const struct plan *p = plan_versions_measures_equal(s) ? all->equal : all->plan;
    struct eddis_error err = { 0 };

    if (p == all->equal)
        metrics_only_equal(&s->run->metrics);
    if (publish(s, p, BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP, &err) < 0)
        state_fail(&s->run->state, "internal", 1, err.text, clock_now_ns());
}

/* Return the highest plan version in a worker's report. */
static int64_t newest_reported(const struct progress *p)
{
    int64_t most = p->plan_version > p->step_plan ? p->plan_version : p->step_plan;

    return most > p->metrics.plan ? most : p->metrics.plan;
}

bool plan_versions_knows(struct plan_versions *s, const struct progress *p)
{
    int64_t reported = newest_reported(p);

    if (reported <= s->plans.newest)
        return true;
    if (!s->refused) {
        s->refused = true;
        job_run_sayf(s->run, JOB_EVENT_SAY, -1, p->rank,
                     "rank %d reports plan version %" PRId64 ", but the newest is %" PRId64
                     "; its metrics are ignored",
                     p->rank, reported, s->plans.newest);
    }
    return false;
}

/* Record the first step of a plan version from the first report: the workers agree on it among
 * themselves.
 */
bool plan_versions_progress(struct plan_versions *s, const struct progress *p)
{
    if (p->plan_since < 0 || p->plan_version <= s->agreed)
        return false;
    s->agreed = p->plan_version;
    job_run_sayf(s->run, JOB_EVENT_PLAN_AGREED, -1, -1, "version %" PRId64 " from step %" PRId64,
                 p->plan_version, p->plan_since);
    return true;
}

/* Store rank 0's choice in the plan, so that --plan can replay it. */
void plan_versions_choice(struct plan_versions *s, const char *text)
{
    struct job_status *t = &s->run->status;
    struct plan *p = s->plans.plan;
    struct eddis_error err = { 0 };
    struct comm_choice *c = p ? calloc(1, sizeof *c) : NULL;

    if (!p)
        return;
    if (!c || choice_parse(text, strlen(text), c, &err) < 0) {
        free(c);
        job_run_say(s->run, JOB_EVENT_NOTE, -1, -1, err.text);
        return;
    }
    free(p->choice);
    p->choice = c;
    journal_plan(&s->run->journal, p);
    (void)snprintf(t->communication, sizeof t->communication, "%s", c->reason);
    job_run_say(s->run, JOB_EVENT_COMMUNICATION, -1, -1, c->reason);
}

void plan_versions_forget(struct plan_versions *s)
{
    plan_free(s->plans.plan);
    plan_free(s->plans.equal);
    s->plans.plan = s->plans.equal = NULL;
}
