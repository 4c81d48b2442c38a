/* SPDX-License-Identifier: Apache-2.0 */
/* four_workers.h - re-planning of four workers, and what they report, for the tests of it */
#ifndef EDDIS_TESTS_FOUR_WORKERS_H
#define EDDIS_TESTS_FOUR_WORKERS_H

#include "scheduler/replan.h"

#include "steps.h"
#include "suite.h"

enum { N = 4 };

static struct replan_worker worker[N];
/* Each test has its own setup, the object that begins with it, and the newest proposal of that. */
static struct replan_setup s;
static struct replan *r;
static struct replan_proposal p;

/* Begin again, for the setup has changed. */
static void begin(void)
{
    replan_free(r);
    ck_assert_int_eq(replan_new(&s, &r, NULL), 0);
}

/* 64 samples each, of which nothing is known. */
static void set_up(void)
{
    for (int i = 0; i < N; i++)
        worker[i] = (struct replan_worker){ .first = { .sample_s = 1 },
                                            .batch = 64,
                                            .min = 1,
                                            .max = INT64_MAX,
                                            .node = i,
                                            .group = i };
    s = (struct replan_setup){
        .worker = worker, .n = N, .version = 1, .grain = 1, .algorithm = "allreduce"
    };
    begin();
}

static void tear_down(void)
{
    replan_free(r);
    r = NULL;
}

static bool decides(double now_s)
{
    return replan_decide(r, now_s, &p);
}

/* Steps of a plan, from step 100 of each version on. */
static void report(int rank, int64_t plan, int64_t steps, int64_t count, double own_s)
{
    struct step_metrics f = steps_of(plan, 100 * plan, steps, count, own_s);

    replan_metrics(r, rank, &f, 0);
}

#endif
