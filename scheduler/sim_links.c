/* SPDX-License-Identifier: Apache-2.0 */
/* sim_links.c - counts the transfers that share a link */
#include "sim_links.h"

#include <math.h>
#include <stdbool.h>

struct sim_crowd sim_links_crowd(const struct sim_links *l, int self, double at_s)
{
    const double stripe = l->n_nodes > 1 ? 1.0 / (l->n_nodes - 1) : 0;
    struct sim_crowd c = { 0 };

    for (int i = 0; l->n_nodes > 1 && i < l->n; i++) {
        const struct sim_exchange *x = &l->exchange[i];
        bool here = x->node == l->exchange[self].node;

        if (i == self || at_s >= x->sent_s)
            continue;
        if ((at_s < x->read_s) == here)
            c.receiving += here ? 1 : stripe;
        else
            c.sending += here ? 1 : stripe;
    }
    return c;
}

double sim_links_exchange(struct sim_links *l, int self, const struct sim_exchange_times *t,
                          double now_s)
{
    struct sim_exchange *x = &l->exchange[self];
    double begin_s = fmax(now_s, x->written_s);
    struct sim_crowd c = sim_links_crowd(l, self, begin_s);

    x->read_s = begin_s + t->wire_s * (1 + c.receiving) + t->latency_s;
    x->sent_s = x->read_s + t->wire_s * (1 + c.sending) + t->latency_s;
    x->written_s = x->sent_s + t->local_s;
    return fmax(x->read_s + t->local_s, t->link_s > 0 ? x->sent_s + t->link_s : 0) + t->memory_s;
}
