/* SPDX-License-Identifier: Apache-2.0 */
/* wakeup.c - watches all TCP sockets of this process by one epoll, with an eventfd to end a wait */
#include "wakeup.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SCAN_EVERY_NS (5 * CLOCK_MS) /* shortest time between two scans of the open files */

enum {
    EVENTS = 16,
    MISSES = 64, /* waits are useless if `missed` exceeds `heard` by this number */
};

/* The watched sockets, and the event that ends a wait. */
struct wakeup {
    int poll_fd, wake_fd;  /* the epoll; an eventfd in it, for wakeup_wake */
    int64_t scanned_ns;    /* time of the latest scan */
    int64_t heard, missed; /* waits that an arrival ended; waits that timed out and missed one */
};

int wakeup_new(struct wakeup **ret, struct eddis_error *err)
{
    struct wakeup *w = calloc(1, sizeof *w);
    struct epoll_event wake = { .events = EPOLLIN };
    int rc;

    if (!w)
        return eddis_fail(err, -ENOMEM, "no memory to wait for messages");
    w->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    wake.data.fd = w->wake_fd;
    if (w->poll_fd < 0 || w->wake_fd < 0 ||
        epoll_ctl(w->poll_fd, EPOLL_CTL_ADD, w->wake_fd, &wake) < 0) {
        rc = -errno;
        wakeup_free(w);
        return eddis_fail_errno(err, rc, "cannot watch for messages");
    }
    *ret = w;
    return 0;
}

void wakeup_free(struct wakeup *w)
{
    if (!w)
        return;
    if (w->poll_fd >= 0)
        (void)close(w->poll_fd);
    if (w->wake_fd >= 0)
        (void)close(w->wake_fd);
    free(w);
}

/* Check whether fd is a TCP socket that does not listen. */
static bool is_connection(int fd)
{
    int protocol = 0, listens = 0;
    socklen_t n = sizeof protocol, m = sizeof listens;

    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) == 0 && protocol == IPPROTO_TCP &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &m) == 0 && !listens;
}

/* Watch this process's new TCP connections.  epoll refuses those it watches already, and drops
 * closed ones by itself.  Return whether there was a new one.
 */
static bool scan_sockets(struct wakeup *w)
{
    cleanup_dir DIR *dir = opendir("/proc/self/fd");
    const struct dirent *one;
    bool any = false;

    while (dir && (one = readdir(dir))) {
        struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
        char *end;
        long fd = strtol(one->d_name, &end, 10);

        if (*end || !is_connection((int)fd))
            continue;
        e.data.fd = (int)fd;
        any |= epoll_ctl(w->poll_fd, EPOLL_CTL_ADD, (int)fd, &e) == 0;
    }
    return any;
}

bool wakeup_wait(struct wakeup *w, int64_t ns)
{
    struct timespec limit = { .tv_sec = ns / CLOCK_S, .tv_nsec = ns % CLOCK_S };
    struct pollfd any = { .fd = w->poll_fd, .events = POLLIN };
    struct epoll_event e[EVENTS];
    bool arrived = false;
    uint64_t woken;
    int n;

    if (ppoll(&any, 1, &limit, NULL) <= 0)
        return false;
    n = epoll_wait(w->poll_fd, e, EVENTS, 0);
    for (int i = 0; i < n; i++)
        if (e[i].data.fd == w->wake_fd)
            (void)!read(w->wake_fd, &woken, sizeof woken);
        else
            arrived = true;
    w->heard += arrived;
    return n > 0;
}

bool wakeup_missed(struct wakeup *w)
{
    int64_t now = clock_now_ns();

    if (now - w->scanned_ns < SCAN_EVERY_NS)
        return true;
    w->scanned_ns = now;
    if (!scan_sockets(w))
        w->missed++;
    return w->missed < MISSES + w->heard;
}

void wakeup_wake(struct wakeup *w)
{
    const uint64_t one = 1;

    (void)!write(w->wake_fd, &one, sizeof one);
}
