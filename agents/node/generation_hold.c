/* SPDX-License-Identifier: Apache-2.0 */
/* generation_hold.c - pauses the processes of a generation's ranks, and lets them continue */
#include "generation.h"

#include "lib/base/cleanup.h"
#include "lib/base/proctree.h"

#include <signal.h>
#include <stdlib.h>

/* Send sig to all descendants of a worker's wrapper, except ending processes and, for SIGSTOP,
 * processes that are stopped already.  Return the number of processes that were signalled.
 */
static int send_below(const struct worker *w, int sig)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = w->wrapper > 0 ? proctree_list(w->wrapper, &all, NULL) : 0, sent = 0;

    for (int i = 0; i < n; i++)
        if (!all[i].ending && !(sig == SIGSTOP && all[i].state == 'T') &&
            proctree_send(&all[i], sig) == 0)
            sent++;
    return sent;
}

void generation_hold(struct generation *g)
{
    enum { PASSES = 3 }; /* a process that is not stopped yet may start another */

    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < PASSES && send_below(&g->worker[i], SIGSTOP) > 0; k++)
            ;
}

void generation_go_on(struct generation *g, int64_t now_ns)
{
    for (int i = 0; i < g->n; i++) {
        struct worker *w = &g->worker[i];

        /* Signal all processes: a SIGSTOP may still be pending for a process that does not look
         * stopped, such as a parent in vfork until its child runs its program.
         */
        (void)send_below(w, SIGCONT);
        w->held_ns = now_ns;
        quiet_watch_heard(&w->quiet, now_ns);
    }
}

int64_t generation_age_ns(const struct worker *w, int64_t now_ns, int64_t from_ns)
{
    if (from_ns < w->held_ns)
        from_ns = w->held_ns;
    return now_ns > from_ns ? now_ns - from_ns : 0;
}
