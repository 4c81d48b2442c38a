/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - bench-predict STEPS < PLAN: predict a job's rate by the simulator
 *
 * PLAN is JSON: algorithm, period, model_bytes, wire_bytes, latency_s, bytes_per_s of a node's
 * link, and workers, each with fixed_s, sample_s, node, group and batch, as in a plan of eddis.
 * Prints the samples per second of so many steps of rank 0, in virtual time and without jitter.
 */
#include "lib/base/json.h"
#include "scheduler/sim.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MOST = 1 << 24 };

/* Print the error and exit if rc is negative. */
static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench-predict: %s\n", err->text);
    exit(2);
}

/* Parse standard input as JSON; exit on failure. */
static json_t *read_plan(struct eddis_error *err)
{
    char *text = malloc(TEXT_MOST);
    json_t *plan = NULL;

    if (!text)
        check(eddis_fail(err, -ENOMEM, "no memory"), err);
    check(json_parse(text, fread(text, 1, TEXT_MOST, stdin), "the plan", &plan, err), err);
    free(text);
    return plan;
}

/* Read one worker of the plan into *ret; exit on failure. */
static void read_worker(const json_t *o, double bytes_per_s, struct sim_worker *ret,
                        struct eddis_error *err)
{
    int64_t node = 0, group = 0;

    check(json_want_number(o, "fixed_s", 0, 1e9, &ret->fixed_s, err), err);
    check(json_want_number(o, "sample_s", 1e-15, 1e9, &ret->sample_s, err), err);
    check(json_want_int(o, "node", 0, SIM_MAX_WORKERS, &node, err), err);
    check(json_want_int(o, "group", 0, SIM_MAX_WORKERS, &group, err), err);
    check(json_want_int(o, "batch", 0, INT64_C(1) << 40, &ret->batch, err), err);
    ret->bytes_per_s = bytes_per_s;
    ret->node = (int)node;
    ret->group = (int)group;
}

/* Read the plan into *ret.  Return the workers, which the caller frees; exit on failure. */
static struct sim_worker *read_setup(const json_t *plan, struct sim_setup *ret,
                                     struct eddis_error *err)
{
    const json_t *rows = json_object_get(plan, "workers");
    struct sim_worker *w = calloc(json_array_size(rows) + 1, sizeof *w);
    double bytes_per_s = 0;

    if (!w)
        check(eddis_fail(err, -ENOMEM, "no memory"), err);
    check(json_want_int(plan, "period", 0, INT64_C(1) << 40, &ret->period, err), err);
    check(json_want_int(plan, "model_bytes", 0, INT64_C(1) << 50, &ret->model_bytes, err), err);
    check(json_want_int(plan, "wire_bytes", 0, INT64_C(1) << 50, &ret->wire_bytes, err), err);
    check(json_want_number(plan, "latency_s", 0, 1e3, &ret->latency_s, err), err);
    check(json_want_number(plan, "bytes_per_s", 0, 1e15, &bytes_per_s, err), err);
    ret->n = (int)json_array_size(rows);
    ret->algorithm = json_string_value(json_object_get(plan, "algorithm"));
    for (int i = 0; i < ret->n; i++)
        read_worker(json_array_get(rows, (size_t)i), bytes_per_s, &w[i], err);
    ret->worker = w;
    ret->seed = 1;
    return w;
}

int main(int argc, char **argv)
{
    long steps = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    struct eddis_error err = { 0 };
    struct sim_setup setup = { 0 };
    struct sim_worker *worker;
    struct sim *sim = NULL;
    json_t *plan;

    if (steps < 1) {
        fprintf(stderr, "usage: bench-predict STEPS < PLAN\n");
        return 2;
    }
    plan = read_plan(&err);
    worker = read_setup(plan, &setup, &err);
    check(sim_new(&setup, &sim, &err), &err);
    sim_run(sim, steps);
    printf("%.9g\n", (double)sim_samples(sim) / sim_now_s(sim));
    sim_free(sim);
    free(worker);
    json_decref(plan);
    return 0;
}
