/* SPDX-License-Identifier: Apache-2.0 */
/* leave_out.c - removes workers from a plan, and nodes without workers */
#include "leave_out.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void leave_out_others(struct plan *p, const bool *keep)
{
    int n = 0, node = -1, before = 0, skipped = 0;

    for (int i = 0; i < p->n_workers; i++) {
        struct plan_worker *w = &p->worker[n];

        if (p->worker[i].node != node)
            before = skipped = 0;
        node = p->worker[i].node;
        if (!keep[i]) {
            skipped++;
            continue;
        }
        *w = p->worker[i];
        w->rank = n++;
        w->local_rank = before++;
        w->skipped += skipped;
    }
    p->n_workers = n;
    p->emulated = p->relative = false;
    for (int i = 0; i < n; i++) {
        p->emulated |= p->worker[i].kind == DEVICE_EMULATED;
        p->relative |= p->worker[i].time == TIME_PROBE;
    }
}

int leave_out_marked(struct plan *p, const struct node_profile *nodes, struct eddis_error *err)
{
    cleanup_free bool *keep = calloc((size_t)p->n_workers + 1, sizeof *keep);
    int n = 0;

    if (!keep)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *w = &p->worker[i];

        keep[i] = !profile_leaves_out(&nodes[w->node], w->local_rank);
        n += keep[i];
    }
    if (n == 0)
        return eddis_fail(err, -EINVAL, "no worker is left");
    if (n < p->n_workers)
        leave_out_others(p, keep);
    return 0;
}

void leave_out_nodes(struct plan *p)
{
    int n = 0, last = -1;

    for (int i = 0; i < p->n_workers; i++) {
        struct plan_worker *w = &p->worker[i];

        if (w->node != last && w->node != n)
            memcpy(p->node[n], p->node[w->node], sizeof p->node[n]);
        n += w->node != last;
        last = w->node;
        w->node = n - 1;
    }
    p->n_nodes = n;
}
