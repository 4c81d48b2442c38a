/* SPDX-License-Identifier: Apache-2.0 */
/* planning.c - plan a generation for the usable nodes: prepare what depends on the plan, and choose
 * what the job leaves open once the program has reported its model's size
 */
#include "planning.h"

#include "agents/driver/network/network_effect.h"
#include "memory_retry.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/model/algorithm.h"
#include "scheduler/bundles.h"
#include "scheduler/devices.h"
#include "scheduler/planner.h"
#include "scheduler/replan_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make the plan of a generation for n nodes, in *ret, for the caller to free.  A plan to replay is
 * used again as long as all original nodes are there and no worker ran out of memory.  Set
 * g->choice_given: whether it has a choice of communication.  Return 0 or a negative error; *ret
 * may then be the plan to replay, which does not fit the nodes.
 */
static int make_plan(struct planning *g, int n, struct plan **ret, struct eddis_error *err)
{
    cleanup_free int *began_as = calloc((size_t)n, sizeof *began_as);
    struct planner_history history = { 0 };
    bool replay = g->run->o->plan_path && !g->history.limited &&
                  (g->run->state.generation == 1 || n == g->run->n_agents);
    int rc;

    if (!began_as)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    for (int i = 0; i < n; i++)
        began_as[i] = g->run->agent[g->agent[i]].first_rank;
    g->choice_given = false;
    history_fill(&g->history, &history);
    if (!replay) {
        history.began_as = g->run->state.generation > 1 ? began_as : NULL;
        rc = planner_plan(g->run->o->job, g->node, n, &history, ret, err);
        if (rc == 0)
            memory_retry_raised(&g->history, *ret, g->node);
        return rc;
    }
    if (!g->replay)
        return eddis_fail(err, g->unreadable.code, "%s", g->unreadable.text);
    rc = plan_parse(g->replay, strlen(g->replay), g->run->o->plan_path, ret, err);
    if (rc < 0)
        return rc;
    g->choice_given = (*ret)->choice != NULL;
    rc = planner_adopt(*ret, g->run->o->job, g->node, n, &history, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s", g->run->o->plan_path) : rc;
}

/* Check whether the plan's mode has several models although the job leaves the mode open: the model
 * is known from an earlier job of the same command, but that program may combine its gradients
 * itself now, which needs sync mode and is known when the workers call eddis_commit.
 */
static bool is_assumed(const struct planning *g, const struct plan *p)
{
    const struct algorithm *a = algorithm_find(p->algorithm);

    return algorithm_is_open(g->run->o->job->sync.mode, g->run->o->job->sync.algorithm) && a &&
           a->mode != SYNC_MODE_SYNC && p->n_workers > 1;
}

/* Check whether the sync mode, or an option of it that the size of the model decides, stays open
 * until the workers call eddis_commit.
 */
static bool is_open(const struct planning *g, const struct plan *p)
{
    return g->run->state.generation == 1 && !g->run->o->plan_path &&
           (planner_is_open(g->run->o->job, p) || is_assumed(g, p));
}

/* Record the plan's sync mode in the status, and in the history for a restart, which keeps a
 * decided mode.
 */
static void take_mode(struct planning *g, const struct plan *p)
{
    (void)snprintf(g->history.algorithm, sizeof g->history.algorithm, "%s",
                   plan_versions_is_open(&g->published) ? "" : p->algorithm);
    g->history.wire = p->options.wire;
    g->precision = planner_precision(g->run->o->job, &g->history.model.program);
    plan_versions_show(&g->published, p);
}

/* Prepare everything that depends on the new plan: versions, watching, metrics, status and state
 * machine.  Return 0 or a negative error, after which part of it is prepared.
 */
static int take_plan(struct planning *g, struct eddis_error *err)
{
    struct plan *p = g->published.plans.plan;
    cleanup_free int *node = calloc((size_t)p->n_workers, sizeof *node);
    int rc;

    if (!node)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    rc = plan_versions_begin(&g->published, is_open(g, p), err);
    if (rc == 0)
        rc = plan_watch_begin(&g->watch, err);
    if (rc < 0)
        return rc;
    rc = metrics_next(&g->run->metrics, p, p->version, err);
    if (rc == 0)
        rc = job_status_resize(&g->run->status, p->n_workers, err);
    for (int r = 0; r < p->n_workers; r++) {
        node[r] = g->agent[p->worker[r].node];
        if (g->run->state.generation == 1 && p->worker[r].local_rank == 0)
            g->run->agent[node[r]].first_rank = r;
    }
    take_mode(g, p);
    return rc < 0 ? rc : state_planned(&g->run->state, p->n_workers, node, clock_now_ns(), err);
}

/* Write the nodes' profiles and the network measurement to profile.json. */
static void record_profiles(struct planning *g, int n)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, "{\"nodes\": [\n");
    for (int i = 0; i < n; i++) {
        cleanup_free char *one = profile_text(&g->node[i]);

        strbuf_addf(&b, "%s%s", i ? ",\n" : "", one ? one : "null");
    }
    strbuf_addf(&b, "],\n\"network\": %s,\n\"schema_version\": 1}\n",
                g->history.network->measured ? g->history.network->measured : "null");
    journal_file(&g->run->journal, "profile.json", strbuf_text(&b));
    strbuf_fini(&b);
}

