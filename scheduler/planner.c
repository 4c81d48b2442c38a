/* SPDX-License-Identifier: Apache-2.0 */
/* planner.c - makes a plan: workers on the nodes' devices, batches, the algorithm */
#include "planner.h"

#include "cpus.h"
#include "devices.h"
#include "groups.h"
#include "leave_out.h"
#include "lib/base/cleanup.h"
#include "lib/base/key_index.h"
#include "lib/base/text.h"
#include "limits.h"
#include "mode_choice.h"
#include "split.h"
#include "time_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum precision planner_precision(const struct job *job, const struct program *program)
{
    enum precision set =
        job->profile.precision ? precision_find(job->profile.precision) : PRECISION_AUTO;

    if (set == PRECISION_AUTO || set == PRECISIONS)
        set = program->precision;
    return set == PRECISION_AUTO ? PRECISION_FP32 : set;
}

/* ---- workers of a node ---- */

/* Borrow the node's device of this kind and index; NULL: it has none. */
static const struct device *indexed_device(const struct node_profile *node, enum device_kind kind,
                                           int64_t index)
{
    for (int d = 0; d < node->n_devices; d++)
        if (node->device[d].kind == kind && node->device[d].index == index)
            return &node->device[d];
    return NULL;
}

/* Check whether the job lists this device for the host. */
static bool is_wanted(const struct job_host *host, const struct device *d)
{
    for (size_t i = 0; i < host->n_device; i++)
        if (host->device[i] == d->index)
            return true;
    return false;
}

int planner_host(const struct job_host *host, struct node_profile *node, struct eddis_error *err)
{
    enum device_kind kind = devices_kind(node);
    int n = 0;

    for (size_t i = 0; i < host->n_device; i++) {
        const struct device *d = indexed_device(node, kind, host->device[i]);

        if (!d && node->cpus_only && indexed_device(node, DEVICE_CUDA, host->device[i]))
            return eddis_fail(err, -EINVAL,
                              "node '%s' has no cpu device %lld, and eddis-train uses no GPU; list "
                              "NUMA nodes as the node's devices, or none",
                              host->host, (long long)host->device[i]);
        if (!d)
            return eddis_fail(err, -EINVAL, "node '%s' has no %s device %lld", host->host,
                              device_kind_name(kind), (long long)host->device[i]);
        if (!devices_has_worker(node, d))
            return eddis_fail(err, -EINVAL,
                              "node '%s' cannot use its %s device %lld, which the job lists%s%s; "
                              "remove it from the node's devices",
                              host->host, device_kind_name(kind), (long long)host->device[i],
                              node->note[0] ? ": " : "", node->note);
    }
    snprintf(node->host, sizeof node->host, "%s", host->host);
    node->workers = host->workers;
    node->max_batch = host->max_batch;
    for (int d = 0; host->device && d < node->n_devices; d++)
        if (node->device[d].kind == kind && is_wanted(host, &node->device[d]))
            node->device[n++] = node->device[d];
    if (host->device)
        node->n_devices = n;
    return 0;
}

/* Return how many workers run on a node: as the job asks, or one per device. -EINVAL: it has no
 * device, too few, or more workers than a plan may have.
 */
static int count_workers(const struct job *job, const struct node_profile *node,
                         struct eddis_error *err)
{
    enum device_kind kind = devices_kind(node);
    int n = devices_count(node);
    int64_t wanted = node->workers ? node->workers : job->workers_per_node;
    const char *what = kind != DEVICE_CUDA ? "emulated device" : node->bundle ? "group" : "GPU";
    char group[48] = "";

