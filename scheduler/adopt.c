/* SPDX-License-Identifier: Apache-2.0 */
/* adopt.c - checks a plan read from a file against the job and the present nodes */
#include "cpus.h"
#include "planner.h"
#include "time_model.h"

#include "lib/model/algorithm.h"
#include "lib/model/sync_options_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Check whether two times are equal, except for rounding. */
static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* Check that sync.* and communication.wire, if the job sets them, have the plan's values. Return 0,
 * or -EINVAL: one differs.
 */
static int check_options(const struct plan *p, const struct job *job, struct eddis_error *err)
{
    const struct sync_options *has = &p->options, *wanted = &job->sync.options;
    bool overlaps = algorithm_has(p->algorithm, ALGORITHM_ROUNDS);
    struct sync_options others = *wanted; /* `overlap` is compared below */
    const char *clash;
    enum sync_wire asked = sync_wire_find(job->communication.wire);

    others.overlap = has->overlap;
    clash = sync_options_clash(&others, has);
    if (asked && asked != has->wire)
        return eddis_fail(err, -EINVAL,
                          "the plan sends gradients between nodes as %s, but communication.wire is "
                          "%s; remove it, or set it to the plan's value",
                          sync_wire_name(has->wire), sync_wire_name(asked));

    if (wanted->period && wanted->period != has->period)
        return eddis_fail(err, -EINVAL,
                          "the plan averages models every %" PRId64
                          " steps, but sync.period is %" PRId64
                          "; remove it, or set it to the plan's value",
                          has->period, wanted->period);
    if (clash && algorithm_has(p->algorithm, ALGORITHM_ELASTIC))
        return eddis_fail(err, -EINVAL,
                          "the plan has moving rate %g and momentum %g, but sync.moving_rate or "
                          "sync.momentum of the job differs; remove them",
                          has->moving_rate, has->momentum);
    if (overlaps && wanted->overlap && wanted->overlap != has->overlap)
        return eddis_fail(err, -EINVAL,
                          "the plan overlaps %" PRId64
                          " steps with the combining of models, but sync.overlap is %" PRId64
                          "; remove it, or set it to the plan's value",
                          has->overlap, wanted->overlap);
    if (clash && algorithm_has(p->algorithm, ALGORITHM_OUTER))
        return eddis_fail(
            err, -EINVAL,
            "the plan has outer rate %g and outer momentum %g, but sync.outer_rate or "
            "sync.outer_momentum of the job differs; remove them",
            has->outer_rate, has->outer_momentum);
    if (clash)
        return eddis_fail(err, -EINVAL,
                          "the plan has another sync.%s than the job; remove it from the job",
                          clash);
    return 0;
}

/* Check that sync.groups, if the job sets it, is the plan's grouping. Return 0, or -EINVAL: it
 * differs.
 */
static int check_groups(const struct plan *p, const struct job *job, struct eddis_error *err)
{
    const struct job_groups *g = &job->sync.groups;

    for (int i = 0; g->n && i < p->n_workers; i++)
        if (g->n != p->n_groups ||
            (g->of && ((size_t)p->n_workers != g->n_of || g->of[i] != p->worker[i].group)))
            return eddis_fail(
                err, -EINVAL,
                "the plan has %d groups, and they differ from sync.groups; remove sync.groups",
                p->n_groups);
    return 0;
}

/* Check that the plan's mode, algorithm, global batch, seed, options and groups suit the job.
 * Return 0, or -EINVAL: one does not.
 */
static int check_job(const struct plan *p, const struct job *job, struct eddis_error *err)
{
    const struct algorithm *a = algorithm_find(p->algorithm);
    int rc;

    if (!a || !algorithm_suits(a, p->mode, p->algorithm))
        return eddis_fail(err, -EINVAL,
                          "the plan's algorithm is '%s' of mode '%s', which this version does not "
                          "have",
                          p->algorithm, p->mode);
    if (!algorithm_suits(a, job->sync.mode, job->sync.algorithm))
        return eddis_fail(err, -EINVAL,
                          "the plan is for mode %s with algorithm %s, but the job asks for mode %s "
                          "with algorithm %s",
                          p->mode, p->algorithm, job->sync.mode, job->sync.algorithm);
    if (p->global_batch != job->batch.global)
        return eddis_fail(err, -EINVAL,
                          "the plan is for a global batch of %lld, but the job's is %lld; set "
                          "batch.global to the plan's value",
                          (long long)p->global_batch, (long long)job->batch.global);
    if (p->seed != job->seed)
        return eddis_fail(
            err, -EINVAL,
            "the plan was made with seed %llu, but the job's is %llu; set seed to the plan's value",
            (unsigned long long)p->seed, (unsigned long long)job->seed);
    rc = check_options(p, job, err);
    return rc == 0 && a->traits & ALGORITHM_GROUPED ? check_groups(p, job, err) : rc;
}

