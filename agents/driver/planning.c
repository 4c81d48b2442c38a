/* SPDX-License-Identifier: Apache-2.0 */
/* planning.c - a plan for the usable nodes, and what has to be ready before it is launched */
#include "planning.h"

#include "checkpoint_look.h"
#include "learned.h"
#include "network_effect.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/model/choice_json.h"
#include "scheduler/planner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill_known(struct planning *g, struct planner_known *ret)
{
    *ret = (struct planner_known){ 0 };
    if (!g->model_bytes)
        g->model_bytes = learned_model(g->run->looks, g->run->o->job);
    ret->model_bytes = g->model_bytes;
    if (g->run->state.generation > 1 && g->algorithm[0])
        ret->algorithm = g->algorithm;
    learned_wire(g->network->measured, ret);
    if (g->network->check.known && !g->network->check.holds)
        ret->bytes_per_s = g->network->check.wire_bytes_per_s;
}

/* A plan that is replayed was made for the nodes of the beginning: it holds as long as all are
 * there.
 */
static int make_plan(struct planning *g, const struct node_profile *nodes, int n, struct plan **ret,
                     struct eddis_error *err)
{
    cleanup_free int *began_as = calloc((size_t)n, sizeof *began_as);
    struct planner_known known = { 0 };
    bool replay = g->run->o->plan_path && (g->run->state.generation == 1 || n == g->run->n_agents);
    int rc;

    if (!began_as)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    for (int i = 0; i < n; i++)
        began_as[i] = g->run->agent[g->agent[i]].first_rank;
    g->choice_given = false;
    if (!replay) {
        fill_known(g, &known);
        known.began_as = g->run->state.generation > 1 ? began_as : NULL;
        return planner_plan(g->run->o->job, nodes, n, &known, ret, err);
    }
    if (!g->replay)
        return eddis_fail(err, g->unreadable.code, "%s", g->unreadable.text);
    rc = plan_parse(g->replay, strlen(g->replay), g->run->o->plan_path, ret, err);
    if (rc < 0)
        return rc;
    g->choice_given = (*ret)->choice != NULL;
    rc = planner_adopt(*ret, g->run->o->job, nodes, n, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s", g->run->o->plan_path) : rc;
}

/* The plan is there: ready everything that counts under it. */
static int take_plan(struct planning *g, struct eddis_error *err)
{
    struct plan *p = g->published.plans.plan;
    cleanup_free int *node = calloc((size_t)p->n_workers, sizeof *node);
    int rc;

    if (!node)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    rc = publishing_begin(&g->published, err);
    if (rc < 0)
        return rc;
    rc = figures_next(&g->run->figures, p, p->version, err);
    if (rc == 0)
        rc = job_status_resize(&g->run->status, p->n_workers, err);
    for (int r = 0; r < p->n_workers; r++) {
        node[r] = g->agent[p->worker[r].node];
        if (g->run->state.generation == 1 && p->worker[r].local_rank == 0)
            g->run->agent[node[r]].first_rank = r;
    }
    (void)snprintf(g->algorithm, sizeof g->algorithm, "%s", p->algorithm);
    (void)snprintf(g->run->status.mode, sizeof g->run->status.mode, "%s", p->mode);
    (void)snprintf(g->run->status.algorithm, sizeof g->run->status.algorithm, "%s", p->algorithm);
    return rc < 0 ? rc : state_planned(&g->run->state, p->n_workers, node, clock_now_ns(), err);
}

static void record_profiles(struct planning *g, const struct node_profile *nodes, int n)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, "{\"nodes\": [\n");
    for (int i = 0; i < n; i++) {
        cleanup_free char *one = profile_text(&nodes[i]);

        strbuf_addf(&b, "%s%s", i ? ",\n" : "", one ? one : "null");
    }
    strbuf_addf(&b, "],\n\"network\": %s,\n\"schema_version\": 1}\n",
                g->network->measured ? g->network->measured : "null");
    journal_file(&g->run->journal, "profile.json", strbuf_text(&b));
    strbuf_fini(&b);
}

static void forget_plans(struct planning *g)
{
    figures_end_generation(&g->run->figures, g->run->state.resume_step);
    publishing_forget(&g->published);
}

/* The usable nodes, in the order of the job and as it wants them; fills g->agent.  Returns
 * their number.
 */
static int usable_nodes(struct planning *g, struct node_profile *nodes, struct eddis_error *err)
{
    const struct job *job = g->run->o->job;
    int n = 0, rc = 0;

    for (int i = 0; i < g->run->n_agents && rc == 0; i++) {
        if (!state_is_usable(&g->run->state, i))
            continue;
        g->agent[n] = i;
        nodes[n] = g->run->agent[i].profile;
        if (job->n_hosts)
            rc = planner_host(&job->host[i], &nodes[n], err);
        n++;
    }
    return rc < 0 ? rc : n;
}

