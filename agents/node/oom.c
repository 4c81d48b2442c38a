/* SPDX-License-Identifier: Apache-2.0 */
/* oom.c - reads the oom_kill counter of a control group, and the kernel's log */
#include "oom.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "profiler/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interval between two polls of the counter. */
#define LOOK_NS (CLOCK_S / 2)

/* Return the number after "oom_kill" in a control group's file, of either version; -1: there is
 * none, or path is "".
 */
static int64_t read_counter(const char *path)
{
    cleanup_file FILE *f = path[0] ? fopen(path, "re") : NULL;
    char line[256];

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "oom_kill ", 9) == 0)
            return strtoll(line + 9, NULL, 10);
    return -1;
}

/* Write the path of our control group's counter file; "": none.  In version 2 not every group has
 * it, and the nearest one at or above ours counts.
 */
static void find_counter(char *ret, size_t size)
{
    char group[QUOTA_GROUP];
    size_t mount = quota_group("", "self", "", group, NULL);

    ret[0] = '\0';
    while (mount) {
        char *slash = strrchr(group + mount, '/');

        snprintf(ret, size, "%.480s/memory.events", group);
        if (read_counter(ret) >= 0)
            return;
        if (!slash)
            break;
        *slash = '\0';
    }
    if (quota_group("", "self", "memory", group, NULL))
        snprintf(ret, size, "%.480s/memory.oom_control", group);
    if (read_counter(ret) < 0)
        ret[0] = '\0';
}

void oom_begin(struct oom_watch *w)
{
    find_counter(w->counter, sizeof w->counter);
    w->count[0] = w->count[1] = read_counter(w->counter);
    w->looked_ns = clock_now_ns();
    w->rose_ns = 0;
    w->kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (w->kmsg >= 0)
        (void)lseek(w->kmsg, 0, SEEK_END);
}

/* Check whether this process's control group has a counter. */
static bool has_counter(const struct oom_watch *w)
{
    return w->count[1] >= 0;
}

int64_t oom_next_ns(const struct oom_watch *w)
{
    return has_counter(w) ? w->looked_ns + LOOK_NS : CLOCK_NEVER;
}

void oom_look(struct oom_watch *w, pid_t pid, int64_t now_ns)
{
    int64_t count;

    if (now_ns < oom_next_ns(w))
        return;
    w->looked_ns = now_ns;
    if (pid > 0 && proctree_ending(pid))
        return;
    count = read_counter(w->counter);
    if (count > w->count[1])
        w->rose_ns = now_ns;
    w->count[0] = w->count[1];
    w->count[1] = count < w->count[1] ? w->count[1] : count; /* the group may have been removed */
}

/* Read the records of the kernel's log since the previous call, until one names pid as killed for
 * lack of memory; return true if one does.
 */
static bool log_names(const struct oom_watch *w, pid_t pid)
{
    char want[64], record[8192];
    ssize_t n;

    snprintf(want, sizeof want, "Killed process %d ", (int)pid);
    while (w->kmsg >= 0 &&
           ((n = read(w->kmsg, record, sizeof record - 1)) > 0 || (n < 0 && errno == EPIPE))) {
        record[n > 0 ? n : 0] = '\0';
        if (strstr(record, want))
            return true;
    }
    return false;
}

bool oom_killed(struct oom_watch *w, pid_t pid, int64_t now_ns, int64_t *ret_ago_ns)
{
    *ret_ago_ns = w->rose_ns ? now_ns - w->rose_ns : 0;
    return (has_counter(w) && read_counter(w->counter) > w->count[0]) || log_names(w, pid);
}

void oom_end(struct oom_watch *w)
{
    if (w->kmsg >= 0)
        (void)close(w->kmsg);
    w->kmsg = -1;
}
