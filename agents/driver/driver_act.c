/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "scheduler/planner.h"
#include "scheduler/split.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const int64_t clean_ns = 5 * CLOCK_S;

/* Order all agents the same; what differs between them the caller has filled in. */
static void order_all(struct driver *d, const struct order *order)
{
    for (int i = 0; i < d->n_agents; i++) {
        struct eddis_error err = { 0 };
        struct order o = *order;

        if (orders_add(&d->agent[i].orders, &o, &err) < 0)
            driver_say(d, "note", i, -1, err.text);
    }
}

/* ---- plans ---- */

static struct board_plan *board_plan_of(const struct plan *p, int64_t version, int64_t flags)
{
    struct board_plan *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->version = version;
    b->global_batch = p->global_batch;
    b->flags = flags;
    for (int r = 0; r < p->n_workers; r++)
        b->batch[r] = p->worker[r].batch;
    return b;
}

int driver_publish(struct driver *d, const struct plan *p, int64_t flags, struct eddis_error *err)
{
    cleanup_free struct board_plan *b = board_plan_of(p, d->newest_version + 1, flags);
    const struct order o = { .type = ORDER_REBALANCE,
                             .generation = d->state.generation,
                             .plan = b,
                             .n_plan = p->n_workers };
    char text[96];

    if (!b)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    d->newest_version++;
    d->status.plan_version = d->newest_version;
    order_all(d, &o);
    (void)snprintf(text, sizeof text, "version %" PRId64 "%s", d->newest_version,
                   flags ? ": write a checkpoint and stop" : "");
    driver_say(d, "plan_published", -1, -1, text);
    return 0;
}

/* Steps that workers do under the plan before when a new one is published: see lib/plan.c. */
enum { STEPS_TO_TAKE_UP = 3 };

/* After so many steps the plan behind the equal split is published; 0: there is no such split. */
int64_t driver_equal_until(const struct driver_options *o)
{
    int64_t n = o->measure_equal;

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

static int make_plan(struct driver *d, const struct node_profile *nodes, struct eddis_error *err)
{
    int rc;

    if (!d->o->plan_path)
        return planner_plan(d->o->job, nodes, d->n_agents, &d->plan, err);
    rc = plan_read(d->o->plan_path, &d->plan, err);
    if (rc < 0)
        return rc;
    rc = planner_adopt(d->plan, d->o->job, nodes, d->n_agents, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s", d->o->plan_path) : rc;
}

/* The plan is there: ready everything that counts under it. */
static int take_plan(struct driver *d, struct eddis_error *err)
{
    struct plan *p = d->plan;
    cleanup_free int *node = calloc((size_t)p->n_workers, sizeof *node);
    int rc;

    if (!node)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    if (p->n_workers > BOARD_MAX_RANKS)
        return eddis_fail(err, -ERANGE, "the plan has %d workers; at most %d are possible",
                          p->n_workers, BOARD_MAX_RANKS);
    p->generation = d->state.generation;
    p->version = 1;
    if (d->o->measure_equal > 0) {
        d->equal = equal_of(p, err);
        if (!d->equal)
            return -ENOMEM;
        p->version = 2;
        record_plan(&d->record, d->equal);
    }
    record_plan(&d->record, p);
    d->newest_version = d->status.plan_version = 1;
    rc = figures_init(&d->figures, p, p->version, err);
    if (rc == 0)
        rc = job_status_resize(&d->status, p->n_workers, err);
    for (int r = 0; r < p->n_workers; r++)
        node[r] = p->worker[r].node;
    (void)snprintf(d->status.mode, sizeof d->status.mode, "%s", p->mode);
    (void)snprintf(d->status.algorithm, sizeof d->status.algorithm, "%s", p->algorithm);
    return rc < 0 ? rc : state_planned(&d->state, p->n_workers, node, clock_now_ns(), err);
}

static void record_profiles(struct driver *d)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, "{\"nodes\": [\n");
    for (int i = 0; i < d->n_agents; i++) {
        cleanup_free char *one = profile_text(&d->agent[i].profile);

        strbuf_addf(&b, "%s%s", i ? ",\n" : "", one ? one : "null");
    }
    strbuf_add(&b, "],\n\"schema_version\": 1}\n");
    record_file(&d->record, "profile.json", strbuf_text(&b));
    strbuf_fini(&b);
}

static void plan_job(struct driver *d)
{
    cleanup_free struct node_profile *nodes = calloc((size_t)d->n_agents, sizeof *nodes);
    const struct driver_view *v = &d->o->view;
    struct eddis_error err = { 0 };
    int rc = 0;

    if (!nodes) {
        state_fail(&d->state, "internal", 1, "no memory for the nodes' profiles", clock_now_ns());
        return;
    }
    for (int i = 0; i < d->n_agents; i++)
        nodes[i] = d->agent[i].profile;
    record_profiles(d);
    if (!d->o->profile_only)
        rc = make_plan(d, nodes, &err);
    if (rc == 0)
        v->planned(v->ctx, d->plan, nodes, d->n_agents);
    if (rc == 0 && (d->o->profile_only || d->o->plan_only)) {
        state_finish(&d->state, clock_now_ns());
        return;
    }
    if (rc == 0)
        rc = take_plan(d, &err);
    if (rc < 0) /* the job asks for what these nodes cannot give */
        state_fail(&d->state, "usage", 2, err.text, clock_now_ns());
}

