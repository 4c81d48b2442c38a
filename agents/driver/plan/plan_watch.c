/* SPDX-License-Identifier: Apache-2.0 */
/* plan_watch.c - pass the workers' measurements to the re-planning policy, and carry out its
 * decisions
 */
#include "plan_watch.h"

#include "agents/driver/network/network_effect.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return the profiles [p->n_nodes] of the plan's nodes, borrowed; the caller frees the array.
 * NULL: no memory.
 */
static const struct node_profile **nodes_of(const struct plan_watch *w, const struct plan *p)
{
    const struct node_profile **node = calloc((size_t)p->n_nodes, sizeof *node);

    for (int i = 0; node && i < p->n_nodes; i++)
        node[i] = &w->node[i];
    return node;
}

/* Start watching the memory of the published plan's workers.  Return 0 or -ENOMEM. */
static int begin_memory(struct plan_watch *w, struct eddis_error *err)
{
    const struct plan *p = w->published->plans.plan;
    cleanup_free const struct node_profile **node = nodes_of(w, p);

    if (!node)
        return eddis_fail(err, -ENOMEM, "no memory to watch %d nodes", p->n_nodes);
    return memory_watch_begin(&w->memory, p, node, &w->history->memory, err);
}

int plan_watch_begin(struct plan_watch *w, struct eddis_error *err)
{
    struct planner_history history;
    int rc;

    w->replan.run = w->straggle.run = w->run;
    w->length_known = false;
    history_fill(w->history, &history);
    rc = replanner_begin(&w->replan, &w->published->plans, &history, err);
    if (rc == 0)
        rc = straggling_begin(&w->straggle, w->published->plans.plan, err);
    return rc < 0 ? rc : begin_memory(w, err);
}

void plan_watch_end(struct plan_watch *w)
{
    replanner_end(&w->replan);
    straggling_end(&w->straggle);
    memory_watch_end(&w->memory);
}

void plan_watch_keep(struct plan_watch *w)
{
    const struct plan *p = w->published->plans.plan;
    cleanup_free const struct node_profile **node = p ? nodes_of(w, p) : NULL;

    if (!node || !w->replan.policy || w->history->model.bytes == 0)
        return;
    replanner_learn(&w->replan, p, node, &w->history->times);
    history_keep_times(w->history);
    (void)memory_watch_look(&w->memory);
    memory_watch_learnt(&w->memory, p, node, &w->history->memory);
    history_keep_memory(w->history);
}

/* Re-plans that are reported one by one; further ones are counted only. */
enum { REPLANS_REPORTED = 5 };

enum { NETWORKS_TOLD = 6 }; /* changes of the network that the user is shown; later: events only */

/* Write a re-plan's gain, "; predicted to be 1.9 times as fast" or "; predicted to be 4 % faster",
 * to ret [size]; of a plan that exchanges models, the gain of progress; "" if it gains nothing.
 * Return ret.
 */
static const char *gain_text(const struct plan *p, char *ret, size_t size)
{
    bool progress = p->options.period > 0;

    ret[0] = '\0';
    if (p->gain >= 1.095)
        (void)snprintf(ret, size, "; predicted to %s %.1f times %s", progress ? "make" : "be",
                       p->gain, progress ? "the progress" : "as fast");
    else if (p->gain >= 1.005)
        (void)snprintf(ret, size, "; predicted to %s %.0f %% %s", progress ? "make" : "be",
                       100 * (p->gain - 1), progress ? "more progress" : "faster");
    return ret;
}

/* Print that a new plan is in force once its first step is known: REPLANS_REPORTED times with the
 * change, then once that later re-plans are only counted.
 */
static void report_replan(struct plan_watch *w, const struct progress *p)
{
    const struct plan *now = w->published->plans.plan;
    char text[400], gain[48];

    if (!now || now->version != p->plan_version || !now->change[0] ||
        w->n_reported > REPLANS_REPORTED)
        return;
    if (w->n_reported++ < REPLANS_REPORTED)
        (void)snprintf(text, sizeof text, "re-planned from step %" PRId64 ": %s%s", p->plan_since,
                       now->change, gain_text(now, gain, sizeof gain));
    else
        (void)snprintf(
            text, sizeof text,
            "re-planned again from step %" PRId64
            "; further re-plans are only counted; run eddis-status to see the current plan",
            p->plan_since);
    job_run_say(w->run, JOB_EVENT_SAY, -1, -1, text);
}

