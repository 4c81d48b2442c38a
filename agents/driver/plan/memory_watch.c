/* SPDX-License-Identifier: Apache-2.0 */
/* memory_watch.c - compute the most samples that each worker can hold from reported peaks */
#include "memory_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a generation ---- */

/* Return the memory of a worker's GPU; 0: it has no GPU, or its memory is unknown. */
static int64_t device_bytes(const struct node_profile *node, const struct plan_worker *w)
{
    for (int i = 0; i < node->n_devices && w->kind == DEVICE_CUDA; i++)
        if (strcmp(node->device[i].id, w->device_id) == 0)
            return node->device[i].memory_bytes;
    return 0;
}

/* Return the first worker that uses the same device as worker i; i itself if it is the first. */
static int first_beside(const struct plan *p, int i)
{
    const struct plan_worker *w = &p->worker[i];

    for (int k = 0; k < i; k++)
        if (p->worker[k].node == w->node && strcmp(p->worker[k].device_id, w->device_id) == 0)
            return k;
    return i;
}

/* Return the limit that a failure set for a worker, or to which the plan raised it: `piece`, if
 * that many have not failed. INT64_MAX: no failure set a limit. row: NULL: none.
 */
static int64_t failed_limit(const struct planner_bound *row, int64_t piece)
{
    if (!row || row->measured)
        return INT64_MAX;
    return piece > row->samples && piece < row->failed ? piece : row->samples;
}

/* Initialise the records of worker i. node: its profile.  A limit in the history counts only for a
 * worker whose micro-batch the plan limits.
 */
static void begin_worker(struct memory_watch *m, int i, const struct plan *p,
                         const struct node_profile *node, const struct past_memory *history)
{
    const struct plan_worker *w = &p->worker[i];
    const struct planner_bound *row = NULL;
    char key[PLANNER_KEY];

    if (w->piece > 0) {
        planner_key(p->node[w->node], node, w, key);
        row = past_memory_find(history, key);
    }
    m->watched[i] = (struct watched_memory){ .device_bytes = device_bytes(node, w),
                                             .before = w->piece > 0 ? w->piece : INT64_MAX,
                                             .failed = failed_limit(row, w->piece),
                                             .beside = first_beside(p, i),
                                             .pool = -1 };
    m->measured[i] = INT64_MAX;
    m->most[i] = m->watched[i].before;
}

int memory_watch_begin(struct memory_watch *m, const struct plan *p,
                       const struct node_profile *const *node, const struct past_memory *history,
                       struct eddis_error *err)
{
    size_t n = (size_t)p->n_workers;

    memory_watch_end(m);
    m->watched = calloc(n, sizeof *m->watched);
    m->worker = calloc(n, sizeof *m->worker);
    m->measured = calloc(n, sizeof *m->measured);
    m->most = calloc(n, sizeof *m->most);
    if (!m->watched || !m->worker || !m->measured || !m->most)
        return eddis_fail(err, -ENOMEM, "no memory to watch that of %d workers", p->n_workers);
    m->n = p->n_workers;
    for (int i = 0; i < m->n; i++)
        begin_worker(m, i, p, node[p->worker[i].node], history);
    return 0;
}

void memory_watch_end(struct memory_watch *m)
{
    free(m->watched);
    free(m->worker);
    free(m->measured);
    free(m->most);
    *m = (struct memory_watch){ 0 };
}

/* ---- peaks ---- */

/* Set the memory limit that applies to a worker.  If it reports a device's memory, the limit is the
 * device's, which several workers may share.
 */
static void take_limit(struct memory_watch *m, const struct progress *p, struct memory_worker *w)
{
    struct watched_memory *x = &m->watched[p->rank];

    x->on_device = p->memory_told && x->device_bytes > 0;
    w->limit_bytes = x->on_device ? x->device_bytes : p->memory_limit_bytes;
    w->strict = x->on_device;
    x->pool = x->on_device ? x->beside : p->memory_pool < m->n ? p->memory_pool : -1;
}

/* Set the pool of each worker to the first worker that is under the same memory limit.  Reports
 * name a pool by one of its workers, which may itself be in another pool.
 */
static void number_pools(struct memory_watch *m)
{
    for (int i = 0; i < m->n; i++)
        m->watched[i].first[0] = m->watched[i].first[1] = -1;
    for (int i = 0; i < m->n; i++) {
        const struct watched_memory *x = &m->watched[i];
        int *first = x->pool >= 0 ? &m->watched[x->pool].first[x->on_device] : NULL;

        if (first && *first < 0)
            *first = i;
        m->worker[i].pool = first ? *first : i;
    }
}