/* ---- launching and stopping ---- */

static void fill_rank(struct order_rank *r, const struct plan_worker *w)
{
    *r = (struct order_rank){
        .rank = w->rank, .local_rank = w->local_rank, .batch = w->batch, .weight = w->weight
    };
    (void)snprintf(r->device_id, sizeof r->device_id, "%s", w->device_id);
    (void)snprintf(r->cpus, sizeof r->cpus, "%s", w->cpus);
    if (w->kind == DEVICE_EMULATED) {
        r->fixed_s = w->fixed_s;
        r->sample_s = w->sample_s;
    }
}

static int prepare_agent(struct driver *d, int agent, struct eddis_error *err)
{
    const struct plan *p = d->equal ? d->equal : d->plan;
    const struct job *job = d->o->job;
    cleanup_free struct order_rank *rank = calloc((size_t)p->n_workers, sizeof *rank);
    cleanup_free struct board_plan *b = board_plan_of(p, 1, 0);
    struct order_node node = { .n_ranks = p->n_workers };
    struct order o = {
        .type = ORDER_PREPARE,
        .generation = d->state.generation,
        .node = &node,
        .n_nodes = 1,
        .n_ranks = p->n_workers,
        .rank = rank,
        .seed = p->seed,
        .bucket_bytes = p->bucket_bytes,
        .warmup_steps = job->learning_rate.warmup_steps,
        .checkpoint_every = job->checkpoint.every,
        .checkpoint_keep = job->checkpoint.keep,
        .resume = strcmp(job->checkpoint.resume, "auto") != 0,
        .report_at_step = driver_equal_until(d->o),
        .plan = b,
        .n_plan = p->n_workers,
    };

    if (!rank || !b)
        return eddis_fail(err, -ENOMEM, "no memory for an order");
    (void)snprintf(node.host, sizeof node.host, "localhost");
    (void)snprintf(o.mode, sizeof o.mode, "%s", p->mode);
    (void)snprintf(o.algorithm, sizeof o.algorithm, "%s", p->algorithm);
    for (int r = 0; r < p->n_workers; r++) {
        if (p->worker[r].node != agent)
            continue;
        o.emulated = o.emulated || p->worker[r].kind == DEVICE_EMULATED;
        fill_rank(&rank[o.n_local++], &p->worker[r]);
    }
    return orders_add(&d->agent[agent].orders, &o, err);
}

static void prepare_all(struct driver *d)
{
    for (int i = 0; i < d->n_agents; i++) {
        struct eddis_error err = { 0 };

        if (prepare_agent(d, i, &err) < 0)
            state_fail(&d->state, "internal", 1, err.text, clock_now_ns());
    }
}

static void start_first(struct driver *d)
{
    struct order o = { .type = ORDER_START, .generation = d->state.generation };
    struct eddis_error err = { 0 };

    if (orders_add(&d->agent[0].orders, &o, &err) < 0)
        state_fail(&d->state, "internal", 1, err.text, clock_now_ns());
}

static void ask_for_checkpoint(struct driver *d)
{
    struct eddis_error err = { 0 };

    const struct plan *p = d->equal && d->newest_version == 1 ? d->equal : d->plan;

    d->preempt_step = figures_steps(&d->figures);
    if (p == d->equal)
        figures_only_equal(&d->figures);
    if (driver_publish(d, p, BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP, &err) < 0)
        state_fail(&d->state, "internal", 1, err.text, clock_now_ns());
}

static void kill_left_over(struct driver *d)
{
    struct eddis_error err = { 0 };

    if (starter_clean(d->starter, 0, clock_now_ns() + clean_ns, &err) < 0)
        driver_say(d, "say", -1, -1, err.text);
}

static void show_last_lines(struct driver *d, const struct action *a)
{
    const struct driver_view *v = &d->o->view;

    if (d->event && d->event->last_lines && *d->event->last_lines)
        v->last_lines(v->ctx, a->rank, d->event->last_lines);
}

static void act(struct driver *d, const struct action *a)
{
    switch (a->type) {
    case ACTION_PROFILE:
        order_all(d, &(struct order){ .type = ORDER_PROFILE });
        break;
    case ACTION_PLAN:
        plan_job(d);
        break;
    case ACTION_PREPARE:
        prepare_all(d);
        break;
    case ACTION_START:
        start_first(d);
        break;
    case ACTION_CHECKPOINT:
        ask_for_checkpoint(d);
        break;
    case ACTION_SIGNAL:
        order_all(d, &(struct order){ .type = ORDER_SIGNAL, .generation = d->state.generation });
        break;
    case ACTION_STOP:
        order_all(d, &(struct order){ .type = ORDER_STOP,
                                      .generation = d->state.generation,
                                      .ladder = a->ladder,
                                      .grace_ns = d->o->job->timeouts.grace_ns });
        break;
    case ACTION_BYE:
        starter_abandon(d->starter);
        order_all(d, &(struct order){ .type = ORDER_BYE });
        break;
    case ACTION_KILL:
        kill_left_over(d);
        break;
    case ACTION_SAY:
        driver_say(d, "say", -1, -1, a->text);
        break;
    case ACTION_LAST_LINES:
        show_last_lines(d, a);
        break;
    }
}

void driver_act(struct driver *d)
{
    struct action a;

    while (state_action(&d->state, &a))
        act(d, &a);
}
