/* SPDX-License-Identifier: Apache-2.0 */
/* guard_peer.h - which user's process is at the other end of a connection over loopback */
#ifndef EDDIS_AGENTS_GUARD_GUARD_PEER_H
#define EDDIS_AGENTS_GUARD_GUARD_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

/* Whether the kernel's table of connections names this process's user or root as the owner of the
 * other end.  peer, self: the connection's addresses as getpeername and getsockname give them.
 *
 * The other end counts only while it is established and a process has it open: the table shows
 * user 0 for a socket that was closed with data on its way.
 */
bool guard_peer_is_ours(const struct sockaddr *peer, const struct sockaddr *self);

#endif
