/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_join.h - how an agent that was started together with others gets its own brief
 *
 * What srun writes to the standard input of its tasks is the same for all of them.  So it is no
 * brief but an *invitation*: where the driver is, its key, and a secret that the agents of this
 * start share.  With it each asks
 *
 *   join       POST /v1/join   struct join   -> 200 its brief | 403, 409 refused
 *
 * for the brief of its node.  The secret is worth nothing for anything else, once for each name,
 * and nothing any more when all have registered or timeouts.launch has passed.  An agent draws a
 * nonce: who asks again under the same, whose answer was lost, gets the same answer; another one
 * for a name that was given away is somebody else.
 */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_JOIN_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_JOIN_H

#include "lib/base/error.h"
#include "protocol_limits.h"

#include <stddef.h>
#include <stdint.h>

enum { PROTOCOL_NONCE = 32 };

struct invitation {
    char **url;                  /* of the driver, NULL-ended */
    char pin[PROTOCOL_PIN];      /* of its key */
    char secret[PROTOCOL_TOKEN]; /* of this start; wiped from memory after use */
    int64_t lease_ns;
};

/* Returns JSON text that the caller wipes and frees; NULL without memory. */
char *invitation_text(const struct invitation *i);
int invitation_parse(const char *text, size_t n, struct invitation **ret, struct eddis_error *err);
void invitation_free(struct invitation *i); /* wipes the secret; accepts NULL */

struct join {
    char node[256];                 /* as the scheduler knows it */
    char nonce[PROTOCOL_NONCE + 1]; /* lower-case hexadecimal digits */
};

char *join_text(const struct join *j);
int join_parse(const char *text, size_t n, struct join *ret, struct eddis_error *err);

#endif
