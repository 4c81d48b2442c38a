/* SPDX-License-Identifier: Apache-2.0 */
/* session_log.c - writes to standard error until the agent reaches the driver over HTTP */
#include "session_log.h"

#include "lib/base/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void session_log_begin(void)
{
    fputs("eddis-agent " EDDIS_VERSION " started\n", stderr);
}

void session_log_say(struct session_log *e, int64_t now_ns, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (e->over || now_ns < e->next_ns)
        return;
    e->next_ns = now_ns + CLOCK_S;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "eddis-agent: %s\n", text);
}

void session_log_end(struct session_log *e, int log_fd)
{
    if (!e->over && log_fd >= 0) {
        e->fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        (void)dup2(log_fd, STDOUT_FILENO);
        (void)dup2(log_fd, STDERR_FILENO);
    }
    e->over = true;
}

void session_log_last(struct session_log *e, const char *fmt, ...)
{
    struct pollfd fd = { .fd = e->fd, .events = POLLOUT };
    char text[512];
    va_list ap;

    if (!e->over || e->fd <= 0 || poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT))
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)dprintf(e->fd, "eddis-agent: %s\n", text);
}