/* Borrow the device of the node that the plan gives to worker w; NULL: the node lacks it. */
static const struct device *find_device(const struct node_profile *node,
                                        const struct plan_worker *w)
{
    for (int i = 0; i < node->n_devices; i++)
        if (node->device[i].kind == w->kind && strcmp(node->device[i].id, w->device_id) == 0)
            return &node->device[i];
    return NULL;
}

/* Check whether the node's devices of the worker's kind together have its processors. A worker that
 * runs on a part of the CPU may use cores of several devices.
 */
static bool cpus_are_there(const struct node_profile *node, const struct plan_worker *w)
{
    char all[PROFILE_MAX_DEVICES * sizeof node->device[0].cpus] = "";

    for (int i = 0; i < node->n_devices; i++) {
        if (node->device[i].kind != w->kind || !node->device[i].cpus[0])
            continue;
        if (all[0])
            strcat(all, ",");
        strcat(all, node->device[i].cpus);
    }
    return cpus_within(w->cpus, all);
}

/* Check that the node has the worker's device and processors, and emulates the device at the plan's
 * speed. Return 0, or -EINVAL: it does not.
 */
static int check_worker(const struct plan_worker *w, const struct node_profile *node,
                        struct eddis_error *err)
{
    const struct device *d = find_device(node, w);
    struct time_model t;
    bool relative;

    if (!d)
        return eddis_fail(err, -EINVAL,
                          "rank %d of the plan needs the %s device '%s', which node '%s' lacks",
                          w->rank, device_kind_name(w->kind), w->device_id, node->host);
    if (!cpus_are_there(node, w))
        return eddis_fail(err, -EINVAL,
                          "rank %d of the plan needs processors %s, which node '%s' lacks", w->rank,
                          w->cpus, node->host);
    if (d->kind != DEVICE_EMULATED)
        return 0;
    if (time_model_of_device(d, TIME_MODEL_ALL, PRECISION_FP32, &t, &relative, NULL) < 0 ||
        !near(t.fixed_s, w->fixed_s) || !near(t.sample_s, w->sample_s))
        return eddis_fail(
            err, -EINVAL,
            "rank %d of the plan emulates another speed than profile.emulate gives '%s'", w->rank,
            w->device_id);
    return 0;
}

/* Return how many workers the job asks for on all nodes together; 0: the number on some node is
 * open, and follows from its devices.
 */
static int64_t wanted_workers(const struct job *job, const struct node_profile *nodes, int n_nodes)
{
    int64_t all = 0;

    for (int i = 0; i < n_nodes; i++) {
        int64_t here = nodes[i].workers ? nodes[i].workers : job->workers_per_node;

        if (!here)
            return 0;
        all += here;
    }
    return all;
}

int planner_adopt(struct plan *p, const struct job *job, const struct node_profile *nodes,
                  int n_nodes, const struct planner_history *history, struct eddis_error *err)
{
    int rc = check_job(p, job, err);
    int64_t wanted;

    if (rc < 0)
        return rc;
    if (p->n_nodes != n_nodes)
        return eddis_fail(err, -EINVAL, "the plan is for %d node(s), but the job has %d",
                          p->n_nodes, n_nodes);
    wanted = wanted_workers(job, nodes, n_nodes);
    if (wanted && p->n_workers != wanted)
        return eddis_fail(err, -EINVAL,
                          "the plan is for %d worker(s), but workers_per_node asks for %" PRId64
                          "; remove -n, or make a new plan",
                          p->n_workers, wanted);
    for (int i = 0; i < p->n_workers; i++)
        if ((rc = check_worker(&p->worker[i], &nodes[p->worker[i].node], err)) < 0)
            return rc;
    for (int i = 0; i < n_nodes; i++)
        memcpy(p->node[i], nodes[i].host, sizeof p->node[i]);
    p->epoch_steps = history ? planner_network(p, history).epoch_steps : 0;
    return 0;
}
