/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - how mpirun's daemons come to run under the agents of their nodes
 *
 *     first node                                       another node
 *     mpirun -> eddis-relay HOST orted ARGUMENTS...
 *                  │ datagram: struct relay
 *     agent  ◄─────┘ ── event relay ──► driver ── order relay ──► agent -> orted ARGUMENTS'
 *
 * Instead of ssh mpirun calls eddis-relay.  It takes out of the arguments the few numbers and
 * addresses that only mpirun knows, and hands them to the agent through a socket in its private
 * folder.  The agent of the node that is meant puts them into a vector of its own.
 */
#ifndef EDDIS_AGENTS_NODE_RELAY_H
#define EDDIS_AGENTS_NODE_RELAY_H

#include "agents/protocol/protocol.h"

/* Read what mpirun gives to its agent for other nodes: argv without the program's own name.
 * The caller frees *ret by relay_free.  -EINVAL: something is missing, or holds what it may not.
 */
int relay_parse(int argc, char *const *argv, struct relay *ret, struct eddis_error *err);

/* Return the part of uri that leads to `address`, the first node's, as a text for the caller to
 * free; NULL when there is none.  host is that node's name, for the sentence.  A daemon starts
 * whatever the mpirun says that it connects to, so it may connect to that node's alone.
 */
char *relay_uri_at(const char *uri, const char *address, const char *host, struct eddis_error *err);

/* Send r to the agent's socket.  Blocks, for seconds at worst. */
int relay_send(const char *socket_path, const struct relay *r, struct eddis_error *err);

/* Make the agent's socket at path.  Returns a descriptor that does not block. */
int relay_listen(const char *path, struct eddis_error *err);

/* Receive the next relay, which the caller frees by relay_free.  Returns 1, or 0 when none has
 * come. A negative value: one was dropped, and err says why; more may have come.
 */
int relay_receive(int fd, struct relay *ret, struct eddis_error *err);

#endif
