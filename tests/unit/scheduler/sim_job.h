/* SPDX-License-Identifier: Apache-2.0 */
/* sim_job.h - a simulated job and its re-planning policy, for the tests of both */
#ifndef EDDIS_TESTS_SIM_JOB_H
#define EDDIS_TESTS_SIM_JOB_H

#include "scheduler/sim.h"

#include "lib/base/random.h"
#include "suite.h"

#include <math.h>

enum { MOST = 8 }; /* most workers of a job */

/* A simulated job and its policy. */
struct job {
    struct sim_worker worker[MOST];
    struct time_model first[MOST];
    int64_t min, max[MOST]; /* max 0: any */
    int n;
    enum time_source source;
    const char *algorithm;
    int64_t period, model_bytes;
    double jitter, spike;
    bool read_ahead;
    struct replan *replan;
    struct sim *sim;
};

static void open_job(struct job *j, uint64_t seed)
{
    struct replan_worker w[MOST];
    struct replan_setup r = {
        .worker = w, .n = j->n, .version = 1, .grain = 1, .algorithm = j->algorithm
    };
    struct sim_setup s = { .worker = j->worker,
                           .n = j->n,
                           .seed = seed,
                           .algorithm = j->algorithm,
                           .period = j->period,
                           .model_bytes = j->model_bytes,
                           .jitter = j->jitter,
                           .spike = j->spike,
                           .spike_ratio = 3,
                           .read_ahead = j->read_ahead };

    r.period = j->period;
    for (int i = 0; i < j->n; i++)
        w[i] = (struct replan_worker){ .first = j->first[i],
                                       .source = j->source,
                                       .batch = j->worker[i].batch,
                                       .min = j->min,
                                       .max = j->max[i] ? j->max[i] : INT64_MAX,
                                       .node = j->worker[i].node,
                                       .group = j->worker[i].group };
    ck_assert_int_eq(replan_new(&r, &j->replan, NULL), 0);
    s.replan = j->replan;
    ck_assert_int_eq(sim_new(&s, &j->sim, NULL), 0);
}

static void close_job(struct job *j)
{
    sim_free(j->sim);
    replan_free(j->replan);
}

/* Draw from a normal law of deviation 1. */
static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(1 - random_unit(seed))) * cos(2 * M_PI * random_unit(seed));
}

#endif
