/* SPDX-License-Identifier: Apache-2.0 */
/* memory_retry.c - choose the workers that must hold fewer samples, by what the killed workers held
 */
#include "memory_retry.h"

#include <inttypes.h>

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

/* Record in the history k, and print, that a rank may hold half the samples it held. now: the limit
 * holds from the next generation on, else from the next job on.
 */
static void halve(struct history *k, int rank, const struct plan *p, const int *agent, bool now)
{
    struct job_run *run = k->run;
    int64_t at_once = run->state.rank[rank].at_once;
    int node = p->worker[rank].node;
    struct planner_bound row = { .samples = at_once / 2 };
    struct eddis_error err = { 0 };

    planner_key(p->node[node], &run->agent[agent[node]].profile, &p->worker[rank], row.key);
    job_run_sayf(run, JOB_EVENT_SAY, -1, rank,
                 "rank %d ran out of memory with %" PRId64
                 " samples at once; it %s at most %" PRId64 " %s",
                 rank, at_once, k->memory.takes_pieces ? "holds" : "gets", row.samples,
                 now ? "from now on" : "in the next job");
    if (past_memory_set(&k->memory, &row, &err) < 0)
        job_run_say(run, JOB_EVENT_NOTE, -1, -1, err.text);
}

bool memory_retry(struct history *k, const struct state_failure *f, const struct plan *p,
                  const int *agent)
{
    const struct state *s = &k->run->state;
    bool any = false;

    if (!p || f->cause != CAUSE_OOM || f->rank < 0)
        return false;
    for (int r = 0; r < s->n_ranks && r < p->n_workers; r++)
        if (held_too_much(s, r)) {
            halve(k, r, p, agent, f == &s->before);
            any = true;
        }
    if (any)
        history_keep_memory(k);
    return any;
}
