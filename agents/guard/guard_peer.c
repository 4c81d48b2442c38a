/* SPDX-License-Identifier: Apache-2.0 */
/* guard_peer.c - looks a connection up in /proc/net/tcp and tcp6 */
#include "guard_peer.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ESTABLISHED = 1, /* TCP_ESTABLISHED of the kernel */
    ATTEMPTS = 3,    /* tries, because a read of the table can miss a row while other rows change */
    END_CHARS = 32 + 1 + 4 + 1, /* "ADDRESS:PORT" in hexadecimal, with its 0 */
};

/* ---- addresses ---- */

/* Replace an IPv4 address that is mapped into IPv6 by the IPv4 address; leave other addresses as
 * they are.
 */
static void unmap(union guard_address *a)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = a->v6.sin6_port };

    if (a->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
        return;
    memcpy(&v4.sin_addr, &a->v6.sin6_addr.s6_addr[12], sizeof v4.sin_addr);
    a->v4 = v4;
}

/* Check whether an address is of IPv4 or IPv6. */
static bool is_inet(const union guard_address *a)
{
    return a->any.sa_family == AF_INET || a->any.sa_family == AF_INET6;
}

bool guard_peer_ends(int fd, union guard_address *ret_peer, union guard_address *ret_self)
{
    socklen_t n = sizeof *ret_peer, m = sizeof *ret_self;

    *ret_peer = *ret_self = (union guard_address){ .any.sa_family = AF_UNSPEC };
    if (getpeername(fd, &ret_peer->any, &n) < 0 || getsockname(fd, &ret_self->any, &m) < 0 ||
        !is_inet(ret_peer) || !is_inet(ret_self))
        return false;
    unmap(ret_peer);
    unmap(ret_self);
    return true;
}

void guard_peer_text(const union guard_address *a, char *ret, size_t size)
{
    const void *address = a->any.sa_family == AF_INET ? (const void *)&a->v4.sin_addr
                                                      : (const void *)&a->v6.sin6_addr;

    if (!inet_ntop(a->any.sa_family, address, ret, (socklen_t)size))
        ret[0] = '\0';
}

/* ---- the kernel's table ---- */

/* Write the address and port of one end of a connection to ret [size] as the kernel's table does:
 * "0100007F:1F90", words in the byte order of this machine. mapped: write an IPv4 address in its
 * IPv6 form, for a socket in tcp6.
 */
static void write_end(const union guard_address *a, bool mapped, char *ret, size_t size)
{
    uint32_t word[4] = { 0, 0, htonl(0xffff), a->v4.sin_addr.s_addr };
    bool v4 = a->any.sa_family == AF_INET;

    if (v4 && !mapped) {
        (void)snprintf(ret, size, "%08X:%04X", word[3], ntohs(a->v4.sin_port));
        return;
    }
    if (!v4)
        memcpy(word, &a->v6.sin6_addr, sizeof word);
    (void)snprintf(ret, size, "%08X%08X%08X%08X:%04X", word[0], word[1], word[2], word[3],
                   ntohs(v4 ? a->v4.sin_port : a->v6.sin6_port));
}

/* Find the socket with these addresses in a file such as /proc/self/net/tcp (table is its path).
 * Return 1 if it is connected and this user or root owns it, 0 if it is not connected or another
 * user owns it, -1 if the file has no such row or cannot be read.
 */
static int look_up(const char *table, const char *local, const char *remote)
{
    char line[512], l[64], r[64];
    unsigned long inode;
    unsigned state, uid;
    FILE *f = fopen(table, "re");
    int found = -1;

    while (f && found < 0 && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%*s %63s %63s %x %*s %*s %*s %u %*s %lu", l, r, &state, &uid, &inode) !=
                5 ||
            strcmp(l, local) != 0 || strcmp(r, remote) != 0)
            continue;
        found = state == ESTABLISHED && inode != 0 && (uid == geteuid() || uid == 0);
    }
    if (f)
        (void)fclose(f);
    return found;
}

/* Search /proc/self/net/tcp or tcp6 for the peer's socket, whose local end is `peer` and whose
 * remote end is `self`.  Return as look_up does. mapped: search tcp6 for an IPv4 connection.
 */
static int look_up_ends(const union guard_address *peer, const union guard_address *self,
                        bool mapped)
{
    bool v6 = mapped || peer->any.sa_family == AF_INET6;
    char its[END_CHARS], ours[END_CHARS];

    write_end(peer, mapped, its, sizeof its);
    write_end(self, mapped, ours, sizeof ours);
    return look_up(v6 ? "/proc/self/net/tcp6" : "/proc/self/net/tcp", its, ours);
}

/* The ends are read again after the look-up: as long as the connection exists, no other socket can
 * have had its addresses and ports.
 */
bool guard_peer_is_ours(int fd)
{
    union guard_address peer, self;
    int found = -1;

    if (!guard_peer_ends(fd, &peer, &self))
        return false;
    for (int i = 0; found < 0 && i < ATTEMPTS; i++) {
        found = look_up_ends(&peer, &self, false);
        if (found < 0 && peer.any.sa_family == AF_INET)
            found = look_up_ends(&peer, &self, true);
    }
    return found > 0 && guard_peer_ends(fd, &peer, &self);
}