/* Check whether to report a changed network to the user, and record it if so.  It is not reported
 * if its bandwidth is within a factor 2 of the last report, or after NETWORKS_TOLD reports.
 */
static bool network_is_news(struct plan_watch *w, double bytes_per_s)
{
    double before = w->network_bytes_per_s;

    if (w->networks_reported >= NETWORKS_TOLD ||
        (before > 0 && bytes_per_s < 2 * before && before < 2 * bytes_per_s))
        return false;
    w->networks_reported++;
    w->network_bytes_per_s = bytes_per_s;
    return true;
}

/* If the steps contradict the network measurement, correct the network and the plan's predictions,
 * and report that.
 */
static void watch_network(struct plan_watch *w)
{
    struct plan *p = w->published->plans.plan;
    struct replan_contradiction c;
    struct planner_history history;

    if (!p || !replanner_contradicted(&w->replan, &c))
        return;
    history_correct(w->run, (struct run_wire){ c.network.bytes_per_s, c.network.latency_s });
    history_fill(w->history, &history);
    network_effect_contradicted(w->run, &c, &history, network_is_news(w, c.network.bytes_per_s), p);
    journal_plan(&w->run->journal, p);
}

/* Limit later plans by the memory that workers have used.  A limit on samples held at once also
 * limits the batch, unless the program trains in micro-batches.
 */
static void watch_memory(struct plan_watch *w)
{
    if (w->published->plans.plan && memory_watch_look(&w->memory))
        replanner_memory(&w->replan, w->published->plans.plan, w->memory.most,
                         w->history->memory.takes_pieces);
}

/* Return the index of the plan's node with this address; -1: none, since programs also connect to
 * other machines.
 */
static int node_at(const struct plan_watch *w, const char *address)
{
    const struct plan *p = w->published->plans.plan;

    for (int i = 0; p && address[0] && i < p->n_nodes; i++)
        if (strcmp(w->run->agent[w->agent[i]].address, address) == 0)
            return i;
    return -1;
}

/* Pass a worker's progress to the detection of slow workers, if its time model is known. */
static void watch_speed(struct plan_watch *w, const struct progress *p)
{
    struct time_model t;

    if (replanner_model(&w->replan, p->rank, &t))
        straggling_progress(&w->straggle, w->published->plans.plan, p, &t,
                            node_at(w, p->link.peer));
}

void plan_watch_network(struct plan_watch *w)
{
    const struct plan *p = w->published->plans.plan;
    struct planner_history history;

    if (!p)
        return;
    history_fill(w->history, &history);
    replanner_known(&w->replan, p, &history);
}

void plan_watch_model(struct plan_watch *w, int64_t bytes, const struct program *p)
{
    if (history_model(w->history, bytes, p))
        plan_watch_network(w);
}

/* Record the job's length when a worker of this generation first reports it: an earlier job of the
 * program may have been shorter.
 */
static void watch_length(struct plan_watch *w, const struct progress *p)
{
    const struct plan *now = w->published->plans.plan;
    int64_t n;

    if (w->length_known || !now || p->model_bytes == 0 || p->steps_total == 0 ||
        __builtin_mul_overflow(p->steps_total, now->global_batch, &n))
        return;
    w->length_known = true;
    if (history_samples(w->history, n, p->samples_in_epoch))
        plan_watch_network(w);
}

void plan_watch_progress(struct plan_watch *w, const struct progress *p, int64_t now_ns)
{
    if (plan_versions_progress(w->published, p)) {
        replanner_agreed(&w->replan, p->plan_version, now_ns);
        report_replan(w, p);
    }
    replanner_progress(&w->replan, p, now_ns);
    if (w->published->plans.plan)
        memory_watch_progress(&w->memory, w->published->plans.plan, p);
    watch_speed(w, p);
    if (p->at_once > 0) /* a worker may report this only from its first step on */
        w->history->memory.takes_pieces = p->takes_pieces;
    plan_watch_model(w, p->model_bytes, &p->program);
    watch_length(w, p);
}