/* End the metrics and the watching of the previous generation, and free its plans. */
static void forget_plans(struct planning *g)
{
    plan_watch_end(&g->watch);
    metrics_end_generation(&g->run->metrics, state_resume_step(&g->run->state));
    plan_versions_forget(&g->published);
}

/* Copy the profiles of the first n agents of g->agent to g->node, adjusted to the job's settings
 * for their hosts.  Return 0 or a negative error.
 */
static int profiles(const struct planning *g, int n, struct eddis_error *err)
{
    const struct job *job = g->run->o->job;
    struct node_profile *ret = g->node;
    int rc = 0;

    for (int i = 0; i < n && rc == 0; i++) {
        ret[i] = g->run->agent[g->agent[i]].profile;
        ret[i].cpus_only = job_runs_trainer(job);
        if (job->n_hosts)
            rc = planner_host(&job->host[g->agent[i]], &ret[i], err);
        if (rc == 0 && !g->run->o->profile_only)
            rc = bundles_make(&ret[i], job->gpus_per_worker, err);
    }
    return rc;
}

/* Put the usable nodes into g->agent in the job's order and their profiles into g->node.  Return
 * their number or a negative error.
 */
static int usable_nodes(struct planning *g, struct eddis_error *err)
{
    struct planner_history history;
    int n = 0, rc;

    for (int i = 0; i < g->run->n_agents; i++)
        if (state_is_usable(&g->run->state, i))
            g->agent[n++] = i;
    rc = profiles(g, n, err);
    if (rc < 0)
        return rc;
    history_fill(&g->history, &history);
    g->remarked = planner_precision(g->run->o->job, &history.program);
    devices_remark(g->run->o->job->workers_per_node, g->remarked, g->node, n);
    return n;
}

/* Check whether the network measurement comes from an earlier job and cannot be revalidated: no
 * worker with libeddis is known, which would have reported a model.
 */
static bool is_unconfirmed(const struct planning *g)
{
    return g->run->state.network == STATE_NETWORK_CACHED && !g->history.network->check.known &&
           g->history.model.bytes == 0;
}

/* Set the plan's generation, the workers that it leaves out, and with several nodes its description
 * of the network.
 */
static void name_plan(struct planning *g, struct plan *p)
{
    p->generation = g->run->state.generation;
    memcpy(p->left, g->drop.left, sizeof p->left);
    p->n_left = g->drop.n_left;
    if (p->n_nodes < 2)
        return;
    (void)snprintf(p->network, sizeof p->network, "%s", g->history.network->subnet);
    if (p->n_nodes ==
        g->run->n_agents) /* otherwise the slowest link may be that of a node that has gone */
        (void)snprintf(p->network_reason, sizeof p->network_reason, "%s",
                       g->history.network->reason);
    if (is_unconfirmed(g))
        text_append(p->network_reason, sizeof p->network_reason, "%snetwork not confirmed",
                    p->network_reason[0] ? "; " : "");
}

