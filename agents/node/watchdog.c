/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.c - counts how long the driver and the supervisor have been silent */
#include "watchdog.h"

#include "agents/node/keep/cgroup.h"
#include "agents/protocol/timing.h"
#include "lib/base/clock.h"
#include "lib/base/process_fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

void watchdog_find_keeper(struct watchdog *l)
{
    l->keeper = getppid();
    l->keeper_fd = process_fd_open(l->keeper);
}

bool watchdog_has_keeper(const struct watchdog *l)
{
    return getppid() == l->keeper;
}

void watchdog_heard(void *ctx)
{
    struct watchdog *l = ctx;

    l->silence_ns = 0;
    l->heard_ns = clock_now_ns();
}

bool watchdog_is_cut(const struct watchdog *l)
{
    return l->silence_ns > l->lease_ns;
}

/* Close the connection to the driver's machine (l->driver), if there is one. */
static void drop_driver(struct watchdog *l)
{
    if (l->driver > 0)
        (void)close(l->driver);
    l->driver = 0;
}

void watchdog_pause(struct watchdog *l, int session, int driver)
{
    drop_driver(l);
    l->paused = true;
    l->session = session;
    l->driver = driver > 0 ? driver : 0;
    l->met = false;
}

void watchdog_go_on(struct watchdog *l)
{
    drop_driver(l);
    l->paused = false;
    l->silence_ns = 0;
}

/* Return true if the connection to the driver's machine was established (l->met) and has failed
 * because the machine no longer answers.  Set l->met when it is established; close it when it has
 * ended in any way.  If the machine itself has closed the connection, the machine is up, and only
 * the session shows the end of the driver.
 */
static bool is_machine_gone(struct watchdog *l)
{
    struct pollfd fd = { .fd = l->driver > 0 ? l->driver : -1,
                         .events = POLLRDHUP | (l->met ? 0 : POLLOUT) };
    int code = 0;
    socklen_t n = sizeof code;

    if (fd.fd < 0 || poll(&fd, 1, 0) <= 0 || !fd.revents)
        return false;
    if (!(fd.revents & (POLLERR | POLLHUP | POLLRDHUP))) {
        l->met = true;
        return false;
    }
    (void)getsockopt(fd.fd, SOL_SOCKET, SO_ERROR, &code, &n);
    drop_driver(l);
    return l->met &&
           (code == ETIMEDOUT || code == EHOSTUNREACH || code == ENETUNREACH || code == EHOSTDOWN);
}

/* Check whether the process at the other end of the session still has the session open; false if
 * there is no session.
 */
static bool has_session(const struct watchdog *l)
{
    struct pollfd fd = { .fd = l->session > 0 ? l->session : -1 };

    return fd.fd >= 0 && poll(&fd, 1, 0) >= 0 && !(fd.revents & (POLLERR | POLLHUP | POLLNVAL));
}

int watchdog_heartbeat(struct watchdog *l, int64_t now_ns)
{
    int64_t period = timing_tick_ns(l->lease_ns), since = now_ns - l->beat_ns + period;
    int lost = 0;

    tick_beat(l->page, TICK_AGENT);
    if (l->heard_ns && now_ns - l->heard_ns >= 0 && now_ns - l->heard_ns < since)
        since = now_ns - l->heard_ns; /* the driver answered between two heartbeats */
    if (l->beat_ns)
        l->silence_ns += timing_silence_ns(since, period);
    if (l->paused && is_machine_gone(l))
        l->session = -1; /* the machine is gone; another process may keep the session open */
    if (l->paused && has_session(l))
        l->silence_ns = 0;
    l->beat_ns = now_ns + period;
    if (watchdog_is_cut(l))
        lost |= LIFELINE_DRIVER;
    if (!watchdog_has_keeper(l) ||
        tick_silence_ns(l->page, TICK_KEEPER, &l->watch, now_ns, period) > l->lease_ns)
        lost |= LIFELINE_KEEPER;
    return lost;
}

void watchdog_end(struct watchdog *l)
{
    drop_driver(l);
    if (l->keeper_lost) {
        cgroup_leave(clock_after_ns(clock_now_ns(), CLOCK_S));
        (void)process_fd_signal(l->keeper_fd, l->keeper, SIGKILL);
    } else if (l->keeper_fd >= 0) { /* a stopped supervisor could not notice the agent's end */
        (void)process_fd_signal(l->keeper_fd, l->keeper, SIGCONT);
    }
}
