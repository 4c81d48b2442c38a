/* SPDX-License-Identifier: Apache-2.0 */
/* node_drop.c - leaves out workers of a job before a generation is planned */
#include "node_drop.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Return what `some` is of `all`; 0 without one of them. */
static double part(double some, double all)
{
    return some > 0 && all > 0 ? some / all : 0;
}

/* Decide which workers are left out, in *ret and the profiles node [n], and record the network of
 * the others. Without a decision, as for a job whose plan is impossible, all stay; planner_plan
 * then says why. Report other errors.
 */
static void decide(struct job_run *run, struct history *h, const int *agent,
                   struct node_profile *node, int n, struct drop_result *ret)
{
    cleanup_free const char **host = calloc((size_t)n, sizeof *host);
    struct planner_history history;
    struct network *network = past_network(h->network->measured);
    struct drop_input in = {
        .job = run->o->job, .n_nodes = n, .history = &history, .network = network, .host = host
    };
    struct eddis_error err = { 0 };
    int rc;

    run->part = (struct run_wire){ 0 };
    history_fill(h, &history);
    for (int i = 0; host && i < n; i++)
        host[i] = run->state.agent[agent[i]].host;
    rc = host ? drop_decide(&in, node, ret, &err) : eddis_fail(&err, -ENOMEM, "no memory");
    if (rc < 0)
        *ret = (struct drop_result){ 0 };
    if (rc < 0 && rc != -EINVAL)
        job_run_sayf(run, JOB_EVENT_SAY, -1, -1, "nodes.drop: no worker is left out: %s", err.text);
    if (ret->n_left > 0)
        run->part = (struct run_wire){ part(ret->bytes_per_s, history.bytes_per_s),
                                       part(ret->latency_s, history.latency_s) };
    network_free(network);
}

/* Check whether the plan leaves out all of a node's workers. */
static bool is_empty(const struct job *job, const struct node_profile *node)
{
    int n = planner_count(job, node);

    for (int i = 0; i < n; i++)
        if (!profile_leaves_out(node, i))
            return false;
    return n > 0;
}

/* Report the decision, as events and in the status. */
static void report(struct job_run *run, const struct drop_result *d)
{
    char text[512];

    memcpy(run->status.left, d->left, sizeof run->status.left);
    run->status.n_left = d->n_left;
    for (int i = 0; i < d->n_left; i++) {
        plan_left_text(&d->left[i], text, sizeof text);
        job_run_say(run, JOB_EVENT_LEFT_OUT, -1, -1, text);
    }
    if (d->lacks)
        job_run_sayf(run, JOB_EVENT_SAY, -1, -1,
                     "nodes.drop: no worker is left out until a run has measured %s", d->lacks);
}

int node_drop(struct job_run *run, struct history *h, int *agent, struct node_profile *node, int n,
              struct drop_result *ret)
{
    int left = 0;

    *ret = (struct drop_result){ 0 };
    if (!drop_is_wanted(run->o->job) || run->o->plan_path || run->o->profile_only ||
        run->o->check_only)
        return n;
    decide(run, h, agent, node, n, ret);
    report(run, ret);
    if (ret->n_left == 0)
        return n;
    for (int i = 0; i < n; i++) {
        if (is_empty(run->o->job, &node[i]))
            continue;
        if (left < i) {
            agent[left] = agent[i];
            node[left] = node[i];
        }
        left++;
    }
    return left;
}
