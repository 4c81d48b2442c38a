/* SPDX-License-Identifier: Apache-2.0 */
/* listeners.h - the driver's HTTP servers and their tokens
 *
 *     agents   TLS 1.3 with a key made for this job, on this machine's source addresses
 *              towards the nodes; one token per agent
 *     people   plain HTTP on 127.0.0.1, with one token for readers and one for the owner,
 *              who may stop the job; and a Unix socket, where this user needs no token
 *
 * The driver listens on no other socket, and no other part of eddis listens.
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

/* How to open the servers; all pointers are borrowed */
struct listeners_options {
    struct request_queue *request_queue;
    int n_agents;
    /* number of join secrets, whose tokens follow those of the agents (admission.h) */
    int n_secrets;
    const char (*address)[LISTENERS_ADDRESS]; /* [n_addresses] addresses for agents */
    int n_addresses;
    int64_t lease_ns;
    int strangers;    /* maximum number of unauthenticated connections per address */
    const char *path; /* path of the Unix socket; "": none */
};

/* The open servers, their tokens and rejections. */
struct listeners {
    struct http_tokens *agent_tokens, *person_tokens;
    struct http_server *agents[HTTP_MAX_BASES], *people;
    struct http_server *local; /* server on the Unix socket; NULL: none */
    int n_agent_listeners;
    char url[HTTP_MAX_BASES][LISTENERS_URL]; /* URLs for agents */
    char people_url[LISTENERS_URL];
    char pin[HTTP_PIN_CHARS + 1];
    struct http_rejections at_nodes; /* rejected connections to mpirun and its daemons, by peer */
    /* peers that have been reported to the user, for all servers together */
    struct http_rejections reported;
};

/* Open the HTTP servers for agents and people. *d must be zeroed; listeners_close is needed even on
 * failure. Return 0 or a negative errno.
 */
int listeners_open(struct listeners *d, const struct listeners_options *o, struct eddis_error *err);

/* Return the number of requests that were rejected for lack of a valid token, plus the number of
 * connections that nodes rejected.
 */
int64_t listeners_refused(const struct listeners *d);

/* Write to ret_peer [size] the address of a peer that was rejected and has not been reported to the
 * user, mark this peer as reported, and return true. Return false if there is no such peer.
 */
bool listeners_refusal(struct listeners *d, char *ret_peer, size_t size);

/* Add n to the count of connections from a peer that mpirun or its daemons rejected, and mark the
 * peer as reported. Return whether the peer was not marked before.
 */
bool listeners_refused_at_node(struct listeners *d, const char *peer, int64_t n);

/* Write to ret [size] "3 refused requests from 10.1.0.9, 1 from 10.1.0.8"; "" if no request was
 * rejected.
 */
void listeners_refusals_text(const struct listeners *d, char *ret, size_t size);

/* Stop the HTTP servers, free their tokens and clear *d. */
void listeners_close(struct listeners *d);

#endif
