/* SPDX-License-Identifier: Apache-2.0 */
/* socket.c - set options of TCP sockets, and recognise loopback addresses */
#include "socket.h"

#include "lib/base/ip.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* Set an integer option of socket fd; errors are ignored. */
static void set(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

void http_socket_tune(int fd, const struct http_tcp *t)
{
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (t->silence_ms <= 0)
        return;
    /* The user timeout ends connections with data in flight, keepalive those without.  If both are
     * set, unanswered probes count against the user timeout.
     */
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, t->silence_ms > INT_MAX ? INT_MAX : (int)t->silence_ms);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, t->probe_s);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, t->probe_s);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, t->probes);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

bool http_address_is_loopback(const char *address)
{
    struct ip a;

    return ip_parse(address, &a) && ip_is_loopback(&a);
}
