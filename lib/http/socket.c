/* SPDX-License-Identifier: Apache-2.0 */
#include "socket.h"

#include "lib/base/clock.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void set(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

void http_socket_tune(int fd, int64_t silence_ns)
{
    int64_t ms = silence_ns / CLOCK_MS, every_s = silence_ns / CLOCK_S / 4;

    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (silence_ns <= 0)
        return;
    if (ms < 1000)
        ms = 1000;
    if (every_s < 1)
        every_s = 1;
    if (every_s > 3600)
        every_s = 3600;
    /* The user timeout ends what has data under way, keepalive what has none; where both are set
     * the kernel counts the probes' silence against the user timeout.
     */
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, ms > INT_MAX ? INT_MAX : (int)ms);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)every_s);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, (int)every_s);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

bool http_address_is_loopback(const char *address)
{
    struct in_addr a;

    return inet_pton(AF_INET, address, &a) == 1 && ntohl(a.s_addr) >> 24 == IN_LOOPBACKNET;
}
