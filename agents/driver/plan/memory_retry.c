/* SPDX-License-Identifier: Apache-2.0 */
/* memory_retry.c - choose the workers that must hold fewer samples, by what the killed workers held
 */
#include "memory_retry.h"

#include "scheduler/limits.h"

#include <errno.h>
#include <inttypes.h>

/* Largest part of the samples that a worker held without success, from which a line through its
 * peaks may choose: the line has missed the failure.
 */
#define LESS 0.8

/* Most restarts of a job with fewer samples: RETRIES, and RETRIES_EACH for each worker up to
 * RETRIES_WORKERS. Halving a batch of 256 to one sample takes 8, and the limits of several workers
 * that are raised again between what fits and what fails take a few more.
 */
enum { RETRIES = 16, RETRIES_EACH = 8, RETRIES_WORKERS = 8 };

/* Check whether a rank ran out of memory and held more than one sample at once. */
static bool lacked(const struct state_rank *r)
{
    return r->oom && r->at_once > 1;
}

/* Check whether a rank must hold fewer samples: it ran out of memory with more than one.  A rank
 * that exited with EDDIS_EXIT_MEMORY reports about itself.  If the kernel killed several ranks of a
 * node before it had enough memory, only the rank that held the most must hold fewer.
 */
static bool held_too_much(const struct state *s, int rank)
{
    const struct state_rank *r = &s->rank[rank];

    if (!lacked(r) || !r->signal)
        return lacked(r);
    for (int i = 0; i < s->n_ranks; i++) {
        const struct state_rank *x = &s->rank[i];
        int64_t more = x->peak_bytes - r->peak_bytes;

        if (lacked(x) && x->signal && x->agent == r->agent && (more > 0 || (more == 0 && i < rank)))
            return false;
    }
    return true;
}

/* Return the limit of a worker that lacked memory for n samples, n > 1. line: the most samples by
 * its peaks; INT64_MAX: unknown. fitted: the most samples of its finished steps; 0: unknown.
 */
static int64_t fewer_than(int64_t n, int64_t line, int64_t fitted)
{
    int64_t less = (int64_t)((double)n * LESS);

    if (line == INT64_MAX || less < 1)
        return fitted < n && fitted > n / 2 ? fitted : n / 2;
    return line < 1 ? 1 : line < less ? line : less;
}

/* Return the samples that a rank held at most, by the plan: a program may hold more than it was
 * asked to, and must be asked for less than that.
 */
static int64_t held(const struct state_rank *r, const struct plan_worker *w)
{
    return w->piece > 0 && w->piece < r->at_once ? w->piece : r->at_once;
}

/* Borrow the memory limit of a rank from the history, until a limit is set; NULL: none. */
static const struct planner_bound *limit_of(const struct history *k, int rank, const struct plan *p,
                                            const struct node_profile *node)
{
    const struct plan_worker *w = &p->worker[rank];
    char key[PLANNER_KEY];

    planner_key(p->node[w->node], &node[w->node], w, key);
    return past_memory_find(&k->memory, key);
}

/* Return the most samples that a rank held in a finished step, of this job or an earlier one; 0:
 * unknown.
 */
static int64_t fitted(const struct history *k, int rank, const struct plan *p,
                      const struct node_profile *node, const struct memory_watch *watch)
{
    const struct planner_bound *row = limit_of(k, rank, p, node);
    int64_t here = memory_watch_fitted(watch, rank);

    return row && row->fitted > here ? row->fitted : here;
}

/* Record in the history k, and print, that a rank may hold only row->samples; set row->key. now:
 * the limit holds from the next generation on, else from the next job on.
 */
static void limit(struct history *k, int rank, struct planner_bound *row, const struct plan *p,
                  const struct node_profile *node, bool now)
{
    struct job_run *run = k->run;
    int at = p->worker[rank].node;
    struct eddis_error err = { 0 };

    planner_key(p->node[at], &node[at], &p->worker[rank], row->key);
    job_run_sayf(run, JOB_EVENT_SAY, -1, rank,
                 "rank %d ran out of memory with %" PRId64
                 " samples at once; it %s at most %" PRId64 " %s",
                 rank, run->state.rank[rank].at_once, k->memory.takes_pieces ? "holds" : "gets",
                 row->samples, now ? "from now on" : "in the next job");
    if (past_memory_set(&k->memory, row, &err) < 0)
        job_run_say(run, JOB_EVENT_NOTE, -1, -1, err.text);
}

/* Check that the plan kept to the limit that an earlier failure of this job has set for a rank, or
 * raised it to fewer samples than failed.  The rank lacked memory for n samples now.  Return 0, or
 * -ENOMEM: the plan did not, so another limit would change nothing.
 */