    if (n == 0)
        return eddis_fail(err, -EINVAL, "node '%s' has no device to train on", node->host);
    if (wanted == 0)
        return n;
    if (node->bundle)
        (void)snprintf(group, sizeof group, " of %d GPUs (gpus_per_worker)", node->bundle);
    if (kind != DEVICE_CPU && wanted > n)
        return eddis_fail(
            err, -EINVAL,
            "node '%s' has %d %s%s%s, too few for %s: %lld; remove that setting to run one worker "
            "on "
            "each, or %s",
            node->host, n, what, n == 1 ? "" : "s", group,
            node->workers ? "its workers" : "workers_per_node (-n)", (long long)wanted,
            kind == DEVICE_CUDA ? "set CUDA_VISIBLE_DEVICES to an empty value there, or request no "
                                  "GPUs from Slurm, to train on the CPUs"
                                : "add devices to emulate");
    if (wanted > PLAN_MAX_WORKERS)
        return eddis_fail(err, -EINVAL, "node '%s' is to have %lld workers, but the most is %d",
                          node->host, (long long)wanted, PLAN_MAX_WORKERS);
    return (int)wanted;
}

int planner_count(const struct job *job, const struct node_profile *node)
{
    return count_workers(job, node, NULL);
}

/* Format a device's name for display to ret: "emulated 0.50", "cpu 0-1", or the name of the GPU. */
static void name_device(const struct device *d, char *ret, size_t size)
{
    bool two_digits = fabs(d->rate * 100 - round(d->rate * 100)) < 1e-6;

    if (d->kind == DEVICE_EMULATED)
        snprintf(ret, size, two_digits ? "emulated %.2f" : "emulated %.4g", d->rate);
    else if (d->kind == DEVICE_CUDA)
        snprintf(ret, size, "%s", d->name);
    else
        snprintf(ret, size, "cpu%s%.*s", d->cpus[0] ? " " : "", (int)size - 5, d->cpus);
}

/* Fill in a worker's device, processors and time model from device d. figures: the measurements
 * that all devices have. only: all workers are shares of this one device. Then its speed decides
 * nothing, and -ENODATA of a device that was too busy to be measured is ignored. Return 0; -EINVAL:
 * an emulated device has no speed; -ENODATA: it was not measured.
 */
static int fill_worker(struct plan *p, struct plan_worker *w, const struct device *d,
                       unsigned figures, enum precision precision, bool only,
                       struct eddis_error *err)
{
    struct time_model t = { .sample_s = 1 };
    bool relative = true;
    int rc = time_model_of_device(d, figures, precision, &t, &relative, err);

    if (rc < 0 && !(rc == -ENODATA && only))
        return rc;
    w->kind = d->kind;
    memcpy(w->device_id, d->id, sizeof w->device_id);
    memcpy(w->cpus, d->cpus, sizeof w->cpus);
    name_device(d, w->device, sizeof w->device);
    w->fixed_s = t.fixed_s;
    w->sample_s = t.sample_s;
    w->time = relative ? TIME_PROBE : TIME_GIVEN;
    p->emulated |= d->kind == DEVICE_EMULATED;
    return 0;
}

/* Add the node's name to an error of one of its workers, and its note if a device was not measured.
 * Return rc.
 */
static int fail_node(int rc, const struct node_profile *profile, struct eddis_error *err)
{
    struct eddis_error why = err ? *err : (struct eddis_error){ 0 };

    if (rc == -ENODATA && profile->note[0])
        return eddis_fail(err, rc, "node '%s': %s: %s", profile->host, why.text, profile->note);
    return eddis_fail_prefix(err, rc, "node '%s'", profile->host);
}

/* Fill in the n workers of a node, whose ranks begin with `rank`. figures: see fill_worker. Return
 * 0, or a negative errno of fill_worker or cpus_share, with an error that names the node.
 */