/* Report to the user how the job is restarted. */
static void say_restart(struct planning *g, int n_nodes)
{
    char text[256];

    state_restart_text(&g->run->state, n_nodes, text, sizeof text);
    job_run_say(g->run, JOB_EVENT_SAY, -1, -1, text);
}

/* Make the plan for these nodes, in g->published.plans.plan, and show it.  Then prepare its
 * generation, or end the job if only a plan or profile was wanted.  Return 0 or a negative error.
 */
static int plan_nodes(struct planning *g, int n, struct eddis_error *err)
{
    const struct driver_view *v = &g->run->o->view;
    int rc = g->run->o->profile_only ? 0 : make_plan(g, n, &g->published.plans.plan, err);

    if (rc == 0 && g->published.plans.plan)
        name_plan(g, g->published.plans.plan);
    if (rc == 0 && g->published.plans.plan && is_open(g, g->published.plans.plan) &&
        !is_assumed(g, g->published.plans.plan))
        planner_leave_open(g->run->o->job, g->published.plans.plan);
    if (rc == 0)
        rc = v->planned(v->ctx, g->published.plans.plan, g->node, n, err);
    if (rc < 0)
        return rc;
    if (!g->run->o->profile_only && !g->run->o->plan_only)
        return take_plan(g, err);
    state_finish(&g->run->state, clock_now_ns());
    return 0;
}

/* Limit the workers that ran out of memory in failure f, as memory_retry, and return that. */
static int retry(struct planning *g, const struct state_failure *f, struct eddis_error *err)
{
    return memory_retry(&g->history, f, g->published.plans.plan, g->node, &g->watch.memory, err);
}

/* Make the plan of the next generation and pass it to the state machine, or end the job if that is
 * impossible.  Return false if no node is usable or a profile is unusable; otherwise true, even if
 * the plan could not be made.
 */
static bool plan(struct planning *g)
{
    struct eddis_error err = { 0 };
    int n;

    plan_watch_keep(&g->watch);
    n = retry(g, &g->run->state.before, &err);
    if (n >= 0)
        n = usable_nodes(g, &err);
    if (n == 0) /* all nodes left while the plan was waiting */
        n = eddis_fail(&err, -ENOENT, "no node is left");
    if (n >= 0) {
        record_profiles(g, n);
        forget_plans(g);
        n = node_drop(g->run, &g->history, g->agent, g->node, n, &g->drop);
        g->run->status.n_nodes = n;
    }
    if (n >= 0 && g->run->state.generation > 1)
        say_restart(g, n);
    if (n < 0 || plan_nodes(g, n, &err) < 0)
        state_unplannable(&g->run->state, err.text, clock_now_ns());
    return n >= 0;
}

/* ---- deciding what is open, once the model's size is known ---- */

/* If the job asks for rounds, set its groups to those of plan `now`, with which the ranks have been
 * started (EDDIS_GROUPS). group [now->n_workers] is lent to the job.
 */
static void keep_groups(struct job *job, const struct plan *now, int *group)
{
    if (algorithm_is_open(job->sync.mode, job->sync.algorithm) ||
        !algorithm_has(now->algorithm, ALGORITHM_ROUNDS))
        return;
    for (int i = 0; i < now->n_workers; i++)
        group[i] = now->worker[i].group;
    job->sync.groups = (struct job_groups){ now->n_groups, group, (size_t)now->n_workers };
}

/* Return a plan with a decided mode for the nodes of the present plan and the reported model, for
 * the caller to free; NULL: it cannot be made, and err says why.
 */
static struct plan *plan_settled(struct planning *g, struct eddis_error *err)
{
    const struct plan *now = g->published.plans.plan;
    cleanup_free int *group = calloc((size_t)now->n_workers, sizeof *group);
    struct planner_history history;
    struct job job = *g->run->o->job;
    struct plan *p = NULL;

    if (!group) {
        eddis_fail(err, -ENOMEM, "no memory for a plan");
        return NULL;
    }
    keep_groups(&job, now, group);
    history_fill(&g->history, &history);
    if (planner_plan(&job, g->node, now->n_nodes, &history, &p, err) < 0)
        return NULL;
    name_plan(g, p);
    return p;
}

/* Publish plan p, which is taken and may be the present one, to the workers that wait for it.
 * Return 0 or a negative error.
 */
