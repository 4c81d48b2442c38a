/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_join.h - how an agent that was started together with other agents gets its configuration
 *
 * srun writes the same text to the standard input of all its tasks. So the text is no agent
 * configuration but an *invitation*: the driver's addresses, its key, and a secret that the agents
 * of this start share. With this secret each agent requests the configuration of its own node:
 *
 *   join       POST /v1/join   struct join   -> 200 configuration | 403, 409 rejected
 *
 * The secret is valid only for the request "join", and only once for each node name. The secret
 * expires when all agents have registered or timeouts.launch has passed. Each agent draws a nonce.
 * If an agent lost the answer and repeats the request with the same nonce, it gets the same answer.
 * A request with another nonce, for a node name that has had its answer, comes from another process
 * and is rejected.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_JOIN_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_JOIN_H

#include "lib/base/error.h"
#include "protocol_limits.h"

#include <stddef.h>
#include <stdint.h>

enum { PROTOCOL_NONCE = 32 }; /* digits of a nonce */

/* What an agent needs to request its configuration. */
struct invitation {
    char **url;                  /* the driver's addresses, NULL-ended */
    char pin[PROTOCOL_PIN];      /* hash of the driver's public key, "sha256//..." */
    char secret[PROTOCOL_TOKEN]; /* secret that the agents of this start share; wiped after use */
    int64_t lease_ns;
};

/* Return the invitation as JSON, which the caller wipes and frees; NULL without memory. */
char *invitation_text(const struct invitation *i);

/* Parse n bytes of JSON and check the result.  On success return 0 and a new invitation in *ret,
 * for invitation_free; otherwise a negative errno.
 */
int invitation_parse(const char *text, size_t n, struct invitation **ret, struct eddis_error *err);
void invitation_free(struct invitation *i); /* wipes the secret; accepts NULL */

/* Request of an agent for its configuration. */
struct join {
    char node[256];                 /* the node's name in the scheduler */
    char nonce[PROTOCOL_NONCE + 1]; /* lower-case hexadecimal digits */
};

/* Return the request as JSON, which the caller frees; NULL without memory. */
char *join_text(const struct join *j);

/* Parse n bytes of JSON into *ret.  Return 0 or a negative errno; *ret is written only on success.
 */
int join_parse(const char *text, size_t n, struct join *ret, struct eddis_error *err);

#endif