static int fill_node(struct plan *p, int rank, int node, int n, const struct node_profile *profile,
                     unsigned figures, enum precision precision, struct eddis_error *err)
{
    enum device_kind kind = devices_kind(profile);
    bool divide = kind == DEVICE_CPU && n != devices_count(profile);
    bool only = p->n_nodes == 1 && devices_count(profile) == 1;
    const struct device *next = profile->device; /* for the next worker, or before it */

    memcpy(p->node[node], profile->host, sizeof p->node[node]);
    for (int i = 0; i < n; i++) {
        struct plan_worker *w = &p->worker[rank + i];
        struct device share;
        int rc = 0;

        w->rank = rank + i;
        w->local_rank = i;
        w->node = node;
        while (!divide && !devices_has_worker(profile, next))
            next++;
        if (divide)
            rc = cpus_share(profile, i, n, &share, err);
        if (rc == 0)
            rc = fill_worker(p, w, divide ? &share : next++, figures, precision, only, err);
        if (rc < 0)
            return fail_node(rc, profile, err);
    }
    return 0;
}

/* Make a plan with its workers and node names, and nothing else, in *ret; the caller frees it.
 * Return 0; -EINVAL: a node cannot have its workers; -ENODATA: a device was not measured; -ENOMEM.
 */
static int make_workers(const struct job *job, const struct node_profile *nodes, int n_nodes,
                        enum precision precision, struct plan **ret, struct eddis_error *err)
{
    const struct device *lacks;
    unsigned figures = devices_figures(nodes, n_nodes, precision, &lacks);
    struct plan *p;
    int total = 0, rc = 0;

    if (n_nodes < 1)
        return eddis_fail(err, -EINVAL, "there is no node to train on");
    if (!figures)
        return eddis_fail(err, -ENODATA,
                          "no measurement is common to all devices, so their speeds cannot be "
                          "compared: device '%s' lacks one; run eddis-run --profile to see why",
                          lacks->id);
    for (int i = 0; i < n_nodes; i++) {
        int n = count_workers(job, &nodes[i], err);

        if (n < 0)
            return n;
        total += n;
        if (total > PLAN_MAX_WORKERS)
            return eddis_fail(err, -EINVAL, "the nodes have more than %d workers",
                              PLAN_MAX_WORKERS);
    }
    p = plan_new(n_nodes, total);
    if (!p)
        return eddis_fail(err, -ENOMEM, "no memory for a plan of %d workers", total);
    p->program.precision = figures & TIME_MODEL_PRECISE ? precision : PRECISION_FP32;
    for (int i = 0, rank = 0; i < n_nodes && rc == 0; i++) {
        int n = count_workers(job, &nodes[i], err);

        rc = fill_node(p, rank, i, n, &nodes[i], figures, precision, err);
        rank += n;
    }
    if (rc < 0)
        plan_free(p);
    else
        *ret = p;
    return rc;
}

/* ---- times learnt earlier ---- */

/* Return the learnt seconds per unit of the probe's ratio, for worker w with b samples. */
static double seconds_of_ratio(const struct plan_worker *w, const struct planner_time *t, int64_t b)
{
    const struct time_model m = { .fixed_s = t->fixed_s, .sample_s = t->sample_s };

    return time_model_s(&m, b) / (w->sample_s * (double)b);
}

/* Convert the ratios of workers without a learnt time to seconds, by the geometric mean over n
 * workers with one (log_sum: the sum of logarithms). The result is a guess.
 */
static void scale_ratios(struct plan *p, double log_sum, int n)
{
    double scale = exp(log_sum / n);

    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].time == TIME_PROBE) {
            p->worker[i].sample_s *= scale;
            p->worker[i].time = TIME_GUESSED;
        }
}

/* Replace the probe's ratios by the learnt times of the same worker, found by its key. Convert the
 * ratios of other workers to seconds by them. Times that the job gives stay.
 */
