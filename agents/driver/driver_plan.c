/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's plans: making one for the nodes that are there, and publishing the next version. */
#include "driver_impl.h"

#include "agents/job/checkpoints.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "scheduler/planner.h"
#include "scheduler/split.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct board_plan *driver_board_plan(const struct plan *p, int64_t version, int64_t flags)
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
    cleanup_free struct board_plan *b = driver_board_plan(p, d->newest_version + 1, flags);
    const struct order o = { .type = ORDER_REBALANCE,
                             .generation = d->run.state.generation,
                             .plan = b,
                             .n_plan = p->n_workers };
    char text[96];

    if (!b)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    d->newest_version++;
    d->run.status.plan_version = d->newest_version;
    job_run_order_parts(&d->run, &o);
    (void)snprintf(text, sizeof text, "version %" PRId64 "%s", d->newest_version,
                   flags & BOARD_FLAG_STOP ? ": write a checkpoint and stop" : "");
    job_run_say(&d->run, JOB_EVENT_PLAN_PUBLISHED, -1, -1, text);
    return 0;
}

/* Steps that workers do under the plan before when a new one is published: see lib/worker/replan.c.
 */
enum { STEPS_TO_TAKE_UP = 3 };

/* After so many steps the plan behind the equal split is published; 0: there is no such split. */
int64_t driver_equal_until(const struct driver *d)
{
    int64_t n = d->run.state.generation > 1 ? 0 : d->run.o->measure_equal;

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

/* A plan that is replayed was made for the nodes of the beginning: it holds as long as all are
 * there.
 */
static int make_plan(struct driver *d, const struct node_profile *nodes, int n, struct plan **ret,
                     struct eddis_error *err)
{
    cleanup_free int *began_as = calloc((size_t)n, sizeof *began_as);
    struct planner_known known = { 0 };
    bool replay = d->run.o->plan_path && (d->run.state.generation == 1 || n == d->run.n_agents);
    int rc;

    if (!began_as)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    for (int i = 0; i < n; i++)
        began_as[i] = d->run.agent[d->plan_agent[i]].first_rank;
    d->choice_given = false;
    if (!replay) {
        driver_known(d, &known);
        known.began_as = d->run.state.generation > 1 ? began_as : NULL;
        return planner_plan(d->run.o->job, nodes, n, &known, ret, err);
    }
    rc = plan_read(d->run.o->plan_path, ret, err);
    if (rc < 0)
        return rc;
    d->choice_given = (*ret)->choice != NULL;
    rc = planner_adopt(*ret, d->run.o->job, nodes, n, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s", d->run.o->plan_path) : rc;
}

static int make_equal(struct driver *d, struct eddis_error *err)
{
    d->plan->version = 1;
    if (driver_equal_until(d) == 0)
        return 0;
    d->equal = equal_of(d->plan, err);
    if (!d->equal)
        return -ENOMEM;
    d->plan->version = 2;
    journal_plan(&d->run.journal, d->equal);
    return 0;
}

/* The plan is there: ready everything that counts under it. */
static int take_plan(struct driver *d, struct eddis_error *err)
{
    struct plan *p = d->plan;
    cleanup_free int *node = calloc((size_t)p->n_workers, sizeof *node);
    int rc;

    if (!node)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    rc = make_equal(d, err);
    if (rc < 0)
        return rc;
    journal_plan(&d->run.journal, p);
    d->newest_version = d->run.status.plan_version = 1;
    d->agreed_version = 0;
    rc = figures_next(&d->figures, p, p->version, err);
    if (rc == 0)
        rc = job_status_resize(&d->run.status, p->n_workers, err);
    for (int r = 0; r < p->n_workers; r++) {
        node[r] = d->plan_agent[p->worker[r].node];
        if (d->run.state.generation == 1 && p->worker[r].local_rank == 0)
            d->run.agent[node[r]].first_rank = r;
    }
    (void)snprintf(d->run.status.mode, sizeof d->run.status.mode, "%s", p->mode);
    (void)snprintf(d->run.status.algorithm, sizeof d->run.status.algorithm, "%s", p->algorithm);
    return rc < 0 ? rc : state_planned(&d->run.state, p->n_workers, node, clock_now_ns(), err);
}

static void record_profiles(struct driver *d, const struct node_profile *nodes, int n)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, "{\"nodes\": [\n");
    for (int i = 0; i < n; i++) {
        cleanup_free char *one = profile_text(&nodes[i]);

        strbuf_addf(&b, "%s%s", i ? ",\n" : "", one ? one : "null");
    }
    strbuf_addf(&b, "],\n\"network\": %s,\n\"schema_version\": 1}\n",
                d->measured ? d->measured : "null");
    journal_file(&d->run.journal, "profile.json", strbuf_text(&b));
    strbuf_fini(&b);
}

