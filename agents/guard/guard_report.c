/* SPDX-License-Identifier: Apache-2.0 */
/* guard_report.c - reports rejected connections to the agent, at most a few times a second */
#include "guard_report.h"

#include "guard.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DATAGRAMS_PER_S = 5 }; /* limit: the ranks' messages use the same socket */

/* Number of rejections that no datagram has reported. */
static _Atomic uint32_t unreported;

/* Count a rejection in this second.  Return the number of rejections that the caller's datagram has
 * to report: this rejection and those not reported before.  Return 0 if the limit of datagrams in
 * this second is reached; then a later datagram reports this rejection, too.
 */
static uint32_t count_refusal(void)
{
    static _Atomic time_t second;
    static _Atomic uint32_t sent;
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (atomic_exchange(&second, now.tv_sec) != now.tv_sec)
        atomic_store(&sent, 0);
    if (atomic_fetch_add(&sent, 1) < DATAGRAMS_PER_S)
        return atomic_exchange(&unreported, 0) + 1;
    atomic_fetch_add(&unreported, 1);
    return 0;
}

void guard_report(const char *path, const union guard_address *peer)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct guard_refusal m = { .magic = GUARD_MAGIC, .n = count_refusal() };
    int fd = m.n ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

    guard_peer_text(peer, m.peer, sizeof m.peer);
    memcpy(to.sun_path, path, strlen(path) + 1);
    if (m.n && (fd < 0 || sendto(fd, &m, sizeof m, MSG_DONTWAIT | MSG_NOSIGNAL,
                                 (struct sockaddr *)&to, sizeof to) < 0))
        atomic_fetch_add(&unreported, m.n);
    if (fd >= 0)
        (void)close(fd);
}
