/* SPDX-License-Identifier: Apache-2.0 */
/* replanner.c - feed the re-planning policy from reports, and make plans of its proposals */
#include "replanner.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "scheduler/limits.h"
#include "scheduler/replan_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Convert nanoseconds to seconds. */
static double seconds(int64_t ns)
{
    return (double)ns / CLOCK_S;
}

/* ---- the policy ---- */

/* Make the re-planning policy r->policy for a generation's plans, and reset the counts of r.
 * Return 0, -EINVAL or -ENOMEM; r->contradicted may be set also on failure, and r owns it.
 */
static int open_policy(struct replanner *r, const struct run_plans *plans,
                       const struct planner_history *history, struct eddis_error *err)
{
    const struct plan *p = plans->plan;

    r->n_workers = p->n_workers;
    r->n_contradicted = 0;
    r->contradicted = calloc((size_t)p->n_workers, sizeof *r->contradicted);
    if (!r->contradicted)
        return eddis_fail(err, -ENOMEM, "no memory to follow %d workers", p->n_workers);
    r->min_count = history->program.min_count;
    return replan_plan(r->run->o->job, p, history, plans->equal != NULL, &r->policy, err);
}

/* Start re-planning for a generation.  A single worker cannot be re-planned; its times are measured
 * for jobs with more workers.
 */
int replanner_begin(struct replanner *r, const struct run_plans *plans,
                    const struct planner_history *history, struct eddis_error *err)
{
    replanner_end(r);
    return open_policy(r, plans, history, err);
}

void replanner_end(struct replanner *r)
{
    replan_free(r->policy);
    free(r->contradicted);
    r->policy = NULL;
    r->contradicted = NULL;
    r->most = r->bound = NULL;
}

/* ---- what is measured ---- */

/* Reports of say_contradicted that the user is shown; later ones are events only, because a changed
 * machine may have changed for many workers.
 */
enum { CONTRADICTED_TOLD = 3 };

/* Report, once per worker, that the earlier value of its time no longer holds and that it is
 * measured again.
 */
static void say_contradicted(struct replanner *r, int rank)
{
    static const char *const before[TIME_SOURCES] = { [TIME_GIVEN] = "its configured time",
                                                      [TIME_LEARNT] =
                                                          "the time that earlier jobs measured",
                                                      [TIME_MEASURED] = "before the restart" };
    const struct learner *l = replan_learner(r->policy, rank);
    double part = l->contradicted;

    if (part <= 0 || r->contradicted[rank] || !before[l->source])
        return;
    r->contradicted[rank] = true;
    job_run_sayf(r->run, r->n_contradicted++ < CONTRADICTED_TOLD ? JOB_EVENT_SAY : JOB_EVENT_NOTE,
                 -1, rank,
                 "rank %d takes %.2f times as long as %s; the old value is discarded, and the "
                 "rank is measured again",
                 rank, part, before[l->source]);
}

void replanner_progress(struct replanner *r, const struct progress *p, int64_t now_ns)
{
    if (!r->policy || p->rank < 0 || p->rank >= r->n_workers)
        return;
    replan_metrics(r->policy, p->rank, &p->metrics, seconds(now_ns));
    replan_exposed(r->policy, p->rank,
                   &(struct replan_exposed){ .plan = p->step_plan,
                                             .steps = p->steps_here,
                                             .exchanges = p->exchanges,
                                             .exposed_s = seconds(p->sum.exposed_ns),
                                             .exchange_s = seconds(p->exchange_ns) });
    say_contradicted(r, p->rank);
}

bool replanner_contradicted(struct replanner *r, struct replan_contradiction *ret)
{
    return r->policy && replan_contradicted(r->policy, ret);
}

/* Update the re-planning policy's limits of the workers' batches.  If there is no memory, the
 * limits stay as they are.
 */
static void set_bounds(struct replanner *r, const struct plan *p)
{
    cleanup_free struct split_worker *w = calloc((size_t)p->n_workers, sizeof *w);

    if (w)
        limits_bounds(r->run->o->job, p, r->min_count, r->bound, w);
    for (int i = 0; w && i < p->n_workers; i++)
        replan_bounds(r->policy, i, w[i].min, w[i].max);
}