/* Its figures are an earlier job's, and nothing is known of a worker that could look: only those
 * with libeddis tell of a model.
 */
static bool is_unconfirmed(const struct planning *g)
{
    return g->run->state.network == STATE_NETWORK_CACHED && !g->network->check.known &&
           g->model_bytes == 0;
}

/* What the plan says beside the workers. */
static void name_plan(struct planning *g, struct plan *p)
{
    p->generation = g->run->state.generation;
    if (p->n_nodes < 2)
        return;
    (void)snprintf(p->network, sizeof p->network, "%s", g->network->subnet);
    if (p->n_nodes ==
        g->run->n_agents) /* else the slowest cable may be that of a node that is gone */
        (void)snprintf(p->network_reason, sizeof p->network_reason, "%s", g->network->reason);
    if (is_unconfirmed(g)) {
        size_t n = strlen(p->network_reason);

        (void)snprintf(p->network_reason + n, sizeof p->network_reason - n,
                       "%snetwork not confirmed", n ? "; " : "");
    }
}

static void say_restart(struct planning *g, int n_nodes)
{
    char text[256];

    state_restart_text(&g->run->state, n_nodes, text, sizeof text);
    job_run_say(g->run, JOB_EVENT_SAY, -1, -1, text);
}

/* Plan for these nodes, and go on with it or end behind it. */
static int plan_nodes(struct planning *g, const struct node_profile *nodes, int n,
                      struct eddis_error *err)
{
    const struct driver_view *v = &g->run->o->view;
    int rc = g->run->o->profile_only ? 0 : make_plan(g, nodes, n, &g->published.plans.plan, err);

    if (rc == 0 && g->published.plans.plan)
        name_plan(g, g->published.plans.plan);
    if (rc == 0)
        rc = v->planned(v->ctx, g->published.plans.plan, nodes, n, err);
    if (rc < 0)
        return rc;
    if (!g->run->o->profile_only && !g->run->o->plan_only)
        return take_plan(g, err);
    state_finish(&g->run->state, clock_now_ns());
    return 0;
}

/* Returns whether there were nodes to plan for. */
static bool plan(struct planning *g)
{
    cleanup_free struct node_profile *nodes = calloc((size_t)g->run->n_agents, sizeof *nodes);
    struct eddis_error err = { 0 };
    int n;

    if (!nodes) {
        state_fail(&g->run->state, "internal", 1, "no memory for the nodes' profiles",
                   clock_now_ns());
        return false;
    }
    n = usable_nodes(g, nodes, &err);
    if (n == 0) /* they went while the plan waited */
        n = eddis_fail(&err, -ENOENT, "no node is left");
    if (n >= 0) {
        g->run->status.n_nodes = n;
        record_profiles(g, nodes, n);
        forget_plans(g);
    }
    if (n >= 0 && g->run->state.generation > 1)
        say_restart(g, n);
    if (n < 0 || plan_nodes(g, nodes, n, &err) < 0)
        state_unplannable(&g->run->state, err.text, clock_now_ns());
    return n >= 0;
}

/* ---- the newest checkpoint ---- */

static void take_checkpoint(void *ctx, const struct checkpoint_found *f)
{
    struct planning *g = ctx;

    if (!g->look_ns) /* it was given up */
        return;
    g->look_ns = 0;
    g->looked = g->run->state.generation;
    if (f->step > g->run->state.resume_step)
        g->run->state.resume_step = f->step;
    state_plan_again(&g->run->state);
}

/* The checkpoint that a later generation resumes from may be seen by this machine alone, for the
 * nodes that knew it are gone: the plan waits until its folder has been listed.
 */
static bool is_ready(struct planning *g)
{
    if (g->run->state.generation <= 1 || g->looked == g->run->state.generation)
        return true;
    if (!g->look_ns) {
        g->look_ns = clock_now_ns();
        g->told_look = false;
        checkpoint_look(g->run, take_checkpoint, g);
    }
    return false;
}

