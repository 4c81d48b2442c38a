/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates come from scheduler/networks.h, which knows the addresses of all nodes; the first is
 * taken, the next one when the state machine finds that it does not work.
 */
#include "driver_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The usable nodes as the scheduler sees them, with memory of their own for the addresses. */
struct view {
    struct network_node *node; /* [n] */
    int *agent;                /* [n] */
    struct network_address *address;
    int n;
};

static void view_fini(struct view *v)
{
    free(v->node);
    free(v->agent);
    free(v->address);
}

/* The address that the user has given for this node; NULL: any will do. */
static const char *given(const struct driver *d, int agent)
{
    const struct job *job = d->o->job;
    const char *s = job->n_hosts ? job->host[agent].address : NULL;

    return s && strcmp(s, "auto") != 0 ? s : NULL;
}

/* Append what may be used of a node's addresses; returns how many. */
static int add_addresses(const struct driver *d, int agent, struct network_address *ret)
{
    const struct driver_agent *a = &d->agent[agent];
    const char *only = given(d, agent);
    int n = 0;

    for (int i = 0; i < a->n_known; i++) {
        const struct node_address *k = &a->known[i];

        if (!only || strcmp(only, k->address) == 0)
            ret[n++] = (struct network_address){ .interface = k->interface,
                                                 .address = k->address,
                                                 .prefix = k->prefix,
                                                 .speed_mbit = k->speed_mbit,
                                                 .is_virtual = k->is_virtual };
    }
    return n;
}

static int view_init(const struct driver *d, struct view *v, struct eddis_error *err)
{
    size_t all = 1;
    struct network_address *at;

    for (int i = 0; i < d->n_agents; i++)
        all += (size_t)d->agent[i].n_known;
    v->node = calloc((size_t)d->n_agents, sizeof *v->node);
    v->agent = calloc((size_t)d->n_agents, sizeof *v->agent);
    v->address = at = calloc(all, sizeof *v->address);
    if (!v->node || !v->agent || !v->address)
        return eddis_fail(err, -ENOMEM, "no memory for the nodes' networks");
    for (int i = 0; i < d->n_agents; i++) {
        int n;

        if (!state_is_usable(&d->state, i))
            continue;
        n = add_addresses(d, i, at);
        if (n == 0 && given(d, i))
            return eddis_fail(err, -EADDRNOTAVAIL, "%.200s has no address %.60s",
                              d->state.agent[i].host, given(d, i));
        v->agent[v->n] = i;
        v->node[v->n++] = (struct network_node){ .name = d->state.agent[i].host,
                                                 .address = at,
                                                 .n_addresses = n,
                                                 .came_from = d->agent[i].came_from };
        at += n;
    }
    return 0;
}

static int find(struct driver *d, const struct view *v, struct eddis_error *err)
{
    int rc;

    networks_fini(&d->networks);
    d->next_network = 0;
    rc = networks_find(v->node, v->n, d->o->job->communication.interface, &d->networks, err);
    for (int i = 0; rc == 0 && i < d->networks.n_dropped; i++)
        driver_say(d, "network", -1, -1, d->networks.dropped[i]);
    return rc;
}

/* From now on the nodes use this one. */
static void choose(struct driver *d, const struct view *v, const struct network_candidate *w)
{
    char text[128];

    (void)snprintf(d->network, sizeof d->network, "%s", w->subnet);
    for (int i = 0; i < v->n; i++)
        (void)snprintf(d->agent[v->agent[i]].address, sizeof d->agent->address, "%s",
                       w->address[i]);
    (void)snprintf(text, sizeof text, "%s, on %.60s %s", w->subnet, v->node[0].name,
                   w->interface[0]);
    driver_say(d, "network", -1, -1, text);
}

void driver_network(struct driver *d)
{
    struct view v = { 0 };
    struct eddis_error err = { 0 };
    int rc = view_init(d, &v, &err);

    if (rc == 0 && (d->networks.n == 0 || d->next_network >= d->networks.n))
        rc = find(d, &v, &err);
    if (rc == 0) {
        choose(d, &v, &d->networks.network[d->next_network++]);
        state_network_known(&d->state, false, clock_now_ns());
    } else {
        state_fail(&d->state, "start", 3, err.text, clock_now_ns());
    }
    view_fini(&v);
}

void driver_forget_network(struct driver *d)
{
    networks_fini(&d->networks);
    d->next_network = 0;
    d->network[0] = '\0';
}
