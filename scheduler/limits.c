/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - computes the bounds of a split, and the errors if they cannot hold the batch */
#include "limits.h"

#include "lib/base/cleanup.h"
#include "lib/base/key_index.h"
#include "lib/job/job_text.h"
#include "memory_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MAX_GLOBAL_BATCH = INT64_C(1) << 53; /* a double counts exactly up to here */

/* ---- bounds of each worker ---- */

/* Check whether the memory measured for a worker, not batch.max, is its tighter bound. */
static bool bound_by_memory(const struct plan *p, int rank)
{
    const struct plan_worker *w = &p->worker[rank];

    return !p->takes_pieces && w->piece > 0 && (w->max <= 0 || w->piece < w->max);
}

int64_t limits_most(const struct plan *p, int rank)
{
    const struct plan_worker *w = &p->worker[rank];

    return bound_by_memory(p, rank) ? w->piece : w->max > 0 ? w->max : INT64_MAX;
}

/* Round samples up to a multiple of the grain; return samples unchanged if that overflows. */
static int64_t grains_up(int64_t samples, int64_t grain)
{
    int64_t over = samples % grain;

    return over == 0 || samples > INT64_MAX - grain ? samples : samples + grain - over;
}

/* Borrow the GPU of a worker; NULL: it has none, or one of unknown memory. */
static const struct device *card_of(const struct node_profile *node, const struct plan_worker *w)
{
    for (int i = 0; i < node->n_devices && w->kind == DEVICE_CUDA; i++)
        if (strcmp(node->device[i].id, w->device_id) == 0 && node->device[i].memory_bytes > 0)
            return &node->device[i];
    return NULL;
}

/* What earlier jobs measured of the workers' memory, and indexes of its rows. */
struct known_memory {
    const struct planner_history *history;
    struct key_index bounds, lines;
};

/* Borrow the memory bound of worker i of the plan; NULL: it has none. */
static const struct planner_bound *bound_of(const struct known_memory *m,
                                            const struct node_profile *nodes, const struct plan *p,
                                            int i)
{
    const struct plan_worker *w = &p->worker[i];
    char key[PLANNER_KEY];
    int at;

    planner_key(p->node[w->node], &nodes[w->node], w, key);
    at = key_index_find(&m->bounds, m->history->bound, key);
    return at < 0 ? NULL : &m->history->bound[at];
}

/* Return the most samples that worker i can hold, by its own bound or else by the line of its card;
 * 0: neither is known; INT64_MAX: the whole global batch, by the line.
 */
static int64_t known_bound(const struct known_memory *m, const struct node_profile *nodes,
                           const struct plan *p, int i, int64_t global)
{
    const struct planner_bound *bound = bound_of(m, nodes, p, i);
    const struct node_profile *node = &nodes[p->worker[i].node];
    const struct device *card = card_of(node, &p->worker[i]);
    const struct planner_line *line;
    char key[PLANNER_KEY];
    int64_t most;
    int at;

    if (bound)
        return bound->samples;
    if (!card)
        return 0;
    planner_card_key(node, card, key);
    at = key_index_find(&m->lines, m->history->line, key);
    if (at < 0)
        return 0;
    line = &m->history->line[at];
    most = memory_line_most(&(struct memory_line){ line->fixed_bytes, line->sample_bytes },
                            card->memory_bytes);
    return most < global ? most : INT64_MAX;
}

/* Return the part of the samples for memory `bytes` of `sum`, rounded up to whole grains. */
static int64_t share_of(int64_t samples, double bytes, double sum, int64_t grain)
{
    return grains_up((int64_t)ceil((double)samples * (bytes / sum)), grain);
}

/* Return the least part of the batch that a guess may leave worker w: the largest batch that it
 * had, batch.min or the program's least, in whole grains.
 */
static int64_t least_share(const struct job *job, const struct plan *p, const struct plan_worker *w)
{
    int64_t least = job->batch.min > p->program.min_count ? job->batch.min : p->program.min_count;

    return grains_up(w->largest > least ? w->largest : least, job->batch.grain);
}

/* Bound the batch of each worker without a known bound, or a batch.max, by its card's share of all
 * cards' memory, or by least_share if that is more. Whatever part of its share a worker may not
 * take, by batch.max or a known bound, is divided among the others. memory [n_workers]: scratch.
 *
 * A worker on CPUs, or on a GPU of unknown memory, gets no bound and has no part in the sum. The
 * memory of a node says nothing about its speed: if it counted, a slow node with much memory would
 * take most of the batch from the GPUs. So the other bounds add up to the whole batch, whatever
 * that worker can take. A single GPU of known memory is compared with none, and gets no bound.
 */