/* Check whether a report's steps and peak belong to the newest plan.  The plan's first step does
 * not count, as in the window of step times; and nothing counts once the worker has seen a next
 * version, whose first step may be running.
 */
static bool is_of(const struct plan *plan, const struct progress *p)
{
    return p->metrics.plan >= plan->version && p->metrics.plan == p->step_plan &&
           p->plan_version == p->step_plan;
}

/* Return how many samples a worker holds at its peak, in a step of the whole batch: its
 * micro-batch, or the batch.  The present step may be an epoch's last, which is shorter.
 */
static int64_t at_once(const struct plan_worker *w, const struct progress *p)
{
    int64_t count = p->metrics.count;

    return p->takes_pieces && w->piece > 0 && w->piece < count ? w->piece : count;
}

void memory_watch_progress(struct memory_watch *m, const struct plan *plan,
                           const struct progress *p)
{
    struct memory_worker *w;
    struct watched_memory *x;
    int64_t samples;

    if (!m->worker || p->rank < 0 || p->rank >= m->n || !is_of(plan, p))
        return;
    w = &m->worker[p->rank];
    x = &m->watched[p->rank];
    samples = at_once(&plan->worker[p->rank], p);
    x->fitted = samples > x->fitted ? samples : x->fitted;
    if (p->memory_bytes <= 0)
        return;
    take_limit(m, p, w);
    w->bytes = p->memory_bytes;
    w->samples = samples;
    memory_take(&w->learnt, w->samples, p->memory_bytes);
    m->fresh = true;
}

/* Return worker i's limit by its peaks, without regard to failures.  A line through several peaks
 * replaces the earlier limit; fewer peaks can only raise it.
 */
static int64_t without_failure(const struct memory_watch *m, int i)
{
    const struct memory_worker *w = &m->worker[i];
    int64_t before = m->watched[i].before, now = m->measured[i];

    if (w->learnt.n == 0 || w->limit_bytes <= 0)
        return before;
    return memory_is_line(&w->learnt) || before == INT64_MAX || now > before ? now : before;
}

bool memory_watch_look(struct memory_watch *m)
{
    if (!m->fresh)
        return false;
    number_pools(m);
    if (memory_bounds(m->worker, m->n, m->measured) < 0)
        return false;
    m->fresh = false;
    for (int i = 0; i < m->n; i++) {
        int64_t most = without_failure(m, i);

        m->most[i] = most < m->watched[i].failed ? most : m->watched[i].failed;
    }
    return true;
}

int64_t memory_watch_line(struct memory_watch *m, int rank)
{
    (void)memory_watch_look(m);
    return rank < m->n && memory_is_line(&m->worker[rank].learnt) ? m->measured[rank] : INT64_MAX;
}

int64_t memory_watch_fitted(const struct memory_watch *m, int rank)
{
    return rank < m->n ? m->watched[rank].fitted : 0;
}

/* Record in *ret the line of worker i's peaks, if they are a device's and suffice for a line. */
static void learn_line(const struct memory_watch *m, int i, const struct node_profile *node,
                       const struct plan_worker *w, struct past_memory *ret)
{
    struct planner_line row = { .key = "" };
    struct memory_line line;

    if (!m->watched[i].on_device || !memory_line_of(&m->worker[i].learnt, &line))
        return;
    for (int d = 0; d < node->n_devices; d++)
        if (strcmp(node->device[d].id, w->device_id) == 0)
            planner_card_key(node, &node->device[d], row.key);
    row.fixed_bytes = line.fixed_bytes;
    row.sample_bytes = line.sample_bytes;
    past_memory_line(ret, &row);
}

void memory_watch_learnt(const struct memory_watch *m, const struct plan *p,
                         const struct node_profile *const *node, struct past_memory *ret)
{
    for (int i = 0; i < m->n; i++) {
        const struct plan_worker *w = &p->worker[i];
        struct planner_bound row = { .samples = m->most[i], .measured = true };
        bool failed = m->watched[i].failed < INT64_MAX;

        learn_line(m, i, node[w->node], w, ret);
        if (!failed && (!memory_is_line(&m->worker[i].learnt) ||
                        (m->most[i] >= p->global_batch && ret->list.n == 0)))
            continue;
        planner_key(p->node[w->node], node[w->node], w, row.key);
        if (failed)
            past_memory_renew(ret, row.key, m->watched[i].fitted);
        else
            past_memory_measured(ret, &row, row.samples < p->global_batch);
    }
}