static void use_times(struct plan *p, const struct node_profile *nodes, int64_t global_batch,
                      const struct planner_time *time, const struct key_index *index)
{
    int64_t b = global_batch / p->n_workers + 1;
    double log_sum = 0;
    int n = 0;

    for (int i = 0; i < p->n_workers; i++) {
        struct plan_worker *w = &p->worker[i];
        char key[PLANNER_KEY];
        int at = -1;

        planner_key(p->node[w->node], &nodes[w->node], w, key);
        if (w->time == TIME_PROBE)
            at = key_index_find(index, time, key);
        if (at < 0)
            continue;
        log_sum += log(seconds_of_ratio(w, &time[at], b));
        n++;
        w->fixed_s = time[at].fixed_s;
        w->sample_s = time[at].sample_s;
        w->largest = time[at].largest;
        w->time = time[at].source;
    }
    if (n)
        scale_ratios(p, log_sum, n);
}

/* Enter what earlier runs measured of the workers' times, and set p->relative if ratios remain.
 * Return 0 or -ENOMEM.
 */
static int use_known(struct plan *p, const struct node_profile *nodes, int64_t global_batch,
                     const struct planner_history *history, struct eddis_error *err)
{
    struct key_index index = { .row_bytes = sizeof *history->time };
    int rc = key_index_add_all(&index, history->time, history->n_times);

    if (rc == 0 && index.n)
        use_times(p, nodes, global_batch, history->time, &index);
    key_index_fini(&index);
    if (rc < 0)
        return eddis_fail(err, rc, "no memory for the workers' measured times");
    for (int i = 0; i < p->n_workers; i++)
        p->relative |= p->worker[i].time == TIME_PROBE;
    return 0;
}

/* ---- batches ---- */

/* Fill optimal [n_workers] with the split of batch.global over the workers within their bounds.
 * Return 0; -EINVAL, -ERANGE: the bounds do not allow it; -ENOMEM.
 */
static int split_batch(const struct job *job, struct plan *p, int64_t *optimal,
                       struct eddis_error *err)
{
    cleanup_free struct split_worker *w = calloc((size_t)p->n_workers, sizeof *w);
    int rc;

    if (!w)
        return eddis_fail(err, -ENOMEM, "no memory to split the batch");
    if ((rc = limits_fill(job, p, w, err)) < 0)
        return rc;
    rc = split_optimal(w, p->n_workers, job->batch.global, job->batch.grain, optimal, err);
    if (rc == 0)
        return 0;
    eddis_fail_prefix(err, rc, "batch.global");
    return limits_place(job, "batch.global", "batch.grain", rc, err);
}

/* Enter batches and equal batches [n_workers] into the plan, and compute weights, step times and
 * predictions from them.
 */
static void set_batches(struct plan *p, const int64_t *optimal, const int64_t *equal)
{
    for (int i = 0; i < p->n_workers; i++) {
        struct plan_worker *w = &p->worker[i];
        struct time_model t = { .fixed_s = w->fixed_s, .sample_s = w->sample_s };

        w->batch = optimal[i];
        w->equal_batch = equal[i];
        w->weight = (double)w->batch / (double)p->global_batch;
        w->step_s = time_model_s(&t, w->batch);
        w->samples_per_s = w->batch > 0 ? (double)w->batch / w->step_s : 0;
    }
    p->predicted_samples_per_s = planner_throughput(p, optimal);
    p->equal_samples_per_s = planner_throughput(p, equal);
    p->ideal_samples_per_s = planner_ideal(p);
}

/* Split the global batch, optimally and equally, and enter both into the plan. Return 0, or an
 * error as of split_batch.
 */
static int plan_batches(const struct job *job, struct plan *p, struct eddis_error *err)
{
    cleanup_free int64_t *optimal = calloc((size_t)p->n_workers, sizeof *optimal);
    cleanup_free int64_t *equal = calloc((size_t)p->n_workers, sizeof *equal);
    int rc;

    if (!optimal || !equal)
        return eddis_fail(err, -ENOMEM, "no memory to split the batch");
    if ((rc = split_batch(job, p, optimal, err)) < 0)
        return rc;
    p->global_batch = job->batch.global;
    split_equal(p->n_workers, p->global_batch, equal);
    set_batches(p, optimal, equal);
    return 0;
}

