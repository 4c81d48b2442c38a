/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - seconds to make a plan for many workers, an equal split's step beside the plan's, and
 * seconds to decide which of many workers to leave out and to simulate many workers
 *
 * The workers are the design's mix: speeds 1, 0.6, 0.35 and 0.15 in equal numbers, eight devices on
 * a node, 32 samples a worker.  The bound for a plan of 10 000 workers is one second, and for the
 * decision on 1 000 workers, where each step of one node of ten takes a second, too.  The bound for
 * 1 000 simulated steps of 1 000 workers, which begin with equal batches and re-plan, is five
 * seconds.
 */
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "scheduler/drop.h"
#include "scheduler/planner.h"
#include "scheduler/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 8, ROUNDS = 5, SAMPLES = 32, DROPPED_FROM = 1000, SIMULATED = 1000, STEPS = 1000 };

static const double speed[] = { 1, 0.6, 0.35, 0.15 };
enum { SPEEDS = sizeof speed / sizeof *speed };
static const double FIXED_S = 0.010, SAMPLE_S = 0.004;

struct result {
    double plan_s; /* median of the rounds */
    double equal_to_plan;
};

static const int sizes[] = { 100, 1000, 10000 };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* Return the profiles of nodes with n_workers devices of mixed speed, and their number; the caller
 * frees them.  NULL without memory.
 */
static struct node_profile *mixed_nodes(int n_workers, int *ret_n)
{
    int n = (n_workers + DEVICES - 1) / DEVICES;
    struct node_profile *nodes = calloc((size_t)n, sizeof *nodes);

