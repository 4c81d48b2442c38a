/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - starts mpirun's daemons under the agents of their nodes
 *
 *     first node                                       another node
 *     mpirun -> eddis-relay HOST orted ARGUMENTS...
 *                  │ datagram: struct relay
 *     agent  ◄─────┘ ── event relay ──► driver ── order relay ──► agent -> orted ARGUMENTS'
 *
 * mpirun calls eddis-relay instead of ssh.  The relay extracts the few numbers and addresses that
 * only mpirun knows, and sends them to the agent through a socket in the private folder.  The agent
 * of the other node puts them into an argument vector of its own.
 */
#ifndef EDDIS_AGENTS_NODE_RELAY_H
#define EDDIS_AGENTS_NODE_RELAY_H

#include "agents/protocol/protocol.h"

/* Read the arguments that mpirun gives to its launch agent for another node; argv without the
 * program's own name.  The caller frees *ret with relay_free. -EINVAL: something is missing or not
 * allowed.
 */
int relay_parse(int argc, char *const *argv, struct relay *ret, struct eddis_error *err);

/* Return the part of uri that leads to `address`, the first node's; the caller frees it.  NULL:
 * there is none, see err; host is that node's name for the error.  A daemon starts whatever the
 * mpirun that it connects to orders, so it may only connect to that node.
 */
char *relay_uri_at(const char *uri, const char *address, const char *host, struct eddis_error *err);

/* Send r to the agent's socket.  Block, for seconds at worst. */
int relay_send(const char *socket_path, const struct relay *r, struct eddis_error *err);

/* Make a socket of the agent at path, for datagrams, with an option of SOL_SOCKET; relay_receive
 * needs SO_PASSCRED.  Return a non-blocking descriptor or a negative errno value.
 */
int relay_listen(const char *path, int option, int value, struct eddis_error *err);

/* Receive the next relay; the caller frees it with relay_free.  Return 1, or 0 if none has come.
 * Negative: one was dropped for the reason in err; more may have come.
 */
int relay_receive(int fd, struct relay *ret, struct eddis_error *err);

#endif