static void share_by_memory(const struct job *job, const struct node_profile *nodes, struct plan *p,
                            double *memory)
{
    int64_t left = job->batch.global, grain = job->batch.grain;
    double sum = 0;
    bool again = true;

    for (int i = 0; i < p->n_workers; i++) {
        const struct device *card = card_of(&nodes[p->worker[i].node], &p->worker[i]);

        memory[i] = card ? (double)card->memory_bytes : 0;
        sum += memory[i];
    }
    while (again && left > 0) {
        again = false;
        for (int i = 0; i < p->n_workers && left > 0; i++) {
            int64_t most = limits_most(p, i);

            if (memory[i] <= 0 || most >= share_of(left, memory[i], sum, grain))
                continue;
            left -= most - most % grain;
            sum -= memory[i];
            memory[i] = 0;
            again = true;
        }
    }
    for (int i = 0; i < p->n_workers && left > 0; i++) {
        struct plan_worker *w = &p->worker[i];
        int64_t share = memory[i] > 0 ? share_of(left, memory[i], sum, grain) : 0;

        if (memory[i] <= 0 || w->piece > 0 || w->max > 0)
            continue;
        if (share < least_share(job, p, w))
            share = least_share(job, p, w);
        w->guessed = share < job->batch.global;
        w->piece = w->guessed ? share : 0;
    }
}

/* Return by how many grains the bound of worker i may be raised: a bound from a failure to fewer
 * samples than ever failed, and no more than batch.max; any other bound by none.
 */
static int64_t room(const struct job *job, const struct plan *p, int i)
{
    const struct plan_worker *w = &p->worker[i];
    int64_t grain = job->batch.grain, high;

    if (w->failed <= 0)
        return 0;
    high = w->max > 0 && w->max < w->failed ? w->max : w->failed - 1;
    return high / grain > limits_most(p, i) / grain ? high / grain - limits_most(p, i) / grain : 0;
}

/* Raise the bounds from failures if all bounds together cannot hold the batch, each by the same
 * part of its room, and by no more than is missing. Such a bound is often half of what failed, so
 * more may fit. A failure at a raised bound leaves less room, so plans that fail one after another
 * come to an end. Do nothing if the room is less than what is missing: no plan exists.
 */
static void raise_bounds(const struct job *job, struct plan *p)
{
    int64_t grain = job->batch.grain, all = 0;
    int64_t missing = grains_up(job->batch.global, grain) / grain;

    for (int i = 0; i < p->n_workers && missing > 0; i++) {
        int64_t most = limits_most(p, i) / grain;

        missing = most < missing ? missing - most : 0;
        all += missing ? room(job, p, i) : 0;
    }
    if (p->takes_pieces || missing > all)
        return;
    for (int i = 0; i < p->n_workers && missing > 0; i++) {
        int64_t have = room(job, p, i);
        int64_t more = (int64_t)ceil((double)missing * ((double)have / (double)all));

        if (have == 0)
            continue;
        more = more < have ? more : have;
        more = more < missing ? more : missing;
        p->worker[i].piece = (limits_most(p, i) / grain + more) * grain;
        missing -= more;
        all -= have;
    }
}

/* Enter into the plan the memory of worker i, and the failure for which it was too small. */
static void use_failure(const struct known_memory *m, const struct node_profile *nodes,
                        struct plan *p, int i)
{
    struct plan_worker *w = &p->worker[i];
    const struct node_profile *node = &nodes[w->node];
    const struct device *card = card_of(node, w);
    const struct planner_bound *bound = bound_of(m, nodes, p, i);

    w->failed = bound && !bound->measured ? bound->failed : 0;
    w->memory_bytes = card                     ? card->memory_bytes
                      : w->kind == DEVICE_CUDA ? 0
                      : node->memory_limit > 0 ? node->memory_limit
                                               : node->memory_bytes;
}

/* Enter into the plan each worker's limits by the job and by memory. */
static void use_memory(const struct job *job, const struct node_profile *nodes,
                       const struct known_memory *m, struct plan *p, double *memory)
{
    for (int i = 0; i < p->n_workers; i++) {
        struct plan_worker *w = &p->worker[i];
        const struct node_profile *node = &nodes[w->node];

        w->max = node->max_batch > 0 ? node->max_batch : job->batch.max;
        w->piece = known_bound(m, nodes, p, i, job->batch.global);
        use_failure(m, nodes, p, i);
    }
    share_by_memory(job, nodes, p, memory);
    raise_bounds(job, p);
    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].piece == INT64_MAX)
            p->worker[i].piece = 0; /* no limit */
}

