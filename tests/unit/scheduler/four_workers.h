/* SPDX-License-Identifier: Apache-2.0 */
/* four_workers.h - re-planning of four workers, and what they report, for the tests of it */
#ifndef EDDIS_TESTS_FOUR_WORKERS_H
#define EDDIS_TESTS_FOUR_WORKERS_H

#include "scheduler/replan.h"

#include "suite.h"

enum { N = 4 };

static struct replan_worker worker[N];

/* 64 samples each, of which nothing is known. */
static struct replan_setup setup(void)
{
    for (int i = 0; i < N; i++)
        worker[i] = (struct replan_worker){ .first = { .sample_s = 1 },
                                            .batch = 64,
                                            .min = 1,
                                            .max = INT64_MAX,
                                            .node = i,
                                            .group = i };
    return (struct replan_setup){
        .worker = worker, .n = N, .version = 1, .grain = 1, .algorithm = "allreduce"
    };
}

static struct replan *begun(const struct replan_setup *s)
{
    struct replan *r;

    ck_assert_int_eq(replan_new(s, &r, NULL), 0);
    return r;
}

static struct step_spread spread(double s)
{
    return (struct step_spread){ .low_s = 0.99 * s, .median_s = s, .high_s = 1.01 * s, .max_s = s };
}

/* Steps of a plan, from step 100 of each version on. */
static void report(struct replan *r, int rank, int64_t plan, int64_t steps, int64_t count,
                   double own_s)
{
    struct step_metrics f = { .plan = plan,
                              .since = 100 * plan,
                              .steps = steps,
                              .points = steps,
                              .count = count,
                              .work = (double)count,
                              .own = spread(own_s),
                              .compute = spread(own_s) };

    replan_metrics(r, rank, &f, 0);
}

#endif
