/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_relay.h - struct relay as the member "relay" of an order or an event */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_RELAY_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_RELAY_H

#include "lib/base/fields.h"
#include "protocol.h"

int relay_write(const struct relay *r, json_t *o);

/* Returns the number of members read, 1.  Every text may hold what its kind is made of and nothing
 * that a shell or mpirun would take for something else.
 */
int relay_read(struct relay *r, const json_t *o, struct eddis_error *err);

/* What relay_read checks, for one that comes from mpirun itself. */
int relay_check(const struct relay *r, struct eddis_error *err);

void relay_free(struct relay *r); /* its strings */

#endif
