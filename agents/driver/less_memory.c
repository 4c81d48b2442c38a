/* SPDX-License-Identifier: Apache-2.0 */
/* less_memory.c - picks the worker to ask for less, by what the kernel's victims held */
#include "less_memory.h"

#include <inttypes.h>
#include <stdio.h>

/* The kernel may have killed several until it had enough: who held most. */
static int who_held_most(const struct state *s, const struct state_failure *f)
{
    int most = -1;

    if (f->cause != CAUSE_OOM || f->rank < 0)
        return -1;
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].oom && s->rank[r].at_once > 1 &&
            (most < 0 || s->rank[r].peak_bytes > s->rank[most].peak_bytes))
            most = r;
    return most;
}

bool less_memory(struct known *k, const struct state_failure *f, const struct plan *p,
                 const int *agent)
{
    struct job_run *run = k->run;
    int rank = who_held_most(&run->state, f), node;
    struct planner_bound row = { .samples = 0 };
    struct eddis_error err = { 0 };
    int64_t at_once;
    char text[200];

    if (!p || rank < 0 || rank >= p->n_workers)
        return false;
    at_once = run->state.rank[rank].at_once;
    row.samples = at_once / 2;
    node = p->worker[rank].node;
    planner_key(p->node[node], &run->agent[agent[node]].profile, &p->worker[rank], row.key);
    (void)snprintf(text, sizeof text,
                   "rank %d had no memory for %" PRId64 " samples at once: it %s at most %" PRId64
                   " %s",
                   rank, at_once, k->memory.takes_pieces ? "holds" : "gets", row.samples,
                   f == &run->state.before ? "from now on" : "in the next job");
    job_run_say(run, JOB_EVENT_SAY, -1, rank, text);
    if (learned_memory_set(&k->memory, &row, &err) < 0)
        job_run_say(run, JOB_EVENT_NOTE, -1, -1, err.text);
    known_keep_memory(k);
    return true;
}
