/* SPDX-License-Identifier: Apache-2.0 */
/* drop.c - decides which workers a job leaves out */
#include "drop.h"

#include "drop_search.h"
#include "leave_out.h"
#include "time_model.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What sets of workers are weighed with */
struct drop_scale {
    const struct drop_input *in;
    const struct node_profile *node;
    const struct plan *all;        /* all workers, with their times */
    double latency_s, bytes_per_s; /* of the network of all nodes; 0: not measured */
    int *place;        /* [n_nodes] number of each node in the network; -1: it is not there */
    bool *in_network;  /* [nodes of the network] scratch: nodes of a set */
    double *best_link; /* [nodes of the network] fastest link of each */
};

/* ---- the network of some nodes ---- */

/* Return the number of the node of this name in the network; -1: there is none. from: where the
 * search begins, since most networks list nodes in the job's order.
 */
static int place_of(const struct network *n, const char *host, int from)
{
    for (int k = 0; n->host && k < n->n_nodes; k++) {
        int i = (from + k) % n->n_nodes;

        if (strcmp(n->host[i], host) == 0)
            return i;
    }
    return -1;
}

/* Find the job's nodes in the network, and the fastest link of each. Return 0 or -ENOMEM. */
static int read_network(struct drop_scale *s)
{
    const struct network *n = s->in->network;
    size_t most = n ? (size_t)n->n_nodes : 0;

    s->place = calloc((size_t)s->in->n_nodes + 1, sizeof *s->place);
    s->in_network = calloc(most + 1, sizeof *s->in_network);
    s->best_link = calloc(most + 1, sizeof *s->best_link);
    if (!s->place || !s->in_network || !s->best_link)
        return -ENOMEM;
    for (int i = 0; i < s->in->n_nodes; i++)
        s->place[i] = n ? place_of(n, s->in->host ? s->in->host[i] : s->node[i].host, i) : -1;
    for (int i = 0; n && i < n->n_links; i++) {
        const struct network_link *l = &n->link[i];

        s->best_link[l->from] = fmax(s->best_link[l->from], l->bytes_per_s);
        s->best_link[l->to] = fmax(s->best_link[l->to], l->bytes_per_s);
    }
    if (n && network_wire(n, &s->latency_s, &s->bytes_per_s) == -ENOMEM)
        return -ENOMEM;
    return 0;
}

/* Set latency and bandwidth of *h to those between the nodes of a set, whose members in the network
 * are s->in_network: in proportion to the network of all, whose figures in *h may have been
 * corrected. If no link of the set was measured, each node's fastest link counts. Return 0 or
 * -ENOMEM.
 */
static int narrow(const struct drop_scale *s, struct planner_history *h)
{
    const struct network *n = s->in->network;
    double latency_s = s->latency_s, bytes_per_s = INFINITY;
    int rc;

    if (!n || !(s->bytes_per_s > 0))
        return 0;
    rc = network_wire_within(n, s->in_network, &latency_s, &bytes_per_s);
    if (rc == -ENOMEM)
        return rc;
    for (int i = 0; rc < 0 && i < n->n_nodes; i++)
        if (s->in_network[i] && s->best_link[i] > 0)
            bytes_per_s = fmin(bytes_per_s, s->best_link[i]);
    if (isfinite(bytes_per_s))
        h->bytes_per_s *= bytes_per_s / s->bytes_per_s;
    if (s->latency_s > 0)
        h->latency_s *= latency_s / s->latency_s;
    return 0;
}

/* Set latency and bandwidth of *h to those between the nodes of the workers in a set. Return 0 or
 * -ENOMEM.
 */
static int narrow_to(const struct drop_scale *s, const bool *keep, struct planner_history *h)
{
    const struct plan *p = s->all;

    if (!s->in->network)
        return 0;
    memset(s->in_network, 0, (size_t)s->in->network->n_nodes * sizeof *s->in_network);
    for (int i = 0; i < p->n_workers; i++)
        if (keep[i] && s->place[p->worker[i].node] >= 0)
            s->in_network[s->place[p->worker[i].node]] = true;
    return narrow(s, h);
}

/* ---- weighing ---- */

/* Predict the progress of the workers in a set (drop_weigh_fn). */
static int weigh(void *ctx, const bool *keep, double *ret, struct eddis_error *err)
{
    const struct drop_scale *s = ctx;
    struct planner_history history = *s->in->history;
    struct plan *p = plan_copy(s->all);
    int rc = p ? narrow_to(s, keep, &history) : -ENOMEM;

    if (rc == 0) {
        leave_out_others(p, keep);
        rc = planner_complete(s->in->job, s->node, &history, p, NULL);
    }
    *ret = rc == 0 ? plan_progress(p) : 0;
    plan_free(p);
    return rc == -ENOMEM ? eddis_fail(err, rc, "no memory to compare sets of workers") : 0;
}

/* Return what must be measured before plans of p's workers can be compared, a constant; NULL:
 * nothing.
 */