double planner_throughput(const struct plan *p, const int64_t *batch)
{
    double slowest_s = 0, samples = 0;

    for (int i = 0; i < p->n_workers; i++) {
        struct time_model t = { .fixed_s = p->worker[i].fixed_s,
                                .sample_s = p->worker[i].sample_s };

        slowest_s = fmax(slowest_s, time_model_s(&t, batch[i]));
        samples += (double)batch[i];
    }
    return samples > 0 ? samples / slowest_s : 0;
}

double planner_ideal(const struct plan *p)
{
    double sum = 0;

    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];
        struct time_model t = { .fixed_s = w->fixed_s, .sample_s = w->sample_s };

        if (w->batch > 0)
            sum += (double)w->batch / time_model_s(&t, w->batch);
    }
    return sum;
}

/* ---- mode ---- */

/* Return the sum of batch [n_workers] over the members of a group. */
static int64_t group_sum(const struct plan *p, int group, const int64_t *batch)
{
    int64_t sum = 0;

    for (int i = 0; i < p->n_workers; i++)
        sum += p->worker[i].group == group ? batch[i] : 0;
    return sum;
}

/* Give each group without samples in batch [n_workers] one grain, taken from the worker with the
 * largest batch. Without samples, as batch.min: 0 allows, the group would finish its epoch
 * immediately, and delay the others at the end of theirs. Return 0, or -EINVAL: batch.global is too
 * small.
 */
static int feed_groups(const struct job *job, const struct plan *p, int64_t grain, int64_t *batch,
                       struct eddis_error *err)
{
    for (int g = 0; g < p->n_groups; g++) {
        int from = -1, to = -1;

        if (group_sum(p, g, batch) > 0)
            continue;
        for (int i = 0; i < p->n_workers; i++) {
            const struct plan_worker *w = &p->worker[i];

            if (w->group == g && (to < 0 || w->sample_s < p->worker[to].sample_s))
                to = i;
            if (batch[i] >= grain && group_sum(p, w->group, batch) > grain &&
                (from < 0 || batch[i] > batch[from]))
                from = i;
        }
        if (from < 0) {
            eddis_fail(err, -EINVAL,
                       "batch.global is %lld, too small for %d groups of %s mode, which take "
                       "at least %lld each; raise it to %lld",
                       (long long)p->global_batch, p->n_groups, p->mode, (long long)grain,
                       (long long)grain * p->n_groups);
            return limits_place(job, "batch.global", "sync.groups", -EINVAL, err);
        }
        batch[from] -= grain;
        batch[to] += grain;
    }
    return 0;
}

/* Check whether some worker's batch is outside its bounds. */
static bool is_outside(const struct split_worker *w, int n, const int64_t *batch)
{
    for (int i = 0; i < n; i++)
        if (batch[i] < w[i].min || batch[i] > w[i].max)
            return true;
    return false;
}

/* Give every group samples, and let the members of a group finish together; groups do not wait for
 * each other. The plan's predictions stay, unless the batches had to be split anew. Return 0;
 * -EINVAL, -ERANGE: batch.global or the bounds do not allow it; -ENOMEM. On failure the batches are
 * unchanged.
 */