static int settle_by(struct planning *g, struct plan *p, struct eddis_error *err)
{
    const struct driver_view *v = &g->run->o->view;
    bool is_shown = p == g->published.plans.plan && is_assumed(g, p);
    int rc = plan_versions_settle(&g->published, p, err);

    metrics_refine(&g->run->metrics, g->published.plans.plan);
    take_mode(g, p);
    if (rc == 0)
        rc = plan_watch_begin(&g->watch, err);
    if (rc < 0)
        return rc;
    if (is_shown)
        return 0;
    job_run_say(g->run, JOB_EVENT_MODE, -1, -1, p->reason);
    v->settled(v->ctx, p);
    return 0;
}

/* Decide what the job leaves open and publish the plan.  If that plan cannot be made, print why and
 * publish the present plan: the job can still train in its mode.  The present plan also stays if
 * the program is the one that it assumed.  If publishing fails, end the job.
 */
static void settle(struct planning *g)
{
    struct eddis_error err = { 0 };
    struct plan *now = g->published.plans.plan;
    bool stays = is_assumed(g, now) && !program_is_external(&g->history.model.program);
    struct plan *p = stays ? now : plan_settled(g, &err);

    if (!p) {
        job_run_say(g->run, JOB_EVENT_SAY, -1, -1, err.text);
        p = g->published.plans.plan;
    }
    if (settle_by(g, p, &err) < 0)
        state_fail(&g->run->state, "internal", 1, err.text, clock_now_ns());
}

/* Record how many samples the job trains, from what rank 0 has reported. */
static void record_length(struct planning *g)
{
    const struct metrics *f = &g->run->metrics;
    const struct progress *p = f->n_workers ? &f->worker[0].last : NULL;
    int64_t n;

    if (f->plan && p && !__builtin_mul_overflow(p->steps_total, f->plan->global_batch, &n))
        (void)history_samples(&g->history, n, p->samples_in_epoch);
}

/* If the plan is open and the event is of this generation, record the size of the model and decide
 * what the job leaves open.  No worker has made a step yet.
 */
static void take_model(struct planning *g, const struct event *e)
{
    if (e->generation != g->run->state.generation || !plan_versions_is_open(&g->published) ||
        g->run->state.outcome != STATE_OUTCOME_OPEN)
        return;
    plan_watch_model(&g->watch, e->model_bytes, &e->program);
    record_length(g);
    settle(g);
}

/* ---- the program's precision, once it is known ---- */

/* Return plan `now` with the batches and time models of `fresh`, which has the same workers, for
 * the caller to free; NULL: it cannot be made, and err says why.
 */
static struct plan *with_batches(struct planning *g, const struct plan *now,
                                 const struct plan *fresh, const struct planner_history *history,
                                 struct eddis_error *err)
{
    cleanup_free struct planner_worker *w = calloc((size_t)now->n_workers, sizeof *w);
    struct plan *p = NULL;

    for (int i = 0; w && i < now->n_workers; i++)
        w[i] = (struct planner_worker){ .batch = fresh->worker[i].batch,
                                        .fixed_s = fresh->worker[i].fixed_s,
                                        .sample_s = fresh->worker[i].sample_s,
                                        .time = fresh->worker[i].time,
                                        .largest = fresh->worker[i].largest,
                                        .piece = fresh->worker[i].piece };
    if (!w)
        eddis_fail(err, -ENOMEM, "no memory for a plan");
    else
        (void)planner_again(g->run->o->job, now, w, 0, history, &p, err);
    if (p)
        p->program.precision = fresh->program.precision;
    return p;
}

/* Return a plan that replaces `now`, by the devices' rates in the program's precision, for the
 * caller to free; NULL: it cannot be made, and err says why.
 */
static struct plan *plan_precise(struct planning *g, const struct plan *now,
                                 struct eddis_error *err)
{
    struct planner_history history;
    struct plan *fresh = NULL, *p = NULL;
    int rc;

    history_fill(&g->history, &history);
    history.algorithm = now->algorithm;
    rc = planner_plan(g->run->o->job, g->node, now->n_nodes, &history, &fresh, err);
    if (rc == 0 && fresh->n_workers == now->n_workers)
        p = with_batches(g, now, fresh, &history, err);
    plan_free(fresh);
    return p;
}