static void look_is_late(struct planning *g, int64_t now_ns)
{
    char text[JOB_FOLDER_MAX_PATH + 160];
    int64_t launch_ns = g->run->o->job->timeouts.launch_ns;

    if (now_ns >= clock_after_ns(g->look_ns, launch_ns)) {
        g->look_ns = 0;
        (void)snprintf(text, sizeof text,
                       "the checkpoints in '%.1000s' could not be listed within %g s "
                       "(timeouts.launch): the folder does not answer",
                       g->run->checkpoint_dir, (double)launch_ns / CLOCK_S);
        state_unplannable(&g->run->state, text, now_ns);
    } else if (!g->told_look && now_ns >= g->look_ns + FILE_THREAD_LATE_NS) {
        g->told_look = true;
        (void)snprintf(text, sizeof text,
                       "the restart waits for the list of checkpoints in '%.1000s', which does not "
                       "answer",
                       g->run->checkpoint_dir);
        job_run_say(g->run, JOB_EVENT_SAY, -1, -1, text);
    }
}

/* ---- what workers tell ---- */

void planning_progress(struct planning *g, const struct progress *p)
{
    struct eddis_error err = { 0 };

    publishing_progress(&g->published, p);
    if (p->model_bytes == 0 || p->model_bytes == g->model_bytes)
        return;
    g->model_bytes = p->model_bytes;
    if (learned_keep_model(g->run->looks, g->run->o->job, p->model_bytes, &err) < 0)
        job_run_say(g->run, JOB_EVENT_NOTE, -1, -1, err.text);
}

/* It goes into the plan in force, which --plan then replays. */
static void take_choice(struct planning *g, const struct event *e)
{
    struct plan *p = g->published.plans.plan;
    struct job_status *t = &g->run->status;
    struct eddis_error err = { 0 };
    struct comm_choice *c;

    if (e->generation != g->run->state.generation || e->generation == 0 || !p || g->choice_given)
        return;
    c = calloc(1, sizeof *c);
    if (!c || choice_parse(e->text, strlen(e->text), c, &err) < 0) {
        free(c);
        job_run_say(g->run, JOB_EVENT_NOTE, -1, -1, err.text);
        return;
    }
    free(p->choice);
    p->choice = c;
    journal_plan(&g->run->journal, p);
    (void)snprintf(t->communication, sizeof t->communication, "%s", c->reason);
    job_run_say(g->run, JOB_EVENT_COMMUNICATION, -1, -1, c->reason);
}

/* ---- the network, once it is known ---- */

static void take_network(struct planning *g)
{
    struct plan *p = g->published.plans.plan;
    struct planner_known known;

    if (!p || !g->network->check.known)
        return;
    fill_known(g, &known);
    if (!g->network->check.holds)
        network_effect_take(g->run, g->network, &known, p);
    name_plan(g, p);
    journal_plan(&g->run->journal, p);
}

static void compare_exposed(struct planning *g)
{
    const struct plan *p = g->published.plans.plan;
    struct planner_known known;

    if (!p || p->n_nodes < 2 || !g->network->measured || !g->model_bytes ||
        g->run->state.outcome != STATE_OUTCOME_OK)
        return;
    fill_known(g, &known);
    network_effect_compare(g->run, &known, p);
}

/* ---- entries ---- */

static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    (void)agent;
    (void)now_ns;
    if (e->type == EVENT_CHOICE) {
        take_choice(self, e);
    } else if (e->generation > 0) {
        take_network(self);
        return HEARD_TAKEN; /* the state machine knows of a probe's only */
    }
    return HEARD;
}

static bool on_action(void *self, const struct action *a)
{
    if (a->type == ACTION_PLAN)
        return !is_ready(self) || !plan(self);
    if (a->type == ACTION_BYE) {
        compare_exposed(self);
        return false;
    }
    publishing_checkpoint(&((struct planning *)self)->published);
    return false;
}

static void tick(void *self, int64_t now_ns)
{
    struct planning *g = self;

    if (g->look_ns && g->run->state.phase == STATE_PHASE_PLAN)
        look_is_late(g, now_ns);
    else
        g->look_ns = 0; /* the job ends */
}

const struct subject_ops planning_ops = { .on_event = on_event,
                                          .on_action = on_action,
                                          .tick = tick };

int planning_init(struct planning *g, struct eddis_error *err)
{
    struct plan *replay = NULL;

    if (g->run->o->plan_path && /* now, while nobody waits for it */
        plan_read(g->run->o->plan_path, &replay, &g->unreadable) == 0)
        g->replay = plan_text(replay);
    plan_free(replay);
    if (!g->replay && !g->unreadable.code)
        eddis_fail(&g->unreadable, -ENOMEM, "no memory for a plan");
    g->agent = calloc((size_t)g->run->n_agents, sizeof *g->agent);
    return g->agent ? 0 : eddis_fail(err, -ENOMEM, "no memory for %d agents", g->run->n_agents);
}

void planning_fini(struct planning *g)
{
    publishing_forget(&g->published);
    free(g->agent);
    free(g->replay);
}