static int balance_groups(const struct job *job, struct plan *p, struct eddis_error *err)
{
    size_t n = (size_t)p->n_workers;
    cleanup_free struct split_worker *w = calloc(n, sizeof *w);
    cleanup_free int64_t *batch = calloc(n, sizeof *batch), *equal = calloc(n, sizeof *equal);
    cleanup_free int *group = calloc(n, sizeof *group);
    double predicted = p->predicted_samples_per_s, even = p->equal_samples_per_s;
    double ideal = p->ideal_samples_per_s;
    bool anew;
    int rc;

    if (!w || !batch || !equal || !group)
        return eddis_fail(err, -ENOMEM, "no memory to split the batch");
    if ((rc = limits_fill(job, p, w, err)) < 0)
        return rc;
    for (int i = 0; i < p->n_workers; i++) {
        batch[i] = p->worker[i].batch;
        equal[i] = p->worker[i].equal_batch;
        group[i] = p->worker[i].group;
    }
    /* While the mode was open, some workers may have been left out that now train their own models.
     */
    anew = is_outside(w, p->n_workers, batch);
    if (anew &&
        (rc = split_optimal(w, p->n_workers, p->global_batch, job->batch.grain, batch, err)) < 0)
        return rc;
    if ((rc = feed_groups(job, p, job->batch.grain, batch, err)) < 0 ||
        (rc = feed_groups(job, p, 1, equal, err)) < 0)
        return rc;
    if (algorithm_has(p->algorithm, ALGORITHM_GROUPED))
        rc = groups_balance(w, group, p->n_workers, job->batch.grain, batch, err);
    if (rc == 0)
        set_batches(p, batch, equal);
    p->predicted_samples_per_s = anew ? predicted * p->ideal_samples_per_s / ideal : predicted;
    p->equal_samples_per_s = even;
    return rc < 0 ? eddis_fail_prefix(err, rc, "sync.groups") : 0;
}

/* Fill in bucket size, generation, version, seed and mode; balance groups if there are several
 * models. Return 0; -EINVAL: the bucket size is invalid; or an error of mode_choose or
 * balance_groups.
 */
static int choose_options(const struct job *job, const struct planner_history *history,
                          struct plan *p, struct eddis_error *err)
{
    double bytes = job->communication.bucket_mb * (1 << 20);
    int rc;

    if (!(bytes >= 0 && bytes <= (double)(INT64_C(1) << 40)))
        return eddis_fail(err, -EINVAL, "communication.bucket_mb is %g",
                          job->communication.bucket_mb);
    p->bucket_bytes = (int64_t)bytes;
    p->generation = p->version = 1;
    p->seed = job->seed;
    rc = mode_choose(job, history, p, err);
    return rc == 0 && algorithm_has(p->algorithm, ALGORITHM_SEVERAL) ? balance_groups(job, p, err)
                                                                     : rc;
}

int planner_workers(const struct job *job, const struct node_profile *nodes, int n_nodes,
                    const struct planner_history *history, struct plan **ret,
                    struct eddis_error *err)
{
    struct plan *p = NULL;
    int rc = make_workers(job, nodes, n_nodes, planner_precision(job, &history->program), &p, err);

    if (rc == 0)
        rc = use_known(p, nodes, job->batch.global, history, err);
    if (rc < 0)
        plan_free(p);
    else
        *ret = p;
    return rc;
}

int planner_complete(const struct job *job, const struct node_profile *nodes,
                     const struct planner_history *history, struct plan *p, struct eddis_error *err)
{
    int rc = limits_use(job, nodes, history, p, err);

    if (rc < 0)
        return rc;
    leave_out_nodes(p);
    rc = plan_batches(job, p, err);
    return rc < 0 ? rc : choose_options(job, history, p, err);
}

int planner_plan(const struct job *job, const struct node_profile *nodes, int n_nodes,
                 const struct planner_history *history, struct plan **ret, struct eddis_error *err)
{
    static const struct planner_history nothing;
    struct plan *p = NULL;
    int rc;

    history = history ? history : &nothing;
    rc = planner_workers(job, nodes, n_nodes, history, &p, err);
    if (rc == 0)
        rc = leave_out_marked(p, nodes, err);
    if (rc == 0)
        rc = planner_complete(job, nodes, history, p, err);
    if (rc < 0)
        plan_free(p);
    else
        *ret = p;
    return rc;
}

/* Check whether the job leaves the period open, and the plan's algorithm has one. */
static bool leaves_period(const struct job *job, const struct plan *p)
{
    return algorithm_has(p->algorithm, ALGORITHM_SEVERAL) && !job->sync.options.period;
}