static int check_kept(const struct history *k, int rank, int64_t n, const struct plan *p,
                      const struct node_profile *node, struct eddis_error *err)
{
    const struct planner_bound *row = limit_of(k, rank, p, node);

    if (!k->limited || !row || row->measured || n <= row->samples || n < row->failed)
        return 0;
    return eddis_fail(err, -ENOMEM,
                      "rank %d ran out of memory again with %" PRId64
                      " samples at once, although its limit is %" PRId64
                      "; set batch.max of node %s to less",
                      rank, n, row->samples, p->node[p->worker[rank].node]);
}

/* Return the most restarts with fewer samples of a job of n workers. */
static int most_retries(int n_workers)
{
    return RETRIES + RETRIES_EACH * (n_workers < RETRIES_WORKERS ? n_workers : RETRIES_WORKERS);
}

/* Count a restart with fewer samples.  Return 0, or -ENOMEM: the job has had too many.  Each one
 * has another plan, but a program whose memory grows without end would fail under all of them.
 */
static int count_retry(struct history *k, int n_workers, struct eddis_error *err)
{
    if (k->retries >= most_retries(n_workers))
        return eddis_fail(err, -ENOMEM,
                          "workers ran out of memory in %d plans of this job, each with fewer "
                          "samples; lower batch.global, or set batch.max to what fits",
                          k->retries);
    k->retries++;
    return 0;
}

int memory_retry(struct history *k, const struct state_failure *f, const struct plan *p,
                 const struct node_profile *node, struct memory_watch *watch,
                 struct eddis_error *err)
{
    const struct state *s = &k->run->state;
    bool starts = p && f == &s->before && k->retries < most_retries(p->n_workers);
    int n = 0, stuck = -1, rc;

    if (!p || f->cause != CAUSE_OOM || f->rank < 0)
        return 0;
    for (int r = 0; r < s->n_ranks && r < p->n_workers; r++) {
        int64_t most = held(&s->rank[r], &p->worker[r]);
        struct planner_bound row = { .failed = most };

        if (!held_too_much(s, r))
            continue;
        if (most <= 1) {
            stuck = r;
            continue;
        }
        if (f == &s->before && (rc = check_kept(k, r, most, p, node, err)) < 0)
            return rc;
        row.fitted = fitted(k, r, p, node, watch);
        row.samples = fewer_than(most, memory_watch_line(watch, r), row.fitted);
        limit(k, r, &row, p, node, starts);
        n++;
    }
    k->limited |= n > 0;
    if (n)
        history_keep_memory(k);
    if (n && f == &s->before && (rc = count_retry(k, p->n_workers, err)) < 0)
        return rc;
    if (n == 0 && stuck >= 0)
        return eddis_fail(err, -ENOMEM,
                          "rank %d ran out of memory with %" PRId64
                          " samples at once, although the plan gives it one",
                          stuck, s->rank[stuck].at_once);
    return n;
}

void memory_retry_raised(const struct history *k, const struct plan *p,
                         const struct node_profile *node)
{
    int64_t sum = 0;
    int n = 0;

    for (int r = 0; r < p->n_workers; r++) {
        const struct planner_bound *row = limit_of(k, r, p, node);
        bool raised = row && !row->measured && p->worker[r].piece > row->samples;
        int64_t most = raised ? row->samples : limits_most(p, r);

        sum = most < p->global_batch - sum ? sum + most : p->global_batch;
        n += raised;
    }
    if (n > 0)
        job_run_sayf(k->run, JOB_EVENT_SAY, -1, -1,
                     "the workers' memory limits hold %" PRId64 " of %" PRId64
                     " samples, so the limit%s of %d worker%s %s raised, to fewer samples than "
                     "failed before",
                     sum, p->global_batch, n == 1 ? "" : "s", n, n == 1 ? "" : "s",
                     n == 1 ? "is" : "are");
}

void memory_retry_none(const struct history *k, const struct state_failure *f, const struct plan *p,
                       const struct node_profile *node, const struct memory_watch *watch)
{
    const struct plan_worker *w;
    int64_t bytes;

    if (!p || f->cause != CAUSE_OOM || f->signal || f->at_once != 1 || f->rank < 0 ||
        f->rank >= p->n_workers)
        return;
    w = &p->worker[f->rank];
    node += w->node;
    bytes = watch->watched ? watch->watched[f->rank].device_bytes : 0;
    if (bytes > 0)
        job_run_sayf(k->run, JOB_EVENT_SAY, -1, f->rank,
                     "rank %d has the %s of node %s, whose memory of %" PRId64
                     " bytes is too small for one sample of this program",
                     f->rank, w->device, p->node[w->node], bytes);
    else
        job_run_sayf(k->run, JOB_EVENT_SAY, -1, f->rank,
                     "rank %d is on node %s, whose memory of %" PRId64
                     " bytes is too small for one sample of this program",
                     f->rank, p->node[w->node],
                     node->memory_limit > 0 ? node->memory_limit : node->memory_bytes);
}