    for (int i = 0; nodes && i < n_workers; i++) {
        struct node_profile *node = &nodes[i / DEVICES];
        struct device *d = &node->device[node->n_devices++];

        snprintf(node->host, sizeof node->host, "node%d", i / DEVICES);
        *d = (struct device){ .kind = DEVICE_EMULATED,
                              .rate = speed[i % SPEEDS],
                              .fixed_s = FIXED_S,
                              .sample_s = SAMPLE_S };
        snprintf(d->id, sizeof d->id, "emulated:%d", i % DEVICES);
    }
    *ret_n = n;
    return nodes;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Measure the time of a plan for n_workers, the median of ROUNDS, and its gain over an equal split.
 */
static int measure(int n_workers, struct result *ret, struct eddis_error *err)
{
    char word[] = "auto";
    struct job job = { .batch = { .global = (int64_t)SAMPLES * n_workers, .min = 1, .grain = 1 },
                       .sync = { .mode = word, .algorithm = word },
                       .communication.wire = word };
    /* A model of YOLOv5m's size and links of 1 Gbit/s, so that every mode's communication counts.
     */
    const struct planner_history known = { 85000000, 1e-4, 125e6, NULL };
    double seconds[ROUNDS];
    int n_nodes, rc = 0;
    struct node_profile *nodes = mixed_nodes(n_workers, &n_nodes);

    if (!nodes)
        return eddis_fail(err, -ENOMEM, "no memory for %d nodes", n_nodes);
    for (int r = 0; r < ROUNDS && rc == 0; r++) {
        int64_t start_ns = clock_now_ns();
        struct plan *p;

        rc = planner_plan(&job, nodes, n_nodes, &known, &p, err);
        seconds[r] = (double)(clock_now_ns() - start_ns) / CLOCK_S;
        if (rc == 0) {
            ret->equal_to_plan = p->predicted_samples_per_s / p->equal_samples_per_s;
            plan_free(p);
        }
    }
    free(nodes);
    if (rc < 0)
        return rc;
    qsort(seconds, ROUNDS, sizeof *seconds, compare_doubles);
    ret->plan_s = seconds[ROUNDS / 2];
    return 0;
}

struct dropped {
    double s; /* processor time, since the machine may be shared; median of the rounds */
    int left; /* workers that are left out */
};

/* Decide which of DROPPED_FROM workers to leave out, where one node of ten is slow, and measure it.
 */
static int drop(struct dropped *ret, struct eddis_error *err)
{
    static struct drop_result d;
    char word[] = "auto", sync[] = "sync";
    struct job job = { .batch = { .global = SAMPLES * DROPPED_FROM, .min = 1, .grain = 1 },
                       .sync = { .mode = sync, .algorithm = word },
                       .communication.wire = word,
                       .drop = word };
    const struct planner_history known = { 85000000, 1e-4, 125e6, NULL };
    double seconds[ROUNDS];
    int rc = 0;

    for (int r = 0; r < ROUNDS && rc == 0; r++) {
        int n_nodes;
        struct node_profile *nodes = mixed_nodes(DROPPED_FROM, &n_nodes);
        const struct drop_input in = { .job = &job, .n_nodes = n_nodes, .history = &known };
        clock_t start;

        if (!nodes)
            return eddis_fail(err, -ENOMEM, "no memory for %d nodes", n_nodes);
        for (int i = 0; i < n_nodes; i += 10)
            for (int k = 0; k < nodes[i].n_devices; k++)
                nodes[i].device[k].fixed_s = 1;
        start = clock();
        rc = drop_decide(&in, nodes, &d, err);
        seconds[r] = (double)(clock() - start) / CLOCKS_PER_SEC;
        ret->left = 0;
        for (int i = 0; i < n_nodes; i++)
            for (int k = 0; k < nodes[i].n_devices; k++)
                ret->left += profile_leaves_out(&nodes[i], k);
        free(nodes);
    }
    if (rc < 0)
        return rc;
    if (d.lacks)
        return eddis_fail(err, -EINVAL, "no worker is left out without %s", d.lacks);
    qsort(seconds, ROUNDS, sizeof *seconds, compare_doubles);
    ret->s = seconds[ROUNDS / 2];
    return 0;
}

struct simulated {
    double s; /* processor time, since the machine may be shared */
    int64_t replans;
    double gain; /* rate with the last batches / rate with the first */
};

/* Simulate STEPS steps of SIMULATED workers, with re-planning, and measure it. */
static int simulate(struct simulated *ret, struct eddis_error *err)
{
    static struct replan_worker w[SIMULATED];
    static struct sim_worker law[SIMULATED];
    static int64_t equal[SIMULATED];
    struct replan_setup r = {
        .worker = w, .n = SIMULATED, .version = 1, .grain = 1, .algorithm = "allreduce"
    };
    struct sim_setup s = {
        .worker = law, .n = SIMULATED, .seed = 1, .algorithm = "allreduce", .jitter = 0.05
    };
    struct replan *replan = NULL;
    struct sim *sim = NULL;
    clock_t start;
    int rc;

    for (int i = 0; i < SIMULATED; i++) {
        equal[i] = SAMPLES;
        w[i] = (struct replan_worker){ .first = { .sample_s = 1 },
                                       .batch = SAMPLES,
                                       .min = 1,
                                       .max = INT64_MAX,
                                       .node = i / DEVICES };
        law[i] = (struct sim_worker){ .fixed_s = FIXED_S,
                                      .sample_s = SAMPLE_S / speed[i % SPEEDS],
                                      .node = i / DEVICES,
                                      .batch = SAMPLES };
    }
    start = clock();
    rc = replan_new(&r, &replan, err);
    s.replan = replan;
    if (rc == 0)
        rc = sim_new(&s, &sim, err);
    if (rc == 0) {
        sim_run(sim, STEPS);
        *ret = (struct simulated){ .s = (double)(clock() - start) / CLOCKS_PER_SEC,
                                   .replans = sim_version(sim) - 1,
                                   .gain = sim_longest_s(sim, equal) /
                                           sim_longest_s(sim, sim_batch(sim)) };
    }
    sim_free(sim);
    replan_free(replan);
    return rc;
}

/* Print the measured plans, the decision and the simulation as a table. */
static void print_table(const struct result *r, const struct dropped *d, const struct simulated *s)
{
    char n[32];

    printf("workers   plan ms   equal split's step / plan's step\n");
    for (int i = 0; i < N_SIZES; i++)
        printf("%7s  %8.2f   %.2f\n", text_grouped(sizes[i], n, sizeof n), r[i].plan_s * 1e3,
               r[i].equal_to_plan);
    printf("bound for 10 000 workers: 1000 ms, %.0f times what it takes\n",
           1 / r[N_SIZES - 1].plan_s);
    printf("nodes.drop of %d workers: %.2f s of processor time (bound: 1), %d left out\n",
           DROPPED_FROM, d->s, d->left);
    printf("%d simulated steps of %d workers: %.2f s of processor time (bound: 5), %lld re-plans, "
           "%.2f times an equal "
           "split\n",
           STEPS, SIMULATED, s->s, (long long)s->replans, s->gain);
}

/* Print the same as one JSON object.  Return -1 without memory. */
static int print_json(const struct result *r, const struct dropped *d, const struct simulated *s)
{
    cleanup_json json_t *j = json_pack(
        "{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "bench", "plan", "plan_100_workers_s",
        r[0].plan_s, "plan_1000_workers_s", r[1].plan_s, "plan_10000_workers_s", r[2].plan_s,
        "ratio_bound_to_plan_10000_workers", 1 / r[2].plan_s, "ratio_equal_step_to_plan_step",
        r[2].equal_to_plan, "simulated_1000_workers_s", s->s,
        "ratio_bound_to_simulated_1000_workers", 5 / s->s, "drop_1000_workers_s", d->s,
        "ratio_bound_to_drop_1000_workers", 1 / d->s);
    char *text = j ? json_text(j, false) : NULL;

    if (!text)
        return -1;
    puts(text);
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    struct result r[N_SIZES] = { 0 };
    struct dropped d = { 0 };
    struct simulated s = { 0 };
    struct eddis_error err = { 0 };

    if (argc > 1 && !json) {
        fprintf(stderr, "usage: bench/plan [--json]\n");
        return 2;
    }
    for (int i = 0; i < N_SIZES; i++)
        if (measure(sizes[i], &r[i], &err) < 0) {
            fprintf(stderr, "plan: %s\n", err.text);
            return 1;
        }
    if (drop(&d, &err) < 0 || simulate(&s, &err) < 0) {
        fprintf(stderr, "plan: %s\n", err.text);
        return 1;
    }
    if (json)
        return print_json(r, &d, &s) < 0;
    print_table(r, &d, &s);
    return 0;
}
