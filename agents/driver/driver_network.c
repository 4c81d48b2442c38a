/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates come from scheduler/networks.h, which knows the addresses of all nodes.  One that an
 * earlier job has measured is taken as it is; else they are probed, best first, until one works.
 */
#include "driver_impl.h"

#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

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
    const struct job *job = d->run.o->job;
    const char *s = job->n_hosts ? job->host[agent].address : NULL;

    return s && strcmp(s, "auto") != 0 ? s : NULL;
}

/* Append what may be used of a node's addresses; returns how many. */
static int add_addresses(const struct driver *d, int agent, struct network_address *ret)
{
    const struct run_agent *a = &d->run.agent[agent];
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
    size_t all = 1, most = d->run.n_agents > 0 ? (size_t)d->run.n_agents : 1;
    struct network_address *at;

    for (int i = 0; i < d->run.n_agents; i++)
        all += (size_t)d->run.agent[i].n_known;
    v->node = calloc(most, sizeof *v->node);
    v->agent = calloc(most, sizeof *v->agent);
    v->address = at = calloc(all, sizeof *v->address);
    if (!v->node || !v->agent || !v->address)
        return eddis_fail(err, -ENOMEM, "no memory for the nodes' networks");
    for (int i = 0; i < d->run.n_agents; i++) {
        int n;

        if (!state_is_usable(&d->run.state, i))
            continue;
        n = add_addresses(d, i, at);
        if (n == 0 && given(d, i))
            return eddis_fail(err, -EADDRNOTAVAIL, "%.200s has no address %.60s",
                              d->run.state.agent[i].host, given(d, i));
        v->agent[v->n] = i;
        v->node[v->n++] = (struct network_node){ .name = d->run.state.agent[i].host,
                                                 .address = at,
                                                 .n_addresses = n,
                                                 .came_from = d->run.agent[i].came_from };
        at += n;
    }
    return 0;
}

static int find(struct driver *d, const struct view *v, struct eddis_error *err)
{
    int rc;

    networks_fini(&d->networks);
    d->next_network = 0;
    rc = networks_find(v->node, v->n, d->run.o->job->communication.interface, &d->networks, err);
    for (int i = 0; rc == 0 && i < d->networks.n_dropped; i++)
        job_run_say(&d->run, JOB_EVENT_NETWORK, -1, -1, d->networks.dropped[i]);
    return rc;
}

/* ---- the choice ---- */

/* "10.1.0.0/24 c01=10.1.0.1 c02=10.1.0.2"; NULL without memory. */
static char *key_of(const struct view *v, const struct network_candidate *w)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, w->subnet);
    for (int i = 0; i < v->n; i++)
        strbuf_addf(&b, " %s=%s", v->node[i].name, w->address[i]);
    return strbuf_steal(&b);
}

/* From now on the nodes use this one. */
static void choose(struct driver *d, const struct view *v, const struct network_candidate *w)
{
    char text[128];

    free(d->network_key);
    d->network_key = key_of(v, w);
    (void)snprintf(d->network, sizeof d->network, "%s", w->subnet);
    for (int i = 0; i < v->n; i++)
        (void)snprintf(d->run.agent[v->agent[i]].address, sizeof d->run.agent->address, "%s",
                       w->address[i]);
    (void)snprintf(text, sizeof text, "%s, on %.60s %s", w->subnet, v->node[0].name,
                   w->interface[0]);
    job_run_say(&d->run, JOB_EVENT_NETWORK, -1, -1, text);
}

/* The candidate that an earlier job of the same nodes has measured, or NULL. */
static const struct network_candidate *find_cached(struct driver *d, const struct view *v)
{
    int64_t age_ns = d->run.o->job->profile.cache_ns;

    for (int k = 0; age_ns > 0 && k < d->networks.n; k++) {
        cleanup_free char *key = key_of(v, &d->networks.network[k]);

        if (key && job_cache_load("network", key, age_ns, &d->measured, NULL) == 0)
            return &d->networks.network[k];
    }
    return NULL;
}

/* The probe of the last one has failed. */
static void note_failed(struct driver *d)
{
    size_t n = strlen(d->network_why);

    (void)snprintf(d->network_why + n, sizeof d->network_why - n, "%s%s: %s", n ? "; " : "",
                   d->network, d->run.state.probe_trouble);
    job_run_say(&d->run, JOB_EVENT_NETWORK_FAILED, -1, -1, d->run.state.probe_trouble);
}

static int try_next(struct driver *d, const struct view *v, struct eddis_error *err)
{
    if (d->next_network > 0)
        note_failed(d);
    if (d->next_network == d->networks.n)
        return eddis_fail(err, -ENETUNREACH, "no network joins the nodes: %s", d->network_why);
    choose(d, v, &d->networks.network[d->next_network++]);
    return state_network_try(&d->run.state, clock_now_ns(), err);
}

void driver_network(struct driver *d)
{
    bool first = d->networks.n == 0;
    const struct network_candidate *known = NULL;
    struct view v = { 0 };
    struct eddis_error err = { 0 };
    int rc = view_init(d, &v, &err);

    if (rc == 0 && first)
        rc = find(d, &v, &err);
    if (rc == 0 && first)
        known = find_cached(d, &v);
    if (known) {
        choose(d, &v, known);
        state_network_known(&d->run.state, true, clock_now_ns());
    } else if (rc == 0) {
        rc = try_next(d, &v, &err);
    }
    if (rc < 0)
        state_fail(&d->run.state, "start", 3, err.text, clock_now_ns());
    view_fini(&v);
}

/* ---- what is remembered ---- */

void driver_keep_network(struct driver *d)
{
    struct eddis_error err = { 0 };

    if (d->network_key && d->measured && !d->run.state.network_cached &&
        job_cache_store("network", d->network_key, d->measured, &err) < 0)
        job_run_say(&d->run, JOB_EVENT_NOTE, -1, -1, err.text);
}

void driver_forget_network(struct driver *d)
{
    if (d->network_key)
        job_cache_drop("network", d->network_key);
    free(d->measured);
    d->measured = NULL;
}
