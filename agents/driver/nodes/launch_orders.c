/* SPDX-License-Identifier: Apache-2.0 */
/* launch_orders.c - choose the nodes, ranks, names and addresses of a generation, and order its
 * agents
 */
#include "launch_orders.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/model/network.h"
#include "scheduler/network_checks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the nodes ---- */

/* Check whether one of the first n nodes of an order has this name. */
static bool is_taken(const struct order_node *node, int n, const char *host)
{
    for (int i = 0; i < n; i++)
        if (strcmp(node[i].host, host) == 0)
            return true;
    return false;
}

/* Set the name of node i of a generation. mpirun would merge two nodes of the same name, so a
 * second "c07" becomes "c07-2".
 */
static void name_node(struct order_node *node, int i, const char *host)
{
    (void)snprintf(node[i].host, sizeof node[i].host, "%s", host);
    for (int k = 2; is_taken(node, i, node[i].host); k++)
        (void)snprintf(node[i].host, sizeof node[i].host, "%.240s-%d", host, k);
}

/* List the nodes that have ranks, ordered by their first rank, and return their number.  Several
 * nodes get their addresses; a single one is named "localhost". node[] has room for all agents and
 * is zeroed.
 */
static int list_nodes(const struct launch_orders *l, struct order_node *node)
{
    const struct state *s = &l->run->state;
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
                       l->run->agent[node[i].agent].address);
    return n;
}

/* ---- the ranks ---- */

/* Fill the order of a rank from the rank's worker in the plan.  Only an emulated device gets times.
 */
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

/* Check whether the generation resumes from a checkpoint.  A later generation resumes from the
 * newest checkpoint, unless it is known that there is none.
 */
static bool resumes(const struct state *s)
{
    return s->o.resumes || (s->generation > 1 && (s->resume_step >= 0 || !s->resume_known));
}

/* Return the number of steps between two comparisons of the workers' models; 0: never. */
static int64_t check_models(const struct job *job)
{
    return job->check_models < 0 ? 0 : job->check_models ? job->check_models : MODEL_CHECK_EVERY;
}

/* Return the part of a prepare order for training that is the same for all nodes.  The caller frees
 * its plan, which is NULL without memory.
 */
static struct order training(const struct launch_orders *l)
{
    const struct plan *p = l->plans->equal ? l->plans->equal : l->plans->plan;
    const struct job *job = l->run->o->job;
    const struct state *s = &l->run->state;
    struct order o = {
        .n_ranks = p->n_workers,
        .seed = p->seed,
        .bucket_bytes = p->bucket_bytes,
        .warmup_steps = job->learning_rate.warmup_steps,
        .checkpoint_every = job->checkpoint.every.steps,
        .checkpoint_keep = job->checkpoint.keep,
        .check_models = check_models(job),
        .resume = resumes(s),
        .resume_begun = s->o.resumes && s->resume_step < 0,
        /* Report the first step immediately: the job recovers from a failure after it. */
        .report_at_step = l->plans->equal_until ? l->plans->equal_until : 1,
        .options = p->options,
        .choice = p->choice,
        .plan = order_plan(p, l->plans->newest, l->plans->equal ? BOARD_FLAG_PASSING : 0),
        .n_plan = p->n_workers,
        .open_ns = l->plans->newest ? 0 : job->timeouts.launch_ns,
        .mode_named = !algorithm_is_open(job->sync.mode, job->sync.algorithm),
    };

    (void)snprintf(o.mode, sizeof o.mode, "%s", p->mode);
    (void)snprintf(o.algorithm, sizeof o.algorithm, "%s", p->algorithm);
    return o;
}

/* Return the part of a prepare order for a network probe that is the same for all nodes: one rank
 * per node, no training.  The caller frees its plan, which is NULL without memory.
 */
static struct order probing(const struct launch_orders *l)
{
    struct order o = { .probe = true,
                       .n_ranks = l->run->state.n_ranks,
                       .mode = "sync",
                       .algorithm = "allreduce",
                       .plan = order_plan_new(l->run->state.n_ranks),
                       .n_plan = l->run->state.n_ranks };