int limits_use(const struct job *job, const struct node_profile *nodes,
               const struct planner_history *history, struct plan *p, struct eddis_error *err)
{
    struct known_memory m = { history,
                              { .row_bytes = sizeof *history->bound },
                              { .row_bytes = sizeof *history->line } };
    cleanup_free double *memory = calloc((size_t)p->n_workers, sizeof *memory);
    int rc = key_index_add_all(&m.bounds, history->bound, history->n_bounds);

    if (rc == 0)
        rc = memory ? key_index_add_all(&m.lines, history->line, history->n_lines) : -ENOMEM;
    program_copy(&p->program, &history->program);
    p->takes_pieces = history->n_bounds + history->n_lines > 0 && history->takes_pieces;
    if (rc == 0)
        use_memory(job, nodes, &m, p, memory);
    key_index_fini(&m.bounds);
    key_index_fini(&m.lines);
    return rc < 0 ? eddis_fail(err, rc, "no memory for what the workers hold") : 0;
}

/* Set min of each worker to `least`, in whole grains and at most what its max allows. parts: a
 * worker that cannot hold a whole grain gets its max instead of 0, because each worker needs some
 * samples.
 */
static void set_least(struct split_worker *w, int n, int64_t least, int64_t grain, bool parts)
{
    least = grains_up(least, grain);
    for (int i = 0; i < n; i++) {
        int64_t most = w[i].max - w[i].max % grain;

        w[i].min = least <= most ? least : most || !parts ? most : w[i].max;
    }
}

/* Return the sum of the workers' min (least) or max bounds, but at most total, since a bound may be
 * INT64_MAX.
 */
static int64_t sum_up_to(int64_t total, const struct split_worker *w, int n, bool least)
{
    int64_t sum = 0;

    for (int i = 0; i < n; i++) {
        int64_t more = least ? w[i].min : w[i].max;

        sum = more < total - sum ? sum + more : total;
    }
    return sum;
}

/* Return the worker with the longest time for its min samples, among those with min > 0; -1: there
 * is none.
 */
static int slowest(const struct split_worker *w, int n)
{
    int at = -1;

    for (int i = 0; i < n; i++)
        if (w[i].min > 0 &&
            (at < 0 || time_model_s(&w[i].t, w[i].min) >= time_model_s(&w[at].t, w[at].min)))
            at = i;
    return at;
}

/* Set min and max to 0 for each worker that may not take min_count samples, then for the slowest
 * workers until the sum of min is at most total. Return whether the remaining workers can hold
 * total.
 */
static bool leave_out(struct split_worker *w, int n, int64_t min_count, int64_t total)
{
    for (int i = 0; i < n; i++)
        if (w[i].min < min_count)
            w[i].min = w[i].max = 0;
    /* The sum stops at its limit; total + 1 shows whether total is exceeded. */
    while (sum_up_to(total + 1, w, n, true) > total) {
        int i = slowest(w, n);

        w[i].min = w[i].max = 0;
    }
    return sum_up_to(total, w, n, false) >= total;
}

/* Return the most samples that a worker may get: by measured memory, most [n_workers], and
 * batch.max; if most is NULL, as limits_most.
 */
static int64_t most_of(const struct plan *p, int rank, const int64_t *most)
{
    int64_t max = p->worker[rank].max > 0 ? p->worker[rank].max : INT64_MAX;

    if (!most)
        return limits_most(p, rank);
    return most[rank] < max ? most[rank] : max;
}

/* Check whether the workers or groups train models of their own. If the plan has no mode yet, the
 * job's is used, unless that is open.
 */
static bool trains_several(const struct job *job, const struct plan *p)
{
    const struct algorithm *a = NULL;

    if (*p->algorithm || algorithm_is_open(job->sync.mode, job->sync.algorithm))
        return algorithm_has(p->algorithm, ALGORITHM_SEVERAL);
    a = algorithm_asked(job->sync.mode, job->sync.algorithm);
    return a && (a->traits & ALGORITHM_SEVERAL);
}

void limits_bounds(const struct job *job, const struct plan *p, int64_t min_count,
                   const int64_t *most, struct split_worker *w)
{
    int64_t total = job->batch.global, grain = job->batch.grain;
    bool several = trains_several(job, p);

    for (int i = 0; i < p->n_workers; i++) {
        w[i] = (struct split_worker){
            .t = { .fixed_s = p->worker[i].fixed_s, .sample_s = p->worker[i].sample_s },
            .max = most_of(p, i, most),
        };
    }
    set_least(w, p->n_workers, min_count > job->batch.min ? min_count : job->batch.min, grain,
              several);
    /* A worker with a model of its own cannot be left out. If its batch is below min_count, its
     * steps hold min_count samples instead.
     */
    if (several ? sum_up_to(total + 1, w, p->n_workers, true) <= total
                : leave_out(w, p->n_workers, min_count, total))
        return;
    for (int i = 0; i < p->n_workers; i++)
        w[i].max = most_of(p, i, most);
    set_least(w, p->n_workers, job->batch.min, grain, several);
}

