/* SPDX-License-Identifier: Apache-2.0 */
/* sim_links.c - counts the transfers that share a link */
#include "sim_links.h"

#include "lib/model/read_ahead.h"

#include <math.h>

struct sim_crowd sim_links_crowd(const struct sim_links *l, int self, double at_s)
{
    const double stripe = l->n_nodes > 1 ? 1.0 / (l->n_nodes - 1) : 0;
    struct sim_crowd c = { 0 };

    for (int i = 0; l->n_nodes > 1 && i < l->n; i++) {
        const struct sim_exchange *x = &l->exchange[i];
        bool here = x->node == l->exchange[self].node;

        if (i == self)
            continue;
        if ((at_s >= x->read_from_s && at_s < x->read_s) || (x->read_waits && at_s >= x->written_s))
            *(here ? &c.receiving : &c.sending) += here ? 1 : stripe;
        if (at_s >= x->sent_from_s && at_s < x->sent_s)
            *(here ? &c.sending : &c.receiving) += here ? 1 : stripe;
    }
    return c;
}

/* Read the center for party `self` from this time on, or, if the read waits for the party's last
 * increment, from when that is in the center.
 */
static void read_center(struct sim_links *l, int self, const struct sim_exchange_times *t,
                        double at_s)
{
    struct sim_exchange *x = &l->exchange[self];

    x->read_from_s = x->read_waits ? x->written_s : fmax(at_s, x->written_s);
    x->read_s = x->read_from_s + t->latency_s +
                t->wire_s * (1 + sim_links_crowd(l, self, x->read_from_s).receiving);
    x->has_read = true;
    x->read_waits = false;
}

/* Check whether the read for the exchange that is due in `left` steps goes ahead now. */
static bool goes_ahead(const struct sim_exchange *x, const struct sim_exchange_times *t,
                       double left)
{
    double read_s = x->read_s - x->read_from_s;

    return t->link_s <= 0 && x->step_s > 0 && read_s >= READ_AHEAD_LEAST * x->step_s &&
           left - 1 <= READ_AHEAD_MARGIN * read_s / x->step_s;
}

void sim_links_ahead(struct sim_links *l, int self, const struct sim_exchange_times *t, double left,
                     double now_s)
{
    struct sim_exchange *x = &l->exchange[self];

    if (x->has_read || !(x->read_waits || goes_ahead(x, t, left)))
        return;
    if (x->written_s > now_s)
        x->read_waits = true;
    else
        read_center(l, self, t, now_s);
}

double sim_links_exchange(struct sim_links *l, int self, const struct sim_exchange_times *t,
                          double steps, double now_s)
{
    struct sim_exchange *x = &l->exchange[self];
    struct sim_crowd c;

    x->step_s = x->over_s > 0 ? (now_s - x->over_s) / steps : 0;
    if (!x->has_read)
        read_center(l, self, t, now_s);
    c = sim_links_crowd(l, self, fmax(now_s, x->read_from_s));
    x->has_read = false;
    x->hidden_s = fmax(fmin(now_s, x->read_s) - x->read_from_s, 0);
    x->sent_from_s = fmax(now_s, x->read_s);
    x->sent_s = x->sent_from_s + t->latency_s + t->wire_s * (1 + c.sending);
    x->written_s = x->sent_s + t->local_s;
    x->over_s =
        fmax(x->sent_from_s + t->local_s, t->link_s > 0 ? x->sent_s + t->link_s : 0) + t->memory_s;
    return x->over_s;
}
