/* SPDX-License-Identifier: Apache-2.0 */
/* network_choice.c - try candidate networks, best first, after those in the cache */
#include "network_choice.h"

#include "network_result.h"

#include "agents/driver/history/history.h"
#include "agents/driver/history/job_cache.h"

#include "lib/model/network_check_json.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/ip.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The usable nodes as input for the scheduler, with memory for their addresses. */
struct view {
    struct network_node *node; /* [n] */
    int *agent;                /* [n] */
    struct network_address *address;
    int n;
};

/* Free the lists of usable nodes and addresses. */
static void view_fini(struct view *v)
{
    free(v->node);
    free(v->agent);
    free(v->address);
}

/* Return the address that the user has set for this node; NULL: none.  Borrowed. */
static const char *given(const struct job_run *r, int agent)
{
    const struct job *job = r->o->job;
    const char *s = job->n_hosts ? job->host[agent].address : NULL;

    return s && strcmp(s, "auto") != 0 ? s : NULL;
}

/* Check whether an address is IPv6 and not link-local. */
static bool is_six(const struct node_address *k)
{
    struct ip a;

    return ip_parse(k->address, &a) && !ip_is_v4(&a) && !ip_is_link_local(&a);
}

/* Return why Open MPI on the node cannot use an address; NULL: it can.  If an interface has several
 * IPv6 addresses, Open MPI 4 announces one and connects from another.
 */
static const char *why_unfit(const struct run_agent *a, const struct node_address *k)
{
    int n = 0;

    if (!is_six(k))
        return NULL;
    if (a->mpi_v4_only)
        return "Open MPI there was built without IPv6; install one with IPv6, or use IPv4";
    for (int i = 0; i < a->n_known; i++)
        n += is_six(&a->known[i]) && strcmp(a->known[i].interface, k->interface) == 0;
    if (n > 1 && atoi(a->mpi_version) == 4)
        return "several IPv6 addresses, which Open MPI 4 confuses; keep only one, or use IPv4 or "
               "Open MPI 5";
    return NULL;
}

/* Write the node's addresses that the user allows to ret, borrowed, and return their number. */
static int add_addresses(const struct job_run *r, int agent, struct network_address *ret)
{
    const struct run_agent *a = &r->agent[agent];
    const char *only = given(r, agent);
    int n = 0;

    for (int i = 0; i < a->n_known; i++) {
        const struct node_address *k = &a->known[i];

        if (!only || ip_same(only, k->address))
            ret[n++] = (struct network_address){ .interface = k->interface,
                                                 .address = k->address,
                                                 .prefix = k->prefix,
                                                 .speed_mbit = k->speed_mbit,
                                                 .is_virtual = k->is_virtual,
                                                 .unfit = why_unfit(a, k) };
    }
    return n;
}

/* Collect the usable nodes and their addresses in *v.  Return 0, -EADDRNOTAVAIL if a node lacks the
 * address that the user has set, or -ENOMEM; view_fini is needed in each case.
 */
static int view_init(const struct job_run *r, struct view *v, struct eddis_error *err)
{
    size_t all = 1, most = r->n_agents > 0 ? (size_t)r->n_agents : 1;
    struct network_address *at;

    for (int i = 0; i < r->n_agents; i++)
        all += (size_t)r->agent[i].n_known;
    v->node = calloc(most, sizeof *v->node);
    v->agent = calloc(most, sizeof *v->agent);
    v->address = at = calloc(all, sizeof *v->address);
    if (!v->node || !v->agent || !v->address)
        return eddis_fail(err, -ENOMEM, "no memory for the nodes' networks");
    for (int i = 0; i < r->n_agents; i++) {
        int n;

        if (!state_is_usable(&r->state, i))
            continue;
        n = add_addresses(r, i, at);
        if (n == 0 && given(r, i))
            return eddis_fail(err, -EADDRNOTAVAIL, "%.200s has no address %.60s",
                              r->state.agent[i].host, given(r, i));
        v->agent[v->n] = i;
        v->node[v->n++] = (struct network_node){ .name = r->state.agent[i].host,
                                                 .address = at,
                                                 .n_addresses = n,
                                                 .came_from = r->agent[i].came_from };
        at += n;
    }
    return 0;
}

/* Find the candidate networks of the nodes, best first, in c->candidates, in place of earlier ones,
 * and report those that were rejected.  Return 0 or a negative error; -ENETUNREACH: there is no
 * candidate.
 */
