/* SPDX-License-Identifier: Apache-2.0 */
/* replan_plan.c - fills the setup of a re-planning policy from a plan and the job's limits */
#include "replan_plan.h"

#include "lib/base/cleanup.h"
#include "limits.h"

#include <errno.h>
#include <stdlib.h>

bool replan_plan_is_by_rates(const struct plan *p)
{
    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].kind == DEVICE_CUDA && p->worker[i].time == TIME_PROBE)
            return true;
    return false;
}

/* Fill the workers w [p->n_workers] of the policy. */
static void fill_workers(const struct plan *p, bool equal, const struct split_worker *bounds,
                         struct replan_worker *w)
{
    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *from = &p->worker[i];

        w[i] = (struct replan_worker){
            .first = { .fixed_s = from->fixed_s, .sample_s = from->sample_s },
            .source = from->time,
            .batch = equal ? from->equal_batch : from->batch,
            .min = bounds[i].min,
            .max = bounds[i].max,
            .node = from->node,
            .group = from->group,
        };
    }
}

int replan_plan(const struct job *job, const struct plan *p, const struct planner_history *history,
                bool equal, struct replan **ret, struct eddis_error *err)
{
    cleanup_free struct replan_worker *w = calloc((size_t)p->n_workers, sizeof *w);
    cleanup_free struct split_worker *bounds = calloc((size_t)p->n_workers, sizeof *bounds);
    const struct replan_setup s = {
        .worker = w,
        .n = p->n_workers,
        .version = 1,
        .grain = job->batch.grain,
        .algorithm = p->algorithm,
        .period = p->options.period,
        .keep_period = job->sync.options.period > 0,
        .network = planner_network(p, history),
        .measured = { history->efficiency, history->n_efficiencies, p->global_batch },
        .gap_steps = job->batch.rebalance,
        .early = job->batch.rebalance == 0 && replan_plan_is_by_rates(p),
    };

    if (!w || !bounds)
        return eddis_fail(err, -ENOMEM, "no memory to follow %d workers", p->n_workers);
    limits_bounds(job, p, history->program.min_count, NULL, bounds);
    fill_workers(p, equal, bounds, w);
    return replan_new(&s, ret, err);
}
