/* SPDX-License-Identifier: Apache-2.0 */
/* session_log.c - says on standard error what happens until the driver hears it over HTTP */
#include "session_log.h"

#include "lib/base/clock.h"

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
        (void)dup2(log_fd, STDOUT_FILENO);
        (void)dup2(log_fd, STDERR_FILENO);
    }
    e->over = true;
}