/* Shortest interval between two decisions on a new plan. */
#define REPLAN_NS (CLOCK_S / 10)

/* Once the workers' times are known in seconds, replace the plan by the same plan with these times.
 */
static void refine(struct plan_watch *w)
{
    const struct plan *now = w->published->plans.plan;
    struct planner_history history;
    struct plan *p;

    if (!replanner_knows_seconds(&w->replan, now))
        return;
    history_fill(w->history, &history);
    p = replanner_refined(&w->replan, now, &history);
    if (p)
        plan_versions_refine(w->published, p);
}

/* If the program combines its gradients itself but the plan says otherwise, or the reverse, replace
 * the plan by the same plan with other predictions.  What a program does is not known before it
 * commits.
 */
static void watch_gradients(struct plan_watch *w)
{
    const struct plan *now = w->published->plans.plan;
    const struct past_model *model = &w->history->model;
    struct planner_history history;
    struct plan *p;

    if (model->bytes == 0 || strcmp(model->program.gradients, now->program.gradients) == 0)
        return;
    history_fill(w->history, &history);
    p = replanner_refined(&w->replan, now, &history);
    if (p)
        plan_versions_refine(w->published, p);
}

/* Update the plan's predicted rate from the first steps. */
static void predict(struct plan_watch *w)
{
    double samples_per_s;

    if (w->published->plans.plan &&
        replanner_predicts(&w->replan, w->published->plans.plan, &samples_per_s))
        plan_versions_predict(w->published, samples_per_s);
}

/* Print, once per job, that a single worker would be faster than any plan of these workers. */
static void tell_alone(struct plan_watch *w)
{
    const struct plan *p = w->published->plans.plan;
    char text[400];
    double times;
    int rank;

    if (w->alone_reported || !replanner_alone(&w->replan, &rank, &times))
        return;
    w->alone_reported = true;
    (void)snprintf(text, sizeof text,
                   "rank %d on %s would train %.1f times as fast alone: communication takes more "
                   "time than the other workers save; train on it alone, or try a larger "
                   "batch.global or another sync.mode",
                   rank, p->node[p->worker[rank].node], times);
    job_run_say(w->run, JOB_EVENT_SAY, -1, rank, text);
}

void plan_watch_publish(struct plan_watch *w, struct plan *p)
{
    struct eddis_error err = { 0 };

    if (plan_versions_replace(w->published, p, &err) < 0) {
        job_run_say(w->run, JOB_EVENT_NOTE, -1, -1, err.text);
        return;
    }
    replanner_published(&w->replan, w->published->plans.newest, p);
    job_run_say(w->run, JOB_EVENT_REPLANNED, -1, -1, p->change);
}

/* Correct the plan's predictions and limits by the measurements, and publish a new plan if that
 * pays.  The history is read again only for a new plan, because that may read files and a large
 * network's measurements.
 */
static void replan(struct plan_watch *w, int64_t now_ns)
{
    struct run_plans *all = &w->published->plans;
    struct replan_proposal proposal;
    struct planner_history history;
    struct plan *p;

    refine(w);
    watch_gradients(w);
    watch_network(w);
    predict(w);
    watch_memory(w);
    if (w->run->state.outcome != STATE_OUTCOME_OPEN)
        return;
    if (!replanner_decide(&w->replan, now_ns, &proposal)) {
        tell_alone(w);
        return;
    }
    history_fill(w->history, &history);
    p = replanner_plan(&w->replan, all->plan, &history, &proposal);
    if (p)
        plan_watch_publish(w, p);
}

void plan_watch_stepped(struct plan_watch *w, int64_t now_ns)
{
    if (plan_versions_stepped(w->published, now_ns))
        replanner_published(&w->replan, w->published->plans.newest, w->published->plans.plan);
    if (now_ns < w->replan_ns || !w->published->plans.plan ||
        plan_versions_measures_equal(w->published) || w->run->state.phase != STATE_PHASE_RUN)
        return;
    w->replan_ns = now_ns + REPLAN_NS;
    curve_watch_look(&w->curve, w->published->plans.plan, w->run, now_ns);
    if (!plan_versions_is_open(w->published)) /* programs that never commit leave it open */
        replan(w, now_ns);
    straggling_report(&w->straggle, w->published->plans.plan, w->agent, now_ns);
}