/* ---- whether the bounds can hold the batch ---- */

/* Check whether the user set this key. */
static bool is_written(const struct job *job, const char *key)
{
    return job_origin(job, key).kind != JOB_DEFAULT;
}

int limits_place(const struct job *job, const char *key, const char *other, int rc,
                 struct eddis_error *err)
{
    if (!is_written(job, key))
        key = other;
    return is_written(job, key) ? job_fail_origin(job, key, rc, err) : rc;
}

/* Format " in steps of batch.grain: N" to ret if the bound is no multiple of the grain, otherwise
 * "". Return ret.
 */
static const char *in_steps(int64_t bound, int64_t grain, char ret[64])
{
    ret[0] = '\0';
    if (bound % grain)
        (void)snprintf(ret, 64, " in steps of batch.grain: %lld", (long long)grain);
    return ret;
}

/* Check batch.global, batch.min and batch.grain for n workers. Return 0, or -EINVAL: one is out of
 * range, or they contradict each other.
 */
static int check_job(const struct job *job, int n, struct eddis_error *err)
{
    char steps[64];
    int64_t global = job->batch.global, grain = job->batch.grain, min = job->batch.min;

    if (global < 1 || global > MAX_GLOBAL_BATCH)
        return eddis_fail(err, -EINVAL, "batch.global is %lld, not a number of samples",
                          (long long)global);
    if (min < 0 || grain < 1)
        return eddis_fail(
            err, -EINVAL,
            "batch.min is %lld and batch.grain %lld; set them to 0 or more and to 1 or more",
            (long long)min, (long long)grain);
    if (grains_up(min, grain) <= global / n)
        return 0;
    (void)in_steps(min, grain, steps);
    min = grains_up(min, grain);
    eddis_fail(err, -EINVAL,
               "batch.global is %lld, too small for %d worker%s with batch.min: %lld%s; "
               "raise it to %lld or more, or lower batch.min",
               (long long)global, n, n == 1 ? "" : "s", (long long)job->batch.min, steps,
               (long long)(min > MAX_GLOBAL_BATCH / n ? MAX_GLOBAL_BATCH : min * n));
    return limits_place(job, "batch.global", "batch.min", -EINVAL, err);
}

/* Check that batch.min does not exceed batch.max of any worker. Return 0, or -EINVAL: it does. */
static int check_min(const struct job *job, const struct plan *p, struct eddis_error *err)
{
    char steps[64];

    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];

        if (w->max <= 0 || job->batch.min <= w->max - w->max % job->batch.grain)
            continue;
        eddis_fail(err, -EINVAL, "batch.min is %lld, more than batch.max %lld%s%s%s; lower it",
                   (long long)job->batch.min, (long long)w->max,
                   w->max == job->batch.max ? "" : " of node ",
                   w->max == job->batch.max ? "" : p->node[w->node],
                   in_steps(w->max, job->batch.grain, steps));
        return limits_place(job, "batch.min", "nodes", -EINVAL, err);
    }
    return 0;
}

/* Return the sum of the most samples of all workers, but at most batch.global. *ret_by_memory:
 * whether memory bounds one of the workers counted.
 */
static int64_t sum_of_most(const struct job *job, const struct plan *p, bool *ret_by_memory)
{
    int64_t sum = 0;

    *ret_by_memory = false;
    for (int i = 0; i < p->n_workers && sum < job->batch.global; i++) {
        int64_t most = limits_most(p, i);

        sum = most < job->batch.global - sum ? sum + most : job->batch.global;
        *ret_by_memory |= bound_by_memory(p, i);
    }
    return sum;
}

/* Return the rank of the worker that may take the fewest samples. */
static int tightest(const struct plan *p)
{
    int least = 0;

    for (int i = 1; i < p->n_workers; i++)
        if (limits_most(p, i) < limits_most(p, least))
            least = i;
    return least;
}

/* Check whether batch.max is the same for all workers. */
static bool is_one_max(const struct plan *p)
{
    for (int i = 1; i < p->n_workers; i++)
        if (p->worker[i].max != p->worker[0].max)
            return false;
    return true;
}

/* Return the rank of the worker whose memory was too small for the fewest samples, among those
 * whose bound by memory is from such a failure; -1: there is none.
 */