static int find(struct network_choice *c, const struct view *v, struct eddis_error *err)
{
    int rc;

    networks_fini(&c->candidates);
    c->next = 0;
    rc = networks_find(v->node, v->n, c->run->o->job->communication.interface, &c->candidates, err);
    for (int i = 0; rc == 0 && i < (int)c->candidates.dropped.n; i++)
        job_run_say(c->run, JOB_EVENT_NETWORK, -1, -1, c->candidates.dropped.item[i]);
    return rc;
}

/* ---- the choice ---- */

/* Return the cache key of a network, for the caller to free: "10.1.0.0/24 c01=10.1.0.1
 * c02=10.1.0.2".  NULL: no memory.
 */
static char *key_of(const struct view *v, const struct network_candidate *w)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, w->subnet);
    for (int i = 0; i < v->n; i++)
        strbuf_addf(&b, " %s=%s", v->node[i].name, w->address[i]);
    return strbuf_steal(&b);
}

/* Set the addresses of all nodes in this candidate network, and report it as the network in use. */
static void choose(struct network_choice *c, const struct view *v,
                   const struct network_candidate *w)
{
    free(c->key);
    c->key = key_of(v, w);
    (void)snprintf(c->used.subnet, sizeof c->used.subnet, "%s", w->subnet);
    for (int i = 0; i < v->n; i++)
        (void)snprintf(c->run->agent[v->agent[i]].address, sizeof c->run->agent->address, "%s",
                       w->address[i]);
    job_run_sayf(c->run, JOB_EVENT_NETWORK, -1, -1, "%s, on %.60s %s", w->subnet, v->node[0].name,
                 w->interface[0]);
}

/* Return the candidate that an earlier job of the same nodes measured, with its measurement in
 * c->used.measured; NULL: none.
 */
static const struct network_candidate *find_cached(struct network_choice *c, const struct view *v)
{
    int64_t age_ns = c->run->o->job->profile.cache_ns;

    for (int k = 0; age_ns > 0 && k < c->candidates.n; k++) {
        cleanup_free char *key = key_of(v, &c->candidates.network[k]);

        if (key && job_cache_load(c->run->reader, &(struct job_cache_entry){ "network", key },
                                  age_ns, &c->used.measured) == 0)
            return &c->candidates.network[k];
    }
    return NULL;
}

/* Report why the probe of the last candidate failed, and append that to c->why. */
static void note_failed(struct network_choice *c)
{
    size_t n = strlen(c->why);

    (void)snprintf(c->why + n, sizeof c->why - n, "%s%s: %s", n ? "; " : "", c->used.subnet,
                   c->run->state.probe_trouble);
    job_run_say(c->run, JOB_EVENT_NETWORK_FAILED, -1, -1, c->run->state.probe_trouble);
}

/* Start the probe of the next candidate, after a report why the previous one failed.  Return 0 or a
 * negative error, -ENETUNREACH if no candidate is left.
 */
static int try_next(struct network_choice *c, const struct view *v, struct eddis_error *err)
{
    if (c->next > 0)
        note_failed(c);
    if (c->next == c->candidates.n)
        return eddis_fail(err, -ENETUNREACH, "no network connects the nodes: %s", c->why);
    choose(c, v, &c->candidates.network[c->next++]);
    c->heard.left = 0; /* discard what is left of the last probe's results */
    return state_network_try(&c->run->state, clock_now_ns(), err);
}

/* Choose a network from the cache, or probe the next candidate, and tell the state machine.  A
 * failure ends the job.
 */
static void choose_next(struct network_choice *c)
{
    bool first = c->candidates.n == 0;
    const struct network_candidate *known = NULL;
    struct view v = { 0 };
    struct eddis_error err = { 0 };
    int rc = view_init(c->run, &v, &err);

    if (rc == 0 && first)
        rc = find(c, &v, &err);
    if (rc == 0 && first)
        known = find_cached(c, &v);
    if (known) {
        choose(c, &v, known);
        network_result_describe(&c->used);
        state_network_known(&c->run->state, true, clock_now_ns());
    } else if (rc == 0) {
        rc = try_next(c, &v, &err);
    }
    if (rc < 0)
        state_fail(&c->run->state, "start", 3, err.text, clock_now_ns());
    view_fini(&v);
}

