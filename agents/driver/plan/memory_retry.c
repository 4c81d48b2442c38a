/* SPDX-License-Identifier: Apache-2.0 */
/* memory_retry.c - choose the workers that must hold fewer samples, by what the killed workers held
 */
#include "memory_retry.h"

#include <errno.h>
#include <inttypes.h>

/* Largest part of the samples that a worker held without success, from which a line through its
 * peaks may choose: the line has missed the failure.
 */
#define LESS 0.8

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
 * its peaks; INT64_MAX: unknown.
 */
static int64_t fewer_than(int64_t n, int64_t line)
{
    int64_t less = (int64_t)((double)n * LESS);

    if (line == INT64_MAX || less < 1)
        return n / 2;
    return line < 1 ? 1 : line < less ? line : less;
}

/* Return the samples that a rank held at most, by the plan: a program may hold more than it was
 * asked to, and must be asked for less than that.
 */
static int64_t held(const struct state_rank *r, const struct plan_worker *w)
{
    return w->piece > 0 && w->piece < r->at_once ? w->piece : r->at_once;
}

/* Record in the history k, and print, that a rank may hold only most samples. now: the limit holds
 * from the next generation on, else from the next job on.
 */
static void limit(struct history *k, int rank, int64_t most, const struct plan *p, const int *agent,
                  bool now)
{
    struct job_run *run = k->run;
    int node = p->worker[rank].node;
    struct planner_bound row = { .samples = most };
    struct eddis_error err = { 0 };

    planner_key(p->node[node], &run->agent[agent[node]].profile, &p->worker[rank], row.key);
    job_run_sayf(run, JOB_EVENT_SAY, -1, rank,
                 "rank %d ran out of memory with %" PRId64
                 " samples at once; it %s at most %" PRId64 " %s",
                 rank, run->state.rank[rank].at_once, k->memory.takes_pieces ? "holds" : "gets",
                 most, now ? "from now on" : "in the next job");
    if (past_memory_set(&k->memory, &row, &err) < 0)
        job_run_say(run, JOB_EVENT_NOTE, -1, -1, err.text);
}

int memory_retry(struct history *k, const struct state_failure *f, const struct plan *p,
                 const int *agent, struct memory_watch *watch, struct eddis_error *err)
{
    const struct state *s = &k->run->state;
    int n = 0, stuck = -1;

    if (!p || f->cause != CAUSE_OOM || f->rank < 0)
        return 0;
    for (int r = 0; r < s->n_ranks && r < p->n_workers; r++) {
        int64_t most = held(&s->rank[r], &p->worker[r]);

        if (!held_too_much(s, r))
            continue;
        if (most <= 1) {
            stuck = r;
            continue;
        }
        limit(k, r, fewer_than(most, memory_watch_line(watch, r)), p, agent, f == &s->before);
        n++;
    }
    if (n)
        history_keep_memory(k);
    if (n == 0 && stuck >= 0)
        return eddis_fail(err, -ENOMEM,
                          "rank %d ran out of memory with %" PRId64
                          " samples at once, although the plan gives it one",
                          stuck, s->rank[stuck].at_once);
    return n;
}

void memory_retry_none(const struct history *k, const struct state_failure *f, const struct plan *p,
                       const int *agent, const struct memory_watch *watch)
{
    const struct plan_worker *w;
    const struct node_profile *node;
    int64_t bytes;

    if (!p || f->cause != CAUSE_OOM || f->signal || f->at_once != 1 || f->rank < 0 ||
        f->rank >= p->n_workers)
        return;
    w = &p->worker[f->rank];
    node = &k->run->agent[agent[w->node]].profile;
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