void replanner_known(struct replanner *r, const struct plan *p,
                     const struct planner_history *history)
{
    const struct modes_setup n = planner_network(p, history);

    if (!r->policy)
        return;
    replan_network(r->policy, &n);
    if (r->min_count == history->program.min_count)
        return;
    r->min_count = history->program.min_count;
    set_bounds(r, p);
}

void replanner_memory(struct replanner *r, const struct plan *p, const int64_t *most,
                      bool takes_pieces)
{
    r->most = most;
    if (!r->policy || takes_pieces)
        return;
    r->bound = most;
    set_bounds(r, p);
}

bool replanner_model(const struct replanner *r, int rank, struct time_model *ret)
{
    if (!r->policy || rank < 0 || rank >= r->n_workers)
        return false;
    *ret = learner_model(replan_learner(r->policy, rank));
    return true;
}

void replanner_published(struct replanner *r, int64_t version, const struct plan *p)
{
    cleanup_free int64_t *batch = NULL;

    if (!r->policy)
        return;
    batch = calloc((size_t)p->n_workers, sizeof *batch);
    for (int i = 0; batch && i < p->n_workers; i++)
        batch[i] = p->worker[i].batch;
    if (batch)
        replan_published(r->policy, version, batch, p->options.period);
}

void replanner_agreed(struct replanner *r, int64_t version, int64_t now_ns)
{
    if (r->policy)
        replan_agreed(r->policy, version, seconds(now_ns));
}

/* ---- another plan ---- */

/* Return the micro-batch of a worker; 0: the worker needs none, because it can hold the whole
 * batch.
 */
static int64_t piece_of(const struct replanner *r, const struct plan *p, int rank)
{
    if (!r->most)
        return p->worker[rank].piece;
    return r->most[rank] < p->global_batch ? r->most[rank] : 0;
}

/* Return the workers [p->n_workers] with their measured times and these batches, for the caller to
 * free.  NULL: no memory.
 */
static struct planner_worker *learnt_workers(const struct replanner *r, const struct plan *p,
                                             const int64_t *batch)
{
    cleanup_free struct replan_time *now = calloc((size_t)p->n_workers, sizeof *now);
    struct planner_worker *w = now ? calloc((size_t)p->n_workers, sizeof *w) : NULL;

    if (w)
        replan_times(r->policy, now);
    for (int i = 0; w && i < p->n_workers; i++) {
        int64_t largest = replan_learner(r->policy, i)->largest;

        w[i] = (struct planner_worker){
            .batch = batch[i],
            .fixed_s = now[i].t.fixed_s,
            .sample_s = now[i].t.sample_s,
            .time = now[i].source,
            .largest = largest ? largest : p->worker[i].largest,
            .piece = piece_of(r, p, i),
        };
    }
    return w;
}

/* Return the plan for a re-planning proposal, for the caller to free; NULL: it cannot be made, and
 * err says why.
 */
static struct plan *plan_again(struct replanner *r, const struct plan *p,
                               const struct planner_history *history,
                               const struct replan_proposal *proposal, struct eddis_error *err)
{
    cleanup_free struct planner_worker *w = learnt_workers(r, p, proposal->batch);
    struct plan *again = NULL;

    if (!w)
        eddis_fail(err, -ENOMEM, "no memory for a plan");
    else if (planner_again(r->run->o->job, p, w, proposal->period, history, &again, err) == 0) {
        again->gain = 1 + proposal->gain;
        (void)snprintf(again->change, sizeof again->change, "%s", proposal->reason);
    }
    return again;
}

bool replanner_decide(struct replanner *r, int64_t now_ns, struct replan_proposal *ret)
{
    return r->policy && r->run->o->job->batch.rebalance >= 0 && !r->run->o->plan_path &&
           replan_decide(r->policy, seconds(now_ns), ret);
}