    if (!o.plan)
        return o;
    o.plan->version = 1;
    o.plan->global_batch = o.n_ranks;
    for (int r = 0; r < o.n_ranks; r++)
        o.plan->batch[r] = 1;
    return o;
}

/* Fill the ranks of a prepare order, o->rank [o->n_local], with the ranks of one agent's node. */
static void list_ranks(const struct launch_orders *l, int agent, struct order *o)
{
    const struct plan *p = l->plans->equal ? l->plans->equal : l->plans->plan;

    o->n_local = 0;
    o->emulated = false;
    for (int r = 0; r < o->n_ranks; r++) {
        if (l->run->state.rank[r].agent != agent)
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

/* ---- revalidating a cached network ---- */

/* Check whether the generation relies on an earlier job's network measurement that the ranks have
 * not revalidated.
 */
static bool believes_network(const struct launch_orders *l, const struct order *o)
{
    return l->run->state.network == STATE_NETWORK_CACHED && l->network->measured && !o->probe &&
           !l->network->check.known && o->n_nodes > 1 && !l->run->o->plan_path;
}

/* Choose the transfers by which each node revalidates the network measurement, in ret [o->n_nodes].
 * Return 0, -ENOMEM, or another negative errno if the stored measurement cannot be parsed.
 */
static int choose_checks(const struct launch_orders *l, const struct order *o,
                         struct network_checks *ret, struct eddis_error *err)
{
    cleanup_free const char **host = calloc((size_t)o->n_nodes, sizeof *host);
    cleanup_free int *rank = calloc((size_t)o->n_nodes, sizeof *rank);
    struct network *n = NULL;
    int first = 0, rc;

    if (!host || !rank)
        return eddis_fail(err, -ENOMEM, "no memory to check the network");
    for (int i = 0; i < o->n_nodes; i++) {
        host[i] = l->run->state.agent[o->node[i].agent].host;
        rank[i] = first;
        first += o->node[i].n_ranks;
    }
    rc = network_parse(l->network->measured, strlen(l->network->measured), "the network", &n, err);
    if (rc == 0)
        rc = network_checks_choose(n, host, rank, o->n_nodes, ret, err);
    network_free(n);
    return rc;
}

/* ---- orders ---- */

/* Check whether mpirun and its daemons on all nodes support a shared secret; false for a single
 * node.
 */
static bool are_guarded(const struct launch_orders *l, const struct order *o)
{
    for (int i = 0; i < o->n_nodes; i++)
        if (!l->run->agent[o->node[i].agent].mpi_guarded)
            return false;
    return o->n_nodes > 1;
}

/* Complete the prepare order *o for each node of the generation, and queue its text for the node's
 * agent.  Return 0 or a negative error, after which some agents may have the order.
 */
static int prepare_parts(struct launch_orders *l, struct order *o, struct eddis_error *err)
{
    cleanup_free struct network_checks *checks = calloc((size_t)l->run->n_agents, sizeof *checks);
    int rc = checks ? 0 : eddis_fail(err, -ENOMEM, "no memory for an order");

    o->n_nodes = list_nodes(l, o->node);
    if (o->n_nodes > 1)
        (void)snprintf(o->network, sizeof o->network, "%s", l->network->subnet);
    if (rc == 0 && believes_network(l, o))
        rc = choose_checks(l, o, checks, err);
    if (rc == 0 && o->n_nodes > 1 && l->run->checkpoint_dir && !o->probe)
        rc = random_hex(o->share, PROTOCOL_MARKER, err);
    if (rc == 0 && are_guarded(l, o))
        rc = random_hex(o->mpi_secret, PROTOCOL_MPI_SECRET, err);
    for (int i = 0; i < o->n_nodes && rc == 0; i++) {
        list_ranks(l, o->node[i].agent, o);
        o->checks = checks[i];
        rc = orders_add(&l->run->agent[o->node[i].agent].orders, o, err);
    }
    return rc;
}

/* Order the nodes without a rank of the generation to release their GPUs for other jobs. */
static void release_others(struct launch_orders *l)
{
    const struct state *s = &l->run->state;

    for (int i = 0; i < l->run->n_agents; i++)
        if (!s->agent[i].part && !s->agent[i].ended && state_is_known(s, i))
            job_run_order(l->run, i,
                          &(struct order){ .type = ORDER_RELEASE, .generation = s->generation });
}

/* Order all nodes of the generation to prepare their ranks, and the others to release their GPUs,
 * which a measurement of the network or a check does not need.  A failure ends the job.
 */
static void prepare(struct launch_orders *l)
{
    struct order o = l->run->state.generation == 0 ? probing(l) : training(l);
    cleanup_free struct order_rank *rank = calloc((size_t)o.n_ranks, sizeof *rank);
    cleanup_free struct order_node *node = calloc((size_t)l->run->n_agents, sizeof *node);
    cleanup_free struct board_plan *plan = o.plan;
    cleanup_free int *group = calloc((size_t)o.n_ranks, sizeof *group);
    struct eddis_error err = { 0 };
    int rc;

    o.type = ORDER_PREPARE;
    o.generation = l->run->state.generation;
    o.check_only = l->run->o->check_only;
    o.rank = rank;
    o.node = node;
    o.group = group;
    for (int r = 0; group && !o.probe && r < o.n_ranks; r++)
        group[r] = l->plans->plan->worker[r].group;
    if (!rank || !node || !plan || !group)
        rc = eddis_fail(&err, -ENOMEM, "no memory for an order");
    else
        rc = prepare_parts(l, &o, &err);
    if (rc == 0 && !o.probe && !o.check_only)
        release_others(l);
    explicit_bzero(o.mpi_secret, sizeof o.mpi_secret);
    if (rc < 0)
        state_fail(&l->run->state, "internal", 1, err.text, clock_now_ns());
}

/* Return the agent of the generation's node with this name; -1: there is none, or no memory. */
static int node_of(const struct launch_orders *l, const char *host)
{
    cleanup_free struct order_node *node = calloc((size_t)l->run->n_agents, sizeof *node);
    int n = node ? list_nodes(l, node) : 0;

    for (int i = 0; i < n; i++)
        if (strcmp(node[i].host, host) == 0)
            return node[i].agent;
    return -1;
}

/* Order a node's agent to start the daemon that mpirun wants on the node, or report why that is
 * impossible.  Ignore a request of another generation or from another agent than mpirun's.
 */
static void relay(struct launch_orders *l, int agent, const struct event *e)
{
    struct order o = { .type = ORDER_RELAY, .generation = e->generation, .relay = e->relay };
    struct eddis_error err = { 0 };
    int node = node_of(l, e->relay.host);

    if (e->generation != l->run->state.generation || agent != l->run->state.first ||
        !state_is_up(&l->run->state))
        return;
    if (node < 0)
        eddis_fail(&err, -ENOENT,
                   "mpirun wants to start a daemon on \"%.200s\", which has no ranks",
                   e->relay.host);
    else if (orders_add(&l->run->agent[node].orders, &o, &err) == 0)
        return;
    job_run_say(l->run, JOB_EVENT_SAY, -1, -1, err.text);
}

/* Queue an order without arguments for every part of the generation. */
static void order_generation(struct launch_orders *l, enum order_type type)
{
    job_run_order_parts(l->run,
                        &(struct order){ .type = type, .generation = l->run->state.generation });
}

/* Order every part of the generation to check the shared folder and, if the job is a check, the
 * program's interpreter, which may need 3/4 of the phase's time.
 */
static void check(struct launch_orders *l)
{
    const struct driver_options *o = l->run->o;

    job_run_order_parts(
        l->run,
        &(struct order){ .type = ORDER_CHECK,
                         .generation = l->run->state.generation,
                         .program_ns = o->check_only ? o->job->timeouts.launch_ns / 4 * 3 : 0 });
}

/* Order the next node to lock its GPUs, as soon as no other job uses them, and to report its
 * profile then.
 */
static void profile_locked(struct launch_orders *l, int agent)
{
    const struct state *s = &l->run->state;
    const struct job *job = l->run->o->job;
    const struct job_host *host = job->n_hosts ? &job->host[agent] : NULL;
    size_t n = host ? host->n_device : 0;
    int64_t now_ns = clock_now_ns();
    int device[PROFILE_MAX_DEVICES];
    struct order o = { .type = ORDER_PROFILE,
                       .wait_ns = s->gpus_ns >= CLOCK_NEVER ? CLOCK_NEVER : s->gpus_ns - now_ns,
                       .device = device };

    if (o.wait_ns < 1)
        o.wait_ns = 1;
    for (size_t i = 0; i < n && i < PROFILE_MAX_DEVICES; i++)
        device[o.n_device++] = (int)host->device[i];
    job_run_order(l->run, agent, &o);
}

/* Order an agent (-1: all) to report its node's profile. turn: the agent's time slot has come, in
 * which it alone measures.
 */
static void profile(struct launch_orders *l, int agent, bool turn)
{
    const struct order o = { .type = ORDER_PROFILE, .turn = turn };
    int next = turn ? -1 : state_next_for_gpus(&l->run->state);

    if (turn)
        job_run_say(l->run, JOB_EVENT_MEASURES, agent, -1, "");
    if (next >= 0 && (agent < 0 || agent == next))
        profile_locked(l, next);
    else if (agent >= 0)
        job_run_order(l->run, agent, &o);
    else
        job_run_order_all(l->run, &o);
}

/* End the job because a node did not learn the sync mode in time.  All nodes must stop: ranks that
 * know their mode would wait in vain for ranks that do not.  Ignore an event of another generation.
 */
static void unsettled(const struct launch_orders *l, int agent, const struct event *e,
                      int64_t now_ns)
{
    struct state *s = &l->run->state;
    char text[512];

    if (e->generation != s->generation)
        return;
    (void)snprintf(text, sizeof text, "node %.120s: %.380s", s->agent[agent].host, e->text);
    text_strip_control(text);
    state_fail(s, "start", 3, text, now_ns);
}

/* ---- entry points ---- */

/* Handle a node that did not learn the sync mode, or mpirun's request for a daemon.  Return HEARD:
 * other modules get the event too (subject_ops.on_event).
 */
static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    if (e->type == EVENT_UNSETTLED)
        unsettled(self, agent, e, now_ns);
    else
        relay(self, agent, e);
    return HEARD;
}

/* Order the first node's agent to start mpirun. */
static void start_mpirun(struct launch_orders *l)
{
    const struct state *s = &l->run->state;

    job_run_order(l->run, s->first,
                  &(struct order){ .type = ORDER_START, .generation = s->generation });
}

/* Order every part of the generation to stop its ranks by the ladder. */
static void stop_ranks(struct launch_orders *l, enum stop_ladder ladder)
{
    job_run_order_parts(l->run, &(struct order){ .type = ORDER_STOP,
                                                 .generation = l->run->state.generation,
                                                 .ladder = ladder,
                                                 .grace_ns = l->run->o->job->timeouts.grace_ns });
}

/* Send the orders of an action to the agents: profile, prepare, check, start, signal, inspect or
 * stop.  Return false: the other modules of the route get the action too (subject_ops.on_action).
 */
static bool on_action(void *self, const struct action *a)
{
    struct launch_orders *l = self;

    if (a->type == ACTION_PROFILE || a->type == ACTION_MEASURE)
        profile(l, a->agent, a->type == ACTION_MEASURE);
    else if (a->type == ACTION_PREPARE)
        prepare(l);
    else if (a->type == ACTION_CHECK)
        check(l);
    else if (a->type == ACTION_START)
        start_mpirun(l);
    else if (a->type == ACTION_SIGNAL)
        order_generation(l, ORDER_SIGNAL);
    else if (a->type == ACTION_LOOK)
        order_generation(l, ORDER_LOOK);
    else if (a->type == ACTION_STOP)
        stop_ranks(l, a->ladder);
    return false;
}

const struct subject_ops launch_orders_ops = { .on_event = on_event, .on_action = on_action };