/* Return how many times as fast p is predicted to be as with the batches of `before`; 1: no memory.
 */
static double gain_over(const struct plan *p, const struct plan *before)
{
    cleanup_free int64_t *batch = calloc((size_t)p->n_workers, sizeof *batch);
    bool same = true;

    for (int i = 0; batch && i < p->n_workers; i++) {
        batch[i] = before->worker[i].batch;
        same = same && batch[i] == p->worker[i].batch;
    }
    return batch && !same ? p->predicted_samples_per_s / planner_throughput(p, batch) : 1;
}

/* If the program has reported another precision than the notes of the nodes' profiles are about,
 * report to the user which GPUs lack it.
 */
static void say_lacking(struct planning *g)
{
    const struct plan *now = g->published.plans.plan;
    enum precision is = planner_precision(g->run->o->job, &g->history.model.program);
    char text[400];

    if (!now || g->remarked == is)
        return;
    g->remarked = is;
    if (devices_lacking(g->node, now->n_nodes, is, !replan_plan_is_by_rates(now), text,
                        sizeof text))
        job_run_say(g->run, JOB_EVENT_SAY, -1, -1, text);
}

/* If the program has reported a precision by which the plan was not made, and no worker's time is
 * measured yet, publish a plan by the devices' rates in that precision.  Measured times know of the
 * precision by themselves.
 */
static void take_precision(struct planning *g)
{
    struct plan *now = g->published.plans.plan, *p;
    enum precision is = planner_precision(g->run->o->job, &g->history.model.program);
    struct eddis_error err = { 0 };

    if (!now || g->precision == is || plan_versions_is_open(&g->published) ||
        plan_versions_measures_equal(&g->published) || g->run->state.phase != STATE_PHASE_RUN ||
        g->run->state.outcome != STATE_OUTCOME_OPEN)
        return;
    g->precision = is;
    if (!replan_plan_is_by_rates(now) || !replanner_is_unmeasured(&g->watch.replan))
        return;
    p = plan_precise(g, now, &err);
    if (!p) {
        job_run_say(g->run, JOB_EVENT_NOTE, -1, -1, err.text);
        return;
    }
    replanner_first(&g->watch.replan, p);
    p->gain = gain_over(p, now);
    (void)snprintf(p->change, sizeof p->change,
                   "the program computes in %s, in which the GPUs' speeds have other ratios",
                   precision_name(is));
    if (p->gain > 1)
        plan_watch_publish(&g->watch, p);
    else
        plan_free(p);
}

/* ---- a network check by the ranks ---- */

/* Update the plan's predictions and description after the ranks have checked the network, and write
 * the plan again.
 */
static void take_network(struct planning *g)
{
    struct plan *p = g->published.plans.plan;
    struct planner_history history;

    if (!p || !g->history.network->check.known)
        return;
    history_fill(&g->history, &history);
    if (plan_versions_is_open(&g->published) && !is_assumed(g, p))
        history.model_bytes = 0; /* an open plan was made without communication */
    if (!g->history.network->check.holds)
        network_effect_checked(g->run, &g->history.network->check, &history, p);
    plan_watch_network(&g->watch);
    name_plan(g, p);
    journal_plan(&g->run->journal, p);
}

/* ---- entry points ---- */

/* Return the number of gradients in rank 0's buckets; 0: rank 0 has made no buckets. */
static int64_t count_gradients(const struct plan *p)
{
    int64_t n = 0;

    for (int i = 0; p && p->choice && i < p->choice->n_buckets; i++)
        n += p->choice->bucket[i];
    return n;
}

/* Store rank 0's choice of communication in the plan, write the plan again, and tell the user; keep
 * the number of gradients for the next job.  Ignore an event of another generation, and any if the
 * plan was replayed with a choice.
 */
static void take_choice(struct planning *g, const struct event *e)
{
    if (e->generation != g->run->state.generation || e->generation == 0 || g->choice_given)
        return;
    plan_versions_choice(&g->published, e->text);
    history_gradients(&g->history, count_gradients(g->published.plans.plan));
}