/* Check whether the job leaves the groups open, and they may change after the start: in local mode
 * programs make process groups of them before they report their model.
 */
static bool leaves_groups(const struct job *job, const struct plan *p)
{
    return algorithm_has(p->algorithm, ALGORITHM_GROUPED) &&
           !algorithm_has(p->algorithm, ALGORITHM_ROUNDS) && !job->sync.groups.n;
}

/* Check whether the job leaves the wire format open, and the plan's algorithm sends gradients or
 * differences of models between nodes.
 */
static bool leaves_wire(const struct job *job, const struct plan *p)
{
    bool sends = algorithm_has(p->algorithm, ALGORITHM_GROUPED) ||
                 !algorithm_has(p->algorithm, ALGORITHM_SEVERAL);

    return sends && p->n_nodes > 1 && !job->sync.options.wire &&
           sync_wire_find(job->communication.wire) == SYNC_WIRE_AUTO;
}

bool planner_is_open(const struct job *job, const struct plan *p)
{
    return p->model_bytes == 0 && p->n_workers > 1 &&
           (algorithm_is_open(job->sync.mode, job->sync.algorithm) || leaves_period(job, p) ||
            leaves_groups(job, p) || leaves_wire(job, p));
}

void planner_leave_open(const struct job *job, struct plan *p)
{
    if (!algorithm_is_open(job->sync.mode, job->sync.algorithm)) {
        text_append(p->reason, sizeof p->reason,
                    "; what it leaves open is chosen when the program has reported the size of its "
                    "model");
        return;
    }
    snprintf(p->reason, sizeof p->reason,
             "%s until the program has reported the size of its model; then the mode is chosen",
             p->mode);
}

/* ---- while it runs ---- */

/* Enter the running workers' batches and times into the plan, with predictions. batch and equal
 * [n_workers] are scratch. *ret_pieces: whether some worker splits its batch into micro-batches.
 */
static void set_workers(struct plan *p, const struct planner_worker *w, int64_t *batch,
                        int64_t *equal, bool *ret_pieces)
{
    p->relative = *ret_pieces = false;
    for (int i = 0; i < p->n_workers; i++) {
        struct plan_worker *to = &p->worker[i];

        batch[i] = w[i].batch;
        equal[i] = to->equal_batch;
        to->fixed_s = w[i].fixed_s;
        to->sample_s = w[i].sample_s;
        to->time = w[i].time;
        to->largest = w[i].largest;
        to->guessed = to->guessed && to->piece == w[i].piece;
        to->piece = w[i].piece;
        *ret_pieces |= to->piece > 0;
        p->relative |= to->time == TIME_PROBE;
    }
    set_batches(p, batch, equal);
}

int planner_again(const struct job *job, const struct plan *p, const struct planner_worker *w,
                  int64_t period, const struct planner_history *history, struct plan **ret,
                  struct eddis_error *err)
{
    cleanup_free int64_t *batch = calloc((size_t)p->n_workers, sizeof *batch);
    cleanup_free int64_t *equal = calloc((size_t)p->n_workers, sizeof *equal);
    struct plan *again = plan_copy(p);
    struct planner_history begun = *history;
    struct sync_options kept = p->options;
    bool pieces;
    int rc;

    if (!batch || !equal || !again) {
        plan_free(again);
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    }
    begun.algorithm = p->algorithm;
    begun.kept = &kept;
    if (period)
        kept.period = period;
    set_workers(again, w, batch, equal, &pieces);
    again->takes_pieces = pieces && history->takes_pieces;
    rc = mode_choose(job, &begun, again, err);
    if (strcmp(again->program.gradients, p->program.gradients) == 0)
        memcpy(again->reason, p->reason, sizeof again->reason);
    if (rc < 0)
        plan_free(again);
    else
        *ret = again;
    return rc;
}