struct plan *replanner_plan(struct replanner *r, const struct plan *p,
                            const struct planner_history *history,
                            const struct replan_proposal *proposal)
{
    struct eddis_error err = { 0 };
    struct plan *again = plan_again(r, p, history, proposal, &err);

    if (!again)
        job_run_say(r->run, JOB_EVENT_NOTE, -1, -1, err.text);
    return again;
}

bool replanner_is_unmeasured(const struct replanner *r)
{
    for (int i = 0; r->policy && i < r->n_workers; i++)
        if (learner_source(replan_learner(r->policy, i)) == TIME_MEASURED)
            return false;
    return r->policy && r->run->o->job->batch.rebalance >= 0 && !r->run->o->plan_path;
}

void replanner_first(struct replanner *r, const struct plan *p)
{
    for (int i = 0; r->policy && i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];
        const struct time_model t = { .fixed_s = w->fixed_s, .sample_s = w->sample_s };

        replan_first(r->policy, i, &t, w->time);
    }
}

/* Check whether every worker's time is measured in seconds.  A worker without samples has no time
 * of its own, only an estimate from the other workers.  Without memory return false: the caller
 * asks again.
 */
static bool all_are_seconds(const struct replanner *r, const struct plan *p)
{
    cleanup_free struct replan_time *now = calloc((size_t)p->n_workers, sizeof *now);
    bool are = now != NULL; /* without memory the caller asks again */

    if (now)
        replan_times(r->policy, now);
    for (int i = 0; i < p->n_workers && are; i++)
        are = now[i].source == TIME_MEASURED ||
              (p->worker[i].batch == 0 && now[i].source != TIME_PROBE);
    return are;
}

bool replanner_knows_seconds(const struct replanner *r, const struct plan *p)
{
    return r->policy && p->relative && metrics_steps_here(&r->run->metrics) > METRICS_WINDOW &&
           all_are_seconds(r, p);
}

/* Return the plan with measured times and the same batches: the predictions change, not what the
 * workers do.
 */
struct plan *replanner_refined(struct replanner *r, const struct plan *p,
                               const struct planner_history *history)
{
    cleanup_free int64_t *batch = calloc((size_t)p->n_workers, sizeof *batch);
    const struct replan_proposal same = { .batch = batch, .period = p->options.period };
    struct plan *again;

    for (int i = 0; batch && i < p->n_workers; i++)
        batch[i] = p->worker[i].batch;
    again = batch ? replanner_plan(r, p, history, &same) : NULL;
    if (!again)
        return NULL;
    for (int i = 0; i < p->n_workers; i++)
        again->worker[i].piece = p->worker[i].piece;
    again->takes_pieces = p->takes_pieces;
    again->version = p->version;
    again->gain = p->gain;
    (void)snprintf(again->change, sizeof again->change, "%s", p->change);
    return again;
}

bool replanner_predicts(struct replanner *r, const struct plan *p, double *ret_per_s)
{
    double step_s;

    if (!r->policy || p->relative || !(p->predicted_samples_per_s > 0) ||
        !replan_predicts(r->policy, (double)p->global_batch / p->predicted_samples_per_s, &step_s))
        return false;
    *ret_per_s = (double)p->global_batch / step_s;
    return true;
}

bool replanner_alone(struct replanner *r, int *ret_rank, double *ret_times)
{
    return r->policy && replan_alone(r->policy, ret_rank, ret_times);
}

/* ---- the history ---- */

void replanner_learn(const struct replanner *r, const struct plan *p,
                     const struct node_profile *const *node, struct past_times *ret)
{
    for (int i = 0; r->policy && i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];
        const struct learner *l = replan_learner(r->policy, i);
        struct time_model t = learner_model(l);
        struct planner_time row = { .fixed_s = t.fixed_s,
                                    .sample_s = t.sample_s,
                                    .largest = l->largest,
                                    .source = TIME_MEASURED };

        if (w->kind == DEVICE_EMULATED || learner_source(l) != TIME_MEASURED)
            continue;
        planner_key(p->node[w->node], node[w->node], w, row.key);
        (void)past_times_set(ret, &row); /* without memory the time is measured again */
    }
}