/* Handle rank 0's choice of communication, the model's size, or a network check by the ranks.
 * Return HEARD_TAKEN for a network check, which the state machine does not get; otherwise HEARD
 * (subject_ops.on_event).
 */
static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    (void)agent;
    (void)now_ns;
    if (e->type == EVENT_CHOICE) {
        take_choice(self, e);
    } else if (e->type == EVENT_COMMITTED) {
        take_model(self, e);
    } else if (e->generation > 0) {
        take_network(self);
        return HEARD_TAKEN; /* the state machine handles only probe results */
    }
    return HEARD;
}

/* Store the measurements for the next job.  If the job has failed, store the limits of workers that
 * ran out of memory too; after a failure that the job recovered from they are stored already.
 */
static void keep(struct planning *g)
{
    const struct state *s = &g->run->state;

    plan_watch_keep(&g->watch);
    if (s->outcome != STATE_OUTCOME_FAILED) {
        curve_watch_keep(&g->watch.curve, &g->history);
        return;
    }
    (void)retry(g, &s->failure, NULL);
    memory_retry_none(&g->history, &s->failure, g->published.plans.plan, g->node, &g->watch.memory);
}

/* Make a plan, store measurements, or publish a checkpoint.  Return true if no plan was made: it
 * has to wait, or no node is usable.  Otherwise return false: the other modules of the route get
 * the action too (subject_ops.on_action).
 */
static bool on_action(void *self, const struct action *a)
{
    if (a->type == ACTION_PLAN)
        return !checkpoint_wait_ready(&((struct planning *)self)->wait) || !plan(self);
    if (a->type == ACTION_BYE) {
        keep(self);
        return false;
    }
    plan_versions_checkpoint(&((struct planning *)self)->published);
    return false;
}

/* Check the search for checkpoints that a plan waits for (subject_ops.tick). */
static void tick(void *self, int64_t now_ns)
{
    checkpoint_wait_tick(&((struct planning *)self)->wait, now_ns);
}

/* Handle the progress of a worker that reports a published plan version, and return HEARD.  Return
 * HEARD_TAKEN for any other version, to withhold the progress from other modules
 * (subject_ops.on_progress).
 */
static enum heard on_progress(void *self, const struct progress *p, int64_t now_ns)
{
    struct planning *g = self;

    if (!plan_versions_knows(&g->published, p))
        return HEARD_TAKEN;
    plan_watch_progress(&g->watch, p, now_ns);
    return HEARD;
}

/* Re-plan if that is due after a report of progress (subject_ops.on_report). */
static void on_report(void *self, int64_t now_ns)
{
    struct planning *g = self;

    say_lacking(g);
    take_precision(g);
    plan_watch_stepped(&g->watch, now_ns);
}

const struct subject_ops planning_ops = { .on_event = on_event,
                                          .on_action = on_action,
                                          .on_progress = on_progress,
                                          .on_report = on_report,
                                          .tick = tick };

void planning_join(struct planning *g, struct job_run *run, const struct run_network *network)
{
    g->run = g->published.run = g->wait.run = run;
    g->history = (struct history){ .run = run, .network = network };
    g->watch =
        (struct plan_watch){ .run = run, .history = &g->history, .published = &g->published };
}

int planning_init(struct planning *g, struct eddis_error *err)
{
    struct plan *replay = NULL;

    if (g->run->o->plan_path && /* read now: nobody waits for the driver yet */
        plan_read(g->run->o->plan_path, &replay, &g->unreadable) == 0)
        g->replay = plan_text(replay);
    plan_free(replay);
    if (!g->replay && !g->unreadable.code)
        eddis_fail(&g->unreadable, -ENOMEM, "no memory for a plan");
    g->watch.agent = g->agent = calloc((size_t)g->run->n_agents, sizeof *g->agent);
    g->watch.node = g->node = calloc((size_t)g->run->n_agents, sizeof *g->node);
    return g->agent && g->node
               ? 0
               : eddis_fail(err, -ENOMEM, "no memory for %d agents", g->run->n_agents);
}

void planning_fini(struct planning *g)
{
    plan_watch_end(&g->watch);
    plan_versions_forget(&g->published);
    free(g->agent);
    free(g->node);
    free(g->replay);
    history_fini(&g->history);
}
