/* SPDX-License-Identifier: Apache-2.0 */
/* Orders to prepare a generation: who takes part, under which names and addresses, with what. */
#include "driver_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the nodes ---- */

static bool is_taken(const struct order_node *node, int n, const char *host)
{
    for (int i = 0; i < n; i++)
        if (strcmp(node[i].host, host) == 0)
            return true;
    return false;
}

/* mpirun would take two nodes of one name for one: a second "c07" is "c07-2". */
static void name_node(struct order_node *node, int i, const char *host)
{
    (void)snprintf(node[i].host, sizeof node[i].host, "%s", host);
    for (int k = 2; is_taken(node, i, node[i].host); k++)
        (void)snprintf(node[i].host, sizeof node[i].host, "%.240s-%d", host, k);
}

/* Those that have ranks, by their first rank.  Returns their number. */
static int list_nodes(const struct driver *d, struct order_node *node)
{
    const struct state *s = &d->run.state;
    int n = 0;

    for (int r = 0; r < s->n_ranks; r++) {
        int agent = s->rank[r].agent;

        if (n == 0 || node[n - 1].agent != agent) {
            node[n].agent = agent;
            name_node(node, n, s->agent[agent].host);
            n++;
        }
        node[n - 1].n_ranks++;
    }
    if (n == 1)
        (void)snprintf(node[0].host, sizeof node[0].host, "localhost");
    for (int i = 0; n > 1 && i < n; i++)
        (void)snprintf(node[i].address, sizeof node[i].address, "%s",
                       d->run.agent[node[i].agent].address);
    return n;
}

/* ---- the ranks ---- */

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

/* Later generations go on from the newest checkpoint, unless it is known that there is none. */
static bool resumes(const struct driver *d)
{
    const struct state *s = &d->run.state;

    if (strcmp(d->run.o->job->checkpoint.resume, "auto") != 0)
        return true;
    return s->generation > 1 && (s->resume_step >= 0 || !s->resume_known);
}

/* What is the same for all nodes; the plan is driver_prepare's to free. */
static struct order training(const struct driver *d)
{
    const struct plan *p = d->equal ? d->equal : d->plan;
    const struct job *job = d->run.o->job;
    struct order o = {
        .n_ranks = p->n_workers,
        .seed = p->seed,
        .bucket_bytes = p->bucket_bytes,
        .warmup_steps = job->learning_rate.warmup_steps,
        .checkpoint_every = job->checkpoint.every,
        .checkpoint_keep = job->checkpoint.keep,
        .resume = resumes(d),
        /* At once of the first step: what fails behind it is recovered from. */
        .report_at_step = driver_equal_until(d) ? driver_equal_until(d) : 1,
        .period = p->period,
        .moving_rate = p->moving_rate,
        .momentum = p->momentum,
        .choice = p->choice,
        .plan = driver_board_plan(p, 1, d->equal ? BOARD_FLAG_PASSING : 0),
        .n_plan = p->n_workers,
    };

    (void)snprintf(o.mode, sizeof o.mode, "%s", p->mode);
    (void)snprintf(o.algorithm, sizeof o.algorithm, "%s", p->algorithm);
    return o;
}

/* The network probe: one rank on each node, which trains nothing. */
static struct order probing(const struct driver *d)
{
    struct order o = { .probe = true,
                       .n_ranks = d->run.state.n_ranks,
                       .mode = "sync",
                       .algorithm = "allreduce",
                       .plan = calloc(1, sizeof *o.plan),
                       .n_plan = d->run.state.n_ranks };

    if (!o.plan)
        return o;
    o.plan->version = 1;
    o.plan->global_batch = o.n_ranks;
    for (int r = 0; r < o.n_ranks; r++)
        o.plan->batch[r] = 1;
    return o;
}

/* The ranks of one node. */
static void list_ranks(const struct driver *d, int agent, struct order *o)
{
    const struct plan *p = d->equal ? d->equal : d->plan;

    o->n_local = 0;
    o->emulated = false;
    for (int r = 0; r < o->n_ranks; r++) {
        if (d->run.state.rank[r].agent != agent)
            continue;
        if (o->probe) {
            o->rank[o->n_local++] =
                (struct order_rank){ .rank = r, .batch = 1, .weight = 1.0 / o->n_ranks };
            continue;
        }
        o->emulated = o->emulated || p->worker[r].kind == DEVICE_EMULATED;
        fill_rank(&o->rank[o->n_local++], &p->worker[r]);
    }
}

/* ---- the orders ---- */

static int prepare_parts(struct driver *d, struct order *o, struct eddis_error *err)
{
    int rc = 0;

    o->n_nodes = list_nodes(d, o->node);
    if (o->n_nodes > 1)
        (void)snprintf(o->network, sizeof o->network, "%s", d->network);
    if (o->n_nodes > 1 && d->run.checkpoint_dir && !o->probe)
        rc = random_hex(o->share, PROTOCOL_FOLDER, err);
    for (int i = 0; i < o->n_nodes && rc == 0; i++) {
        list_ranks(d, o->node[i].agent, o);
        rc = orders_add(&d->run.agent[o->node[i].agent].orders, o, err);
    }
    return rc;
}

void driver_prepare(struct driver *d)
{
    struct order o = d->run.state.generation == 0 ? probing(d) : training(d);
    cleanup_free struct order_rank *rank = calloc((size_t)o.n_ranks, sizeof *rank);
    cleanup_free struct order_node *node = calloc((size_t)d->run.n_agents, sizeof *node);
    cleanup_free struct board_plan *plan = o.plan;
    cleanup_free int *group = calloc((size_t)o.n_ranks, sizeof *group);
    struct eddis_error err = { 0 };
    int rc;

    o.type = ORDER_PREPARE;
    o.generation = d->run.state.generation;
    o.rank = rank;
    o.node = node;
    o.group = group;
    for (int r = 0; group && !o.probe && r < o.n_ranks; r++)
        group[r] = d->plan->worker[r].group;
    if (!rank || !node || !plan || !group)
        rc = eddis_fail(&err, -ENOMEM, "no memory for an order");
    else
        rc = prepare_parts(d, &o, &err);
    if (rc < 0)
        state_fail(&d->run.state, "internal", 1, err.text, clock_now_ns());
}

static int node_of(const struct driver *d, const char *host)
{
    cleanup_free struct order_node *node = calloc((size_t)d->run.n_agents, sizeof *node);
    int n = node ? list_nodes(d, node) : 0;

    for (int i = 0; i < n; i++)
        if (strcmp(node[i].host, host) == 0)
            return node[i].agent;
    return -1;
}

/* mpirun wants a daemon of its own on a node of the generation. */
void driver_relay(struct driver *d, int agent, const struct event *e)
{
    struct order o = { .type = ORDER_RELAY, .generation = e->generation, .relay = e->relay };
    struct eddis_error err = { 0 };
    int node = node_of(d, e->relay.host);

    if (e->generation != d->run.state.generation || agent != d->run.state.first ||
        d->run.state.phase < PHASE_START || d->run.state.phase > PHASE_RUN)
        return;
    if (node < 0)
        eddis_fail(&err, -ENOENT, "mpirun wants to start on \"%.200s\", where it has no ranks",
                   e->relay.host);
    else if (orders_add(&d->run.agent[node].orders, &o, &err) == 0)
        return;
    job_run_say(&d->run, JOB_EVENT_SAY, -1, -1, err.text);
}
