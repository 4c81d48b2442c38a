/* SPDX-License-Identifier: Apache-2.0 */
/* rebalance_network.c - how often models are exchanged over the network between the nodes */
#include "rebalance_impl.h"

#include <stdio.h>

static const double PERIOD_CHANGE = 1.5; /* least ratio of periods that is worth another plan */

enum { PERIOD_STEPS = 20 }; /* steps of a plan before its period is weighed */

/* Count the steps that all workers report. Left out are workers that get no samples, or fewer than
 * they may take: the program may give them none, and they report nothing. If groups have models of
 * their own, a worker may have fewer than min_count without its bounds showing it; it counts only
 * if it reports.
 */
int64_t rebalance_steps(const struct rebalance *r)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < r->n; i++) {
        const struct rebalance_member *s = &r->member[i];

        if (s->batch == 0 || s->batch < s->min || s->max == 0)
            continue;
        if (s->plan < r->since && s->batch < r->set.network.program.min_count)
            continue;
        if (s->plan < r->since)
            return -1;
        least = at_most(s->steps, least);
    }
    return least;
}

/* Check whether two networks are equal. */
static bool is_same(const struct rebalance_network *a, const struct rebalance_network *b)
{
    return a->n_nodes == b->n_nodes && a->model_bytes == b->model_bytes &&
           a->bucket_bytes == b->bucket_bytes && a->n_gradients == b->n_gradients &&
           a->latency_s == b->latency_s && a->bytes_per_s == b->bytes_per_s && a->wire == b->wire &&
           a->steps == b->steps && program_is_same_size(&a->program, &b->program);
}

void rebalance_network(struct rebalance *r, const struct rebalance_network *n)
{
    bool same = is_same(&r->set.network, n);

    r->set.network = *n;
    if (!same)
        r->weigh = r->fresh = true;
}

/* Check whether eddis may choose the period, and knows enough to do so. */
static bool is_open(const struct rebalance *r)
{
    const struct rebalance_network *n = &r->set.network;

    return (r->algorithm->traits & ALGORITHM_ELASTIC) && r->period > 0 && !r->set.keep_period &&
           n->n_nodes > 0 && n->model_bytes > 0 && (n->n_nodes == 1 || n->bytes_per_s > 0);
}

struct modes_setup rebalance_modes(struct rebalance *r, batch_fn batch,
                                   const struct rebalance_network *n)
{
    for (int i = 0; i < r->n; i++)
        r->worker[i] = (struct modes_worker){ .t = r->split[i].t,
                                              .batch = batch(r, i),
                                              .node = r->member[i].node };
    return (struct modes_setup){ .worker = r->worker,
                                 .n = r->n,
                                 .n_nodes = n->n_nodes,
                                 .model_bytes = n->model_bytes,
                                 .program = n->program,
                                 .bucket_bytes = n->bucket_bytes,
                                 .n_gradients = n->n_gradients,
                                 .latency_s = n->latency_s,
                                 .bytes_per_s = n->bytes_per_s,
                                 .steps = n->steps,
                                 .wire = n->wire };
}

const int *rebalance_groups(const struct rebalance *r)
{
    return r->algorithm->traits & ALGORITHM_SEVERAL && !(r->algorithm->traits & ALGORITHM_GROUPED)
               ? NULL
               : r->group;
}

int64_t rebalance_better_period(struct rebalance *r, batch_fn batch)
{
    struct modes_setup s;
    int64_t period;

    if (!is_open(r))
        return 0;
    s = rebalance_modes(r, batch, &r->set.network);
    if (modes_period(&s, rebalance_groups(r), &period, NULL) < 0)
        return 0;
    return period > (double)r->period * PERIOD_CHANGE || r->period > (double)period * PERIOD_CHANGE
               ? period
               : 0;
}

/* Return the relative change of samples per second if the present batches had another period. */
static double gain_of(struct rebalance *r, int64_t period)
{
    const struct modes_setup s = rebalance_modes(r, rebalance_present, &r->set.network);
    double now = 0, then = 0;

    if (modes_elastic(&s, rebalance_groups(r), r->period, &now, NULL) < 0 ||
        modes_elastic(&s, rebalance_groups(r), period, &then, NULL) < 0 || !(now > 0))
        return 0;
    return then / now - 1;
}

bool rebalance_decide_period(struct rebalance *r, struct rebalance_proposal *ret)
{
    int64_t period;

    if (!r->weigh || rebalance_steps(r) < PERIOD_STEPS)
        return false;
    r->weigh = false;
    period = rebalance_better_period(r, rebalance_present);
    if (period == 0)
        return false;
    *ret = (struct rebalance_proposal){ .batch = r->best,
                                        .period = period,
                                        .gain = gain_of(r, period) };
    for (int i = 0; i < r->n; i++)
        r->best[i] = r->member[i].batch;
    snprintf(ret->reason, sizeof ret->reason,
             "models are exchanged every %lld step%s, not %lld, as the network and the speeds "
             "measured want it",
             (long long)period, period == 1 ? "" : "s", (long long)r->period);
    return true;
}
