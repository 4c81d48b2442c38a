/* SPDX-License-Identifier: Apache-2.0 */
/* node_drop.c - leaves out workers of a job before a generation is planned */
#include "node_drop.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* Decide which workers are left out, in *ret and the profiles node [n]. Without a decision, as for
 * a job whose plan is impossible, all stay; planner_plan then says why.
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

    h->among = (struct run_wire){ 0 };
    history_fill(h, &history);
    for (int i = 0; host && i < n; i++)
        host[i] = run->state.agent[agent[i]].host;
    if (!host || drop_decide(&in, node, ret, NULL) < 0)
        *ret = (struct drop_result){ 0 };
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
    h->among = (struct run_wire){ ret->bytes_per_s, ret->latency_s };
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