static const char *lacks(const struct plan *p, const struct planner_history *history)
{
    if (history->model_bytes <= 0)
        return "how large the model is";
    if (p->n_nodes > 1 && history->bytes_per_s <= 0)
        return "how fast the network is";
    return p->relative ? "how fast the workers are" : NULL;
}

/* Fill w [n_workers] with what the search sorts the workers by. */
static void describe(const struct drop_scale *s, struct drop_worker *w)
{
    const struct plan *p = s->all;
    int64_t b = s->in->job->batch.global / p->n_workers + 1;

    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *x = &p->worker[i];
        const struct time_model t = { .fixed_s = x->fixed_s, .sample_s = x->sample_s };
        int place = s->place[x->node];

        w[i] = (struct drop_worker){ .node = x->node,
                                     .device = x->kind,
                                     .sample_s = time_model_s(&t, b) / (double)b,
                                     .bytes_per_s = place < 0 ? 0 : s->best_link[place] };
    }
}

/* ---- the decision ---- */

/* Describe in *ret the workers of a kind that are left out. Return false if there are none. */
static bool describe_left(const struct drop_scale *s, const struct drop_search *found, int kind,
                          struct plan_left *ret)
{
    int last = -1;

    *ret = (struct plan_left){ .without = found->best, .with = found->with[kind] };
    for (int i = 0; i < found->n; i++) {
        const struct plan_worker *w = &s->all->worker[i];

        if (found->keep[i] || found->kind[i] != kind)
            continue;
        if (ret->n_workers++ == 0) {
            memcpy(ret->node, s->all->node[w->node], sizeof ret->node);
            memcpy(ret->device, w->device, sizeof ret->device);
            ret->worker = w->local_rank;
        }
        ret->n_nodes += w->node != last;
        last = w->node;
    }
    return ret->n_workers > 0;
}

/* Mark what the search has found in the nodes' profiles, and describe it in *ret. Return 0 or
 * -ENOMEM.
 */
static int take(const struct drop_scale *s, const struct drop_search *found,
                struct node_profile *nodes, struct drop_result *ret)
{
    struct planner_history history = *s->in->history;
    int rc = narrow_to(s, found->keep, &history);

    if (rc < 0)
        return rc;
    ret->latency_s = history.latency_s;
    ret->bytes_per_s = history.bytes_per_s;
    for (int k = 0; k < found->n_kinds; k++)
        ret->n_left += describe_left(s, found, k, &ret->left[ret->n_left]);
    for (int i = 0; i < found->n; i++) {
        const struct plan_worker *w = &s->all->worker[i];

        if (!found->keep[i])
            nodes[w->node].left_out[w->local_rank / 64] |= UINT64_C(1) << w->local_rank % 64;
    }
    return 0;
}

/* Search which workers to leave out, and mark them. Return 0 or a negative errno. */
static int decide(struct drop_scale *s, struct node_profile *nodes, struct drop_result *ret,
                  struct eddis_error *err)
{
    const struct plan *p = s->all;
    cleanup_free struct drop_worker *w = calloc((size_t)p->n_workers, sizeof *w);
    cleanup_drop_search struct drop_search found = {
        .worker = w, .n = p->n_workers, .weigh = weigh, .ctx = s, .margin = DROP_MARGIN
    };
    int rc = w ? read_network(s) : -ENOMEM;

    if (rc == 0) {
        describe(s, w);
        rc = drop_search_run(&found, err);
    }
    /* If the job does not allow the plan of all workers, planner_plan says why. */
    if (rc == 0 && found.all > 0)
        rc = take(s, &found, nodes, ret);
    return rc < 0 ? eddis_fail(err, rc, "no memory to compare sets of workers") : 0;
}

bool drop_is_wanted(const struct job *job)
{
    return job->drop && strcmp(job->drop, "auto") == 0;
}

int drop_decide(const struct drop_input *in, struct node_profile *nodes, struct drop_result *ret,
                struct eddis_error *err)
{
    struct drop_scale s = { .in = in, .node = nodes };
    struct plan *all = NULL;
    int rc;

    *ret = (struct drop_result){ .latency_s = in->history->latency_s,
                                 .bytes_per_s = in->history->bytes_per_s };
    for (int i = 0; i < in->n_nodes; i++)
        memset(nodes[i].left_out, 0, sizeof nodes[i].left_out);
    if (!drop_is_wanted(in->job))
        return 0;
    rc = planner_workers(in->job, nodes, in->n_nodes, in->history, &all, err);
    if (rc == 0)
        ret->lacks = all->n_workers > 1 ? lacks(all, in->history) : NULL;
    s.all = all;
    if (rc == 0 && all->n_workers > 1 && !ret->lacks)
        rc = decide(&s, nodes, ret, err);
    plan_free(all);
    free(s.place);
    free(s.in_network);
    free(s.best_link);
    return rc;
}
