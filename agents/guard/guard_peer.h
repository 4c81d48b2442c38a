/* SPDX-License-Identifier: Apache-2.0 */
/* guard_peer.h - who is at the other end of a connection */
#ifndef EDDIS_AGENTS_GUARD_GUARD_PEER_H
#define EDDIS_AGENTS_GUARD_GUARD_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

union guard_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Fill both ends of a connection of IPv4 or IPv6, an address of IPv4 that is mapped into IPv6 as
 * one of IPv4.  False: it is no such connection, or it is over.
 */
bool guard_peer_ends(int fd, union guard_address *ret_peer, union guard_address *ret_self);

/* Write the address alone. */
void guard_peer_text(const union guard_address *a, char *ret, size_t size);

/* Whether the kernel's table of connections names this process's user or root as the owner of the
 * other end of fd.  That end counts only while it is established and a process has it open: the
 * table shows user 0 for a socket that was closed with data on its way.
 */
bool guard_peer_is_ours(int fd);

#endif