/* ---- the cache ---- */

/* Store the measurement of the network in use for the next job, unless it came from the cache or
 * the network has changed.
 */
static void keep(struct network_choice *c)
{
    struct eddis_error err = { 0 };

    if (c->key && c->used.measured && c->run->state.network != STATE_NETWORK_CACHED &&
        !c->run->wire.bytes_per_s &&
        job_cache_store(c->run->reader, &(struct job_cache_entry){ "network", c->key },
                        c->used.measured, &err) < 0)
        job_run_say(c->run, JOB_EVENT_NOTE, -1, -1, err.text);
}

/* Delete the measurement of the network in use, also from the cache, and everything derived from
 * it.
 */
static void forget(struct network_choice *c)
{
    if (c->key)
        job_cache_drop(c->run->reader, &(struct job_cache_entry){ "network", c->key });
    free(c->used.measured);
    c->used.measured = NULL;
    c->used.check = (struct network_check){ 0 };
    c->run->wire = (struct run_wire){ 0 };
    c->dropped = false;
    network_result_describe(&c->used);
}

/* Record the ranks' revalidation of a cached network measurement in c->used, and return HEARD.
 * Return HEARD_TAKEN, with nothing recorded, for a result that is not wanted or cannot be read.
 */
static enum heard take_check(struct network_choice *c, const struct event *e)
{
    const struct state *s = &c->run->state;
    struct eddis_error err = { 0 };
    struct network_check found;

    if (e->generation != s->generation || s->network != STATE_NETWORK_CACHED || c->used.check.known)
        return HEARD_TAKEN;
    if (network_check_parse(e->text, strlen(e->text), &found, &err) < 0) {
        job_run_say(c->run, JOB_EVENT_NOTE, -1, -1, err.text);
        return HEARD_TAKEN;
    }
    c->used.check = found;
    if (found.known && !found.holds)
        history_correct(c->run, (struct run_wire){ .bytes_per_s = found.wire_bytes_per_s });
    return HEARD;
}

/* Record a part of the probe's results.  Return true once they are complete and the network works;
 * false: parts are missing, or the probe has failed, which the state machine learns here.
 */
static bool take_measured(struct network_choice *c, const struct event *e)
{
    struct eddis_error err = { 0 };
    int rc;

    if (e->generation != 0 || c->run->state.generation != 0)
        return false;
    rc = parts_take(&c->heard, e->text, e->more_bytes, &err);
    if (rc < 0)
        state_network_failed(&c->run->state, err.text, clock_now_ns());
    return rc == 1 && network_result_take(c->run, strbuf_text(&c->heard.text), &c->used);
}

/* ---- entry points ---- */

/* Handle results of the probe (generation 0) or a revalidation by the ranks.  Return HEARD for
 * complete and usable results, HEARD_TAKEN for others, which other modules do not get
 * (subject_ops.on_event).
 */
static enum heard on_event(void *self, int agent, struct event *e, int64_t now_ns)
{
    struct network_choice *c = self;

    (void)agent;
    (void)now_ns;
    if (e->generation > 0)
        return take_check(c, e);
    return take_measured(c, e) ? HEARD : HEARD_TAKEN;
}

/* Choose a network, forget it, or store its measurement, as an action requires.  Return false: the
 * other modules of the route get the action too (subject_ops.on_action).
 */
static bool on_action(void *self, const struct action *a)
{
    struct network_choice *c = self;

    if (a->type == ACTION_NETWORK) {
        choose_next(c);
    } else if (a->type == ACTION_FORGET) {
        forget(c);
    } else {
        keep(c);
    }
    return false;
}

/* Delete the cache entry of a network that has changed, so that the next job measures again
 * (subject_ops.tick).
 */
static void tick(void *self, int64_t now_ns)
{
    struct network_choice *c = self;

    (void)now_ns;
    if (!c->run->wire.bytes_per_s || c->dropped || !c->key)
        return;
    job_cache_drop(c->run->reader, &(struct job_cache_entry){ "network", c->key });
    c->dropped = true;
}

const struct subject_ops network_choice_ops = { .on_event = on_event,
                                                .on_action = on_action,
                                                .tick = tick };

void network_choice_fini(struct network_choice *c)
{
    networks_fini(&c->candidates);
    parts_fini(&c->heard);
    free(c->key);
    free(c->used.measured);
}