static void forget_plans(struct driver *d)
{
    figures_end_generation(&d->figures, d->run.state.resume_step);
    plan_free(d->plan);
    plan_free(d->equal);
    d->plan = d->equal = NULL;
}

/* The checkpoint that the generation resumes from may be seen by this machine alone: the nodes
 * that knew it are gone.
 */
static void look_for_checkpoint(struct driver *d)
{
    int64_t seen = d->run.checkpoint_dir ? checkpoints_newest(d->run.checkpoint_dir, NULL, 0) : -1;

    if (d->run.state.generation > 1 && seen > d->run.state.resume_step)
        d->run.state.resume_step = seen;
}

/* The usable nodes, in the order of the job and as it wants them; fills d->plan_agent.  Returns
 * their number.
 */
static int usable_nodes(struct driver *d, struct node_profile *nodes, struct eddis_error *err)
{
    const struct job *job = d->run.o->job;
    int n = 0, rc = 0;

    for (int i = 0; i < d->run.n_agents && rc == 0; i++) {
        if (!state_is_usable(&d->run.state, i))
            continue;
        d->plan_agent[n] = i;
        nodes[n] = d->run.agent[i].profile;
        if (job->n_hosts)
            rc = planner_host(&job->host[i], &nodes[n], err);
        n++;
    }
    return rc < 0 ? rc : n;
}

/* What the plan says beside the workers. */
static void name_plan(struct driver *d, struct plan *p)
{
    p->generation = d->run.state.generation;
    if (p->n_nodes < 2)
        return;
    (void)snprintf(p->network, sizeof p->network, "%s", d->network);
    if (p->n_nodes ==
        d->run.n_agents) /* else the slowest cable may be that of a node that is gone */
        (void)snprintf(p->network_reason, sizeof p->network_reason, "%s", d->network_reason);
}

static void say_restart(struct driver *d, int n_nodes)
{
    char text[256];

    state_restart_text(&d->run.state, n_nodes, text, sizeof text);
    job_run_say(&d->run, JOB_EVENT_SAY, -1, -1, text);
}

/* Plan for these nodes, and go on with it or end behind it. */
static int plan_nodes(struct driver *d, const struct node_profile *nodes, int n,
                      struct eddis_error *err)
{
    const struct driver_view *v = &d->run.o->view;
    int rc = d->run.o->profile_only ? 0 : make_plan(d, nodes, n, &d->plan, err);

    if (rc == 0 && d->plan)
        name_plan(d, d->plan);
    if (rc == 0 && d->plan && d->plan->n_workers > BOARD_MAX_RANKS)
        rc = eddis_fail(err, -ERANGE, "the plan has %d workers; at most %d are possible",
                        d->plan->n_workers, BOARD_MAX_RANKS);
    if (rc == 0)
        rc = v->planned(v->ctx, d->plan, nodes, n, err);
    if (rc < 0)
        return rc;
    if (!d->run.o->profile_only && !d->run.o->plan_only)
        return take_plan(d, err);
    state_finish(&d->run.state, clock_now_ns());
    return 0;
}

void driver_plan(struct driver *d)
{
    cleanup_free struct node_profile *nodes = calloc((size_t)d->run.n_agents, sizeof *nodes);
    struct eddis_error err = { 0 };
    int n;

    if (!nodes) {
        state_fail(&d->run.state, "internal", 1, "no memory for the nodes' profiles",
                   clock_now_ns());
        return;
    }
    n = usable_nodes(d, nodes, &err);
    if (n >= 0) {
        d->run.status.n_nodes = n;
        driver_keep_network(d);
        driver_describe_network(d);
        record_profiles(d, nodes, n);
        look_for_checkpoint(d);
        forget_plans(d);
    }
    if (n >= 0 && d->run.state.generation > 1)
        say_restart(d, n);
    if (n < 0 || plan_nodes(d, nodes, n, &err) < 0)
        state_unplannable(&d->run.state, err.text, clock_now_ns());
}
