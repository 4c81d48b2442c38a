/* SPDX-License-Identifier: Apache-2.0 */
/* planning.h - a job, its nodes and its plan, for the tests of plans: planning_add(tc) */
#ifndef EDDIS_TESTS_PLANNING_H
#define EDDIS_TESTS_PLANNING_H

#include "scheduler/planner.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each test has its own; include this header last, for the names are short. */
static struct job job;
static struct node_profile *node; /* NULL until a test makes some */
static struct plan *p;            /* the newest plan */
static struct eddis_error err;

/* Return a word of a job, which nothing writes to here. */
static inline char *word_of(const char *word)
{
    return (char *)(uintptr_t)word;
}

/* A job of 64 samples that leaves everything open. */
static inline void planning_begin(void)
{
    job = (struct job){ .batch = { .global = 64, .min = 1, .grain = 1 } };
    job.sync.mode = job.sync.algorithm = job.communication.wire = word_of("auto");
    node = NULL;
    p = NULL;
    err = (struct eddis_error){ 0 };
}

static inline void planning_end(void)
{
    plan_free(p);
    free(node);
}

static inline void planning_add(TCase *tc)
{
    tcase_add_checked_fixture(tc, planning_begin, planning_end);
}

/* Make n nodes without devices: login1, or node0 and so on. */
static inline void make_nodes(int n)
{
    free(node);
    node = calloc((size_t)n, sizeof *node);
    ck_assert_ptr_nonnull(node);
    for (int i = 0; i < n; i++) {
        (void)snprintf(node[i].host, sizeof node[i].host, n == 1 ? "login1" : "node%d", i);
        node[i].cpu_quota = NAN;
    }
}

/* Return the new device of a node, of which nothing is measured. */
static inline struct device *add_unmeasured(struct node_profile *at, enum device_kind kind)
{
    struct device *d = &at->device[at->n_devices];

    *d = device_unmeasured(kind, at->n_devices, -1);
    (void)snprintf(d->id, sizeof d->id, "%s:%d", device_kind_name(kind), at->n_devices++);
    return d;
}

static inline void add_emulated(struct node_profile *at, double rate, double fixed_s,
                                double sample_s)
{
    struct device *d = add_unmeasured(at, DEVICE_EMULATED);

    d->rate = rate;
    d->fixed_s = fixed_s;
    d->sample_s = sample_s;
}

/* Return the new device of a node, a CPU or GPU that does `speed` TFLOP/s. */
static inline struct device *add_device(struct node_profile *at, enum device_kind kind,
                                        double speed)
{
    struct device *d = add_unmeasured(at, kind);

    d->fp32_flops = speed * 1e12;
    d->memory_bytes_per_s = speed * 1e11;
    if (kind == DEVICE_CUDA)
        (void)snprintf(d->name, sizeof d->name, "NVIDIA H%.0f", speed);
    return d;
}

/* The example of the README: rates 1 : 1 : 0.5 : 0.25 beside the CPU that emulates them. */
static inline void add_example_devices(struct node_profile *at)
{
    static const double rate[] = { 1, 1, 0.5, 0.25 };

    add_device(at, DEVICE_CPU, 1);
    for (int i = 0; i < 4; i++)
        add_emulated(at, rate[i], 0.002, 0.0001);
}

static inline void make_example_node(void)
{
    make_nodes(1);
    add_example_devices(node);
}

/* Make `nodes` nodes of 16 emulated devices; four nodes have one of each speed. */
static inline void make_mix(int nodes)
{
    static const double rate[] = { 1, 0.6, 0.35, 0.15 };

    make_nodes(nodes);
    for (int i = 0; i < 16; i++)
        add_emulated(&node[i * nodes / 16], nodes == 4 ? rate[i % 4] : rate[i / 4], 0.010, 0.004);
}

/* Plan the job anew for n nodes.  Return what planner_plan returns. */
static inline int plan_nodes(int n, const struct planner_history *known)
{
    plan_free(p);
    p = NULL;
    return planner_plan(&job, node, n, known, &p, &err);
}

#endif
