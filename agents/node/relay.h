/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - starts mpirun's daemons under the agents of their nodes
 *
 *     first node                                       another node
 *     mpirun -> eddis-relay HOST orted ARGUMENTS...
 *                  │ datagram: struct relay
 *     agent  ◄─────┘ ── event relay ──► driver ── order relay ──► agent -> orted ARGUMENTS'
 *
 * mpirun calls eddis-relay instead of ssh. The relay extracts the few numbers and addresses that
 * only mpirun knows, and sends them to the agent through a socket in the private folder. The agent
 * of the other node puts these numbers and addresses into an argument vector of its own.
 */
#ifndef EDDIS_AGENTS_NODE_RELAY_H
#define EDDIS_AGENTS_NODE_RELAY_H

#include "agents/protocol/protocol.h"

/* Parse the arguments with which mpirun calls its launch agent for another node; argv is without
 * the program's own name. The caller frees *ret with relay_free. Return 0, or -EINVAL if an
 * argument is missing or not allowed.
 */
int relay_parse(int argc, char *const *argv, struct relay *ret, struct eddis_error *err);

/* Return the part of uri that leads to `address`, that of the first node, as text that the caller
 * frees. NULL: there is none, with err; host: the name of the first node for the message. A daemon
 * executes all orders of the mpirun to which it connects, so it may connect only to the first node.
 */
char *relay_uri_at(const char *uri, const char *address, const char *host, struct eddis_error *err);

/* Send r to the agent's socket. Blocks, at worst for seconds. Return 0 or a negative errno. */
int relay_send(const char *socket_path, const struct relay *r, struct eddis_error *err);

/* Make a socket of the agent at path, for datagrams, with an option of SOL_SOCKET; relay_receive
 * needs SO_PASSCRED. Return a non-blocking descriptor or a negative errno.
 */
int relay_listen(const char *path, int option, int value, struct eddis_error *err);

/* Receive the next relay from the socket fd in *ret, which the caller frees with relay_free. Return
 * 1; 0 if none has arrived; a negative errno if a relay was dropped for the reason in err: further
 * relays may have arrived.
 */
int relay_receive(int fd, struct relay *ret, struct eddis_error *err);

#endif
