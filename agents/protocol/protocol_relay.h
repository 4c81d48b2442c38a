/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_relay.h - converts a struct relay to and from the member "relay" of an order or event */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_RELAY_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_RELAY_H

#include "lib/base/fields.h"
#include "protocol.h"

/* Fields of the JSON object for a struct relay; a reader must check the result with relay_check */
extern const struct fields relay_table;

/* Check that the parts of a relay are present, consistent, and made of allowed characters only. A
 * text that a shell or mpirun could interpret as an option or a command is rejected. Return 0 or
 * -EINVAL.
 */
int relay_check(const void *relay, struct eddis_error *err);

/* Free the strings of a relay, not the struct. */
void relay_free(struct relay *r);

#endif
