/* SPDX-License-Identifier: Apache-2.0 */
/* guard_peer.h - finds the peer of a connection and the user who owns it */
#ifndef EDDIS_AGENTS_GUARD_GUARD_PEER_H
#define EDDIS_AGENTS_GUARD_GUARD_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* An IPv4 or IPv6 address with its port. */
union guard_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Store the addresses of both ends of a connected socket. An IPv4 address that is mapped into IPv6
 * is stored as IPv4. Return false if fd is not a connected IPv4 or IPv6 socket.
 */
bool guard_peer_ends(int fd, union guard_address *ret_peer, union guard_address *ret_self);

/* Write the address as text, without the port, to ret [size]; "" if it has no text form. */
void guard_peer_text(const union guard_address *a, char *ret, size_t size);

/* Check in the kernel's table of connections whether this process's user or root owns the other end
 * of fd. The other end counts only if it is established and open in a process, because for a socket
 * that was closed with unsent data the table shows user 0.
 */
bool guard_peer_is_ours(int fd);

#endif
