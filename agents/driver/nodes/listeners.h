/* SPDX-License-Identifier: Apache-2.0 */
/* listeners.h - where the driver is spoken to
 *
 *   agents   TLS 1.3 with a key made for this job, on the addresses from which the way to the nodes
 *            starts; one token for each agent
 *   people   plain HTTP on 127.0.0.1; one token for who may read, one for who may stop the job; and
 *            at a Unix socket, where this user needs none
 *
 * The driver listens nowhere else, and nothing else of eddis listens at all.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_LISTENERS_H
#define EDDIS_AGENTS_DRIVER_NODES_LISTENERS_H

#include "request_queue.h"

#include "lib/base/error.h"
#include "lib/base/ip.h"
#include "lib/http/client.h"
#include "lib/http/server.h"

#include <stdint.h>

enum { LISTENERS_ADDRESS = IP_CHARS, LISTENERS_URL = IP_CHARS + 18 };

struct listeners_options {
    struct inbox *inbox;
    int n_agents;
    int n_doors;                              /* tokens behind those of the agents (admission.h) */
    const char (*address)[LISTENERS_ADDRESS]; /* [n_addresses] for agents */
    int n_addresses;
    int64_t lease_ns;
    int strangers;    /* connections without a token, on each address */
    const char *path; /* of the Unix socket; "": none */
};

struct listeners {
    struct http_tokens *agent_tokens, *person_tokens;
    struct http_server *agents[HTTP_MAX_BASES], *people;
    struct http_server *local; /* at the Unix socket; NULL: none */
    int n_agent_listeners;
    char url[HTTP_MAX_BASES][LISTENERS_URL]; /* of those for agents */
    char people_url[LISTENERS_URL];
    char pin[HTTP_PIN_CHARS + 1];
    struct http_refusals at_nodes; /* connections to mpirun and its daemons */
    struct http_refusals told;     /* what listeners_refusal has taken, all listeners together */
};

/* Zeroed before; listeners_close also when this fails. */
int listeners_open(struct listeners *d, const struct listeners_options *o, struct eddis_error *err);

/* Return how many requests were refused for want of a valid token, and connections at nodes. */
int64_t listeners_refused(const struct listeners *d);

/* Take the address of a peer that has been refused and was not told of before; false: none. */
bool listeners_refusal(struct listeners *d, char *ret_peer, size_t size);

/* Count n connections from a peer that mpirun or a daemon of its has refused.  Returns whether none
 * from there was counted before.
 */
bool listeners_refused_at_node(struct listeners *d, const char *peer, int64_t n);

/* Write "3 refused requests from 10.1.0.9, 1 from 10.1.0.8", or "" when there were none. */
void listeners_refusals_text(const struct listeners *d, char *ret, size_t size);

void listeners_close(struct listeners *d);

#endif
