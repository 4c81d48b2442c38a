/* SPDX-License-Identifier: Apache-2.0 */
/* guard_peer.c - looks a connection up in /proc/net/tcp and tcp6 */
#include "guard_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ESTABLISHED = 1, /* TCP_ESTABLISHED of the kernel */
    ATTEMPTS = 3,    /* rows can be missed while others come and go */
    END_CHARS = 32 + 1 + 4 + 1,
};

/* Write an end as the table does: "0100007F:1F90", words in the byte order of this machine. */
static void write_end(const struct sockaddr *a, char *ret, size_t size)
{
    const struct sockaddr_in6 *v6 = (const void *)a;
    const struct sockaddr_in *v4 = (const void *)a;
    uint32_t word[4];

    if (a->sa_family == AF_INET) {
        snprintf(ret, size, "%08X:%04X", v4->sin_addr.s_addr, ntohs(v4->sin_port));
        return;
    }
    memcpy(word, &v6->sin6_addr, sizeof word);
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) /* its other end is a socket of IPv4 */
        snprintf(ret, size, "%08X:%04X", word[3], ntohs(v6->sin6_port));
    else
        snprintf(ret, size, "%08X%08X%08X%08X:%04X", word[0], word[1], word[2], word[3],
                 ntohs(v6->sin6_port));
}

static const char *table_of(const struct sockaddr *a)
{
    const struct sockaddr_in6 *v6 = (const void *)a;

    if (a->sa_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        return "/proc/self/net/tcp";
    return "/proc/self/net/tcp6";
}

/* Find the row of the socket whose own end is `local`.  Returns 1 if it is ours, 0 if it is not or
 * no process has it open, -1 if there is no such row.
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

bool guard_peer_is_ours(const struct sockaddr *peer, const struct sockaddr *self)
{
    char its[END_CHARS], ours[END_CHARS];
    int found = -1;

    write_end(peer, its, sizeof its);
    write_end(self, ours, sizeof ours);
    for (int i = 0; found < 0 && i < ATTEMPTS; i++)
        found = look_up(table_of(peer), its, ours);
    return found > 0;
}
