/* SPDX-License-Identifier: Apache-2.0 */
/* listeners.c - open the HTTP servers for agents and people, and count rejected peers */
#include "listeners.h"

#include "agents/protocol/timing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* For the limits of connections: an agent has PER_AGENT, and connections that it has given up may
 * still be open.
 */
enum { PER_AGENT = 2, SPARE_CONNECTIONS = 256, PEOPLE_CONNECTIONS = 256 };

/* Open a server for agents on each address, and write its URL to d->url.  Return 0 if any was
 * opened; a negative error if none was, or for another reason than a missing address.
 */
static int open_agents(struct listeners *d, const struct listeners_options *o,
                       const struct http_key *key, struct eddis_error *err)
{
    struct http_server_options so = {
        .key = key,
        .tokens = d->agent_tokens,
        .handle = request_queue_handle_agent,
        .ctx = o->request_queue,
        .unauthenticated = o->strangers,
        .max_connections = 2 * PER_AGENT * o->n_agents + SPARE_CONNECTIONS,
        .tcp = { .silence_ms = timing_tcp_silence_ms(o->lease_ns),
                 .probe_s = timing_tcp_probe_s(o->lease_ns),
                 .probes = TIMING_TCP_PROBES },
    };
    int rc = 0;

    if (o->n_addresses < 1)
        return eddis_fail(err, -EADDRNOTAVAIL,
                          "this machine has no address to listen on for agents");
    /* An address may no longer be this machine's, for example because another machine has it, too.
     */
    for (int i = 0; i < o->n_addresses && i < HTTP_MAX_BASES; i++) {
        int at = d->n_agent_listeners;

        so.address = o->address[i];
        rc = http_server_start(&so, &d->agents[at], err);
        if (rc == 0) {
            (void)snprintf(d->url[at], LISTENERS_URL,
                           strchr(so.address, ':') ? "https://[%s]:%d" : "https://%s:%d",
                           so.address, http_server_port(d->agents[at]));
            d->n_agent_listeners++;
        } else if (rc != -EADDRNOTAVAIL) {
            return rc;
        }
    }
    return d->n_agent_listeners ? 0 : rc;
}

/* Open the server for people on 127.0.0.1 and, if possible, the one on the Unix socket.  Return 0
 * or a negative error; without the socket people use the port.
 */
static int open_people(struct listeners *d, const struct listeners_options *o,
                       struct eddis_error *err)
{
    struct http_server_options so = {
        .address = "127.0.0.1",
        .tokens = d->person_tokens,
        .handle = request_queue_handle_person,
        .ctx = o->request_queue,
        .unauthenticated = o->strangers,
        .max_connections = PEOPLE_CONNECTIONS,
    };
    int rc = http_server_start(&so, &d->people, err);

    so.path = o->path;
    so.local_who = REQUEST_OWNER;
    if (rc == 0 && o->path && *o->path) /* without the socket people use the port */
        (void)http_server_start(&so, &d->local, NULL);
    if (rc == 0)
        (void)snprintf(d->people_url, LISTENERS_URL, "http://127.0.0.1:%d",
                       http_server_port(d->people));
    return rc;
}

int listeners_open(struct listeners *d, const struct listeners_options *o, struct eddis_error *err)
{
    struct http_key *key = NULL;
    int rc = http_key_new(&key, err);

    if (rc == 0) {
        (void)snprintf(d->pin, sizeof d->pin, "%s", http_key_pin(key));
        rc = http_tokens_new(o->n_agents + o->n_secrets, &d->agent_tokens, err);
    }
    if (rc == 0)
        rc = http_tokens_new(N_REQUEST_PERSONS, &d->person_tokens, err);
    if (rc == 0)
        rc = open_people(d, o, err);
    if (rc == 0)
        rc = open_agents(d, o, key, err);
    http_key_free(key);
    return rc;
}

/* Add all rejected peers of r to a sum. */
static void add_all(struct http_rejections *all, const struct http_rejections *r)
{
    for (int i = 0; i < r->n_peers; i++)
        http_rejections_add(all, r->peer[i].peer, r->peer[i].n);
}

/* Add a server's rejected peers to a sum; s may be NULL. */
static void add(struct http_rejections *all, struct http_server *s)
{
    struct http_rejections r;

    if (!s)
        return;
    http_server_rejections(s, &r);
    add_all(all, &r);
}

/* Add up the rejected peers of all servers and nodes. */
static void collect(const struct listeners *d, struct http_rejections *ret)
{
    *ret = (struct http_rejections){ 0 };
    for (int i = 0; i < d->n_agent_listeners; i++)
        add(ret, d->agents[i]);
    add(ret, d->people);
    add(ret, d->local);
    add_all(ret, &d->at_nodes);
}

int64_t listeners_refused(const struct listeners *d)
{
    int64_t n = d->people ? http_server_refused(d->people) : 0;

    n += d->local ? http_server_refused(d->local) : 0;
    n += d->at_nodes.total;
    for (int i = 0; i < d->n_agent_listeners; i++)
        n += http_server_refused(d->agents[i]);
    return n;
}

bool listeners_refused_at_node(struct listeners *d, const char *peer, int64_t n)
{
    int before = d->at_nodes.n_peers;

    http_rejections_add(&d->at_nodes, peer, n);
    http_rejections_add(&d->reported, peer, 0); /* the caller reports it */
    return d->at_nodes.n_peers > before;
}

bool listeners_refusal(struct listeners *d, char *ret_peer, size_t size)
{
    struct http_rejections now;

    if (listeners_refused(d) == d->reported.total)
        return false;
    collect(d, &now);
    for (int i = 0; i < now.n_peers; i++) {
        int before = d->reported.n_peers;

        http_rejections_add(&d->reported, now.peer[i].peer, 0);
        if (d->reported.n_peers == before) /* reported already, or beyond the table's size */
            continue;
        (void)snprintf(ret_peer, size, "%s", now.peer[i].peer);
        return true;
    }
    d->reported.total = now.total;
    return false;
}

void listeners_refusals_text(const struct listeners *d, char *ret, size_t size)
{
    struct http_rejections all;
    size_t n = 0;

    collect(d, &all);
    *ret = '\0';
    for (int i = 0; i < all.n_peers && n < size; i++)
        n += (size_t)snprintf(ret + n, size - n, "%s%" PRId64 "%s from %s", i ? ", " : "",
                              all.peer[i].n,
                              i                    ? ""
                              : all.peer[i].n == 1 ? " refused request"
                                                   : " refused requests",
                              all.peer[i].peer);
}

void listeners_close(struct listeners *d)
{
    for (int i = 0; i < d->n_agent_listeners; i++)
        http_server_stop(d->agents[i]);
    http_server_stop(d->people);
    http_server_stop(d->local);
    http_tokens_free(d->agent_tokens);
    http_tokens_free(d->person_tokens);
    *d = (struct listeners){ 0 };
}
