/* SPDX-License-Identifier: Apache-2.0 */
/* doors.h - where the driver is spoken to
 *
 *   agents   TLS 1.3 with a key made for this job, on the addresses from which the way to the nodes
 *            starts; one token for each agent
 *   people   plain HTTP on 127.0.0.1; one token for who may read, one for who may stop the job
 *
 * The driver listens nowhere else, and nothing else of eddis listens at all.
 */
#ifndef EDDIS_AGENTS_DRIVER_DOORS_H
#define EDDIS_AGENTS_DRIVER_DOORS_H

#include "inbox.h"

#include "lib/base/error.h"
#include "lib/http/client.h"
#include "lib/http/server.h"

#include <stdint.h>

enum { DOORS_ADDRESS = 16, DOORS_URL = 64 };

struct doors_options {
    struct inbox *inbox;
    int n_agents;
    const char (*address)[DOORS_ADDRESS]; /* [n_addresses] for agents */
    int n_addresses;
    int64_t lease_ns;
};

struct doors {
    struct http_tokens *agent_tokens, *person_tokens;
    struct http_server *agents[HTTP_MAX_BASES], *people;
    int n_agent_doors;
    char url[HTTP_MAX_BASES][DOORS_URL]; /* of those for agents */
    char people_url[DOORS_URL];
    char pin[HTTP_PIN_CHARS + 1];
    struct http_refusals told; /* what doors_refusal has told of, all doors together */
};

/* Zeroed before; doors_close also when this fails. */
int doors_open(struct doors *d, const struct doors_options *o, struct eddis_error *err);

/* Requests refused so far for want of a valid token. */
int64_t doors_refused(const struct doors *d);

/* Once for each peer that has been refused: true and his address.  False: nothing new. */
bool doors_refusal(struct doors *d, char *ret_peer, size_t size);

/* "3 refused requests from 10.1.0.9, 1 from 10.1.0.8", or "" when there were none. */
void doors_refusals_text(const struct doors *d, char *ret, size_t size);

void doors_close(struct doors *d);

#endif