static int first_failed(const struct plan *p)
{
    int least = -1;

    for (int i = 0; i < p->n_workers; i++)
        if (p->worker[i].failed > 0 && bound_by_memory(p, i) &&
            (least < 0 || p->worker[i].failed < p->worker[least].failed))
            least = i;
    return least;
}

/* Record in err that batch.global does not fit even if all bounds from failures are raised to what
 * has not failed. rank: from first_failed.
 */
static void fail_raised(const struct job *job, const struct plan *p, int rank,
                        struct eddis_error *err)
{
    const struct plan_worker *w = &p->worker[rank];
    bool card = w->kind == DEVICE_CUDA;
    char bytes[48] = "";
    int64_t grains = 0;

    for (int i = 0; i < p->n_workers; i++)
        grains += limits_most(p, i) / job->batch.grain + room(job, p, i);
    if (w->memory_bytes > 0)
        (void)snprintf(bytes, sizeof bytes, ", with %lld bytes,", (long long)w->memory_bytes);
    eddis_fail(err, -EINVAL,
               "batch.global is %lld, more than the %lld samples that may fit in the workers' "
               "memory: %s%snode %s%s could not hold %lld at once; lower batch.global, or let the "
               "program take micro-batches (eddis_options.pieces)",
               (long long)job->batch.global, (long long)(grains * job->batch.grain),
               card ? w->device : "", card ? " on " : "", p->node[w->node], bytes,
               (long long)w->failed);
}

/* Check that all workers together may take batch.global samples. Return 0 or -EINVAL. */
static int check_sum(const struct job *job, const struct plan *p, struct eddis_error *err)
{
    bool by_memory;
    int64_t sum = sum_of_most(job, p, &by_memory);
    int least = tightest(p), failed = first_failed(p);

    if (sum >= job->batch.global)
        return 0;
    if (failed >= 0)
        fail_raised(job, p, failed, err);
    else if (by_memory || !is_one_max(p))
        eddis_fail(err, -EINVAL,
                   by_memory
                       ? "batch.global is %lld, more than the %lld samples that fit in the "
                         "workers' memory, on node %s %lld for each worker; lower it to that, or "
                         "let the program take micro-batches (eddis_options.pieces)"
                       : "batch.global is %lld, more than the %lld samples that batch.max allows "
                         "for all workers, on node %s %lld for each worker; lower it to that or "
                         "less, or raise batch.max",
                   (long long)job->batch.global, (long long)sum, p->node[p->worker[least].node],
                   (long long)limits_most(p, least));
    else
        eddis_fail(err, -EINVAL,
                   "batch.global is %lld, too large for %d worker%s with batch.max: %lld; "
                   "lower it to %lld or less, or raise batch.max",
                   (long long)job->batch.global, p->n_workers, p->n_workers == 1 ? "" : "s",
                   (long long)limits_most(p, 0), (long long)sum);
    return limits_place(job, "batch.global", by_memory ? "batch.min" : "batch.max", -EINVAL, err);
}

/* ---- bounds for the split ---- */

/* Return the most samples that the worker's learnt time may be used for: twice the largest batch
 * measured, in whole grains, within min and max. Whole grains, so that the bounds hold whatever
 * splits the global batch.
 */
static int64_t trusted(const struct plan *p, int rank, const struct split_worker *w, int64_t grain)
{
    int64_t largest = p->worker[rank].largest, most = grains_up(2 * largest, grain);

    if (largest <= 0 || most > w->max)
        return w->max;
    return most > w->min ? most : w->min;
}

/* Lower max of each worker to twice the largest batch measured, if the workers can hold the global
 * batch then. A learnt time says little about much larger batches, and nothing about whether they
 * fit into memory.
 */
static void trust(const struct job *job, const struct plan *p, struct split_worker *w)
{
    int64_t left = job->batch.global, grain = job->batch.grain;

    for (int i = 0; i < p->n_workers && left > 0; i++) {
        int64_t most = trusted(p, i, &w[i], grain);

        most -= (most - w[i].min) % grain;
        left -= most < left ? most : left;
    }
    for (int i = 0; i < p->n_workers && left == 0; i++)
        w[i].max = trusted(p, i, &w[i], grain);
}

int limits_fill(const struct job *job, const struct plan *p, struct split_worker *w,
                struct eddis_error *err)
{
    int rc = check_job(job, p->n_workers, err);

    if (rc < 0 || (rc = check_min(job, p, err)) < 0 || (rc = check_sum(job, p, err)) < 0)
        return rc;
    limits_bounds(job, p, p->program.min_count, NULL, w);
    trust(job, p, w);
    return 0;
}
