/* SPDX-License-Identifier: Apache-2.0 */
/* process_load.c - finds a worker's process; reads /proc/PID/task/TID/schedstat, /proc/PID/status
 */
#include "process_load.h"

#include "lib/base/cleanup.h"
#include "lib/base/proctree.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_BYTES = 4096, TRIES = 3 };

/* Read the start of a file to ret [size] as text; return false if nothing was read. */
static bool read_text(const char *path, char *ret, size_t size)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

    ret[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* ---- the process ---- */

/* Return the number of a process or thread in its innermost PID namespace, from its status file; 0:
 * it is gone. `here`: its number in our namespace, returned if the kernel has no namespaces.
 */
static pid_t own_number(const char *path, pid_t here)
{
    static const char key[] = "\nNSpid:";
    char text[STATUS_BYTES], *at;
    pid_t ret = here;

    if (!read_text(path, text, sizeof text))
        return 0;
    at = strstr(text, key);
    if (!at)
        return here;
    for (at += strlen(key); *at == '\t'; at += strcspn(at + 1, "\t\n") + 1)
        ret = (pid_t)strtol(at, NULL, 10);
    return ret;
}

/* Check whether the process `here` reports the number `told` in its own namespace. */
static bool is_it(pid_t here, pid_t told)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)here);
    return own_number(path, here) == told;
}

/* Return the thread of pid that reports the number `told` in its own namespace; 0: none. */
static pid_t find_thread(pid_t pid, pid_t told)
{
    char path[80];
    struct dirent *e;
    pid_t ret = 0;
    DIR *dir;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && !ret && (e = readdir(dir))) {
        pid_t here = (pid_t)strtol(e->d_name, NULL, 10);

        (void)snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)here);
        if (here > 0 && own_number(path, here) == told)
            ret = here;
    }
    if (dir)
        (void)closedir(dir);
    return ret;
}

/* Find the process below root that reports p's numbers.  Two with the same number in different
 * namespaces cannot be distinguished: then none is known.
 */
static void look(struct process_load *p, pid_t root)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_list(root, &all, NULL), found = 0;

    for (int i = 0; i < n; i++) {
        if (!is_it(all[i].pid, p->told_pid))
            continue;
        found++;
        p->pid = all[i].pid;
        p->start = all[i].start;
    }
    if (found != 1)
        p->pid = 0;
    p->thread = p->pid > 0 ? find_thread(p->pid, p->told_thread) : 0;
}

bool process_load_find(struct process_load *p, pid_t root, pid_t pid, pid_t thread)
{
    if (root <= 0 || pid <= 0)
        return false;
    if (pid != p->told_pid || thread != p->told_thread ||
        (p->pid > 0 && proctree_start(p->pid) != p->start))
        *p = (struct process_load){ .told_pid = pid, .told_thread = thread };
    if (p->pid <= 0 && p->tries < TRIES) {
        p->tries++;
        look(p, root);
    }
    return p->pid > 0;
}

/* ---- its load ---- */

int64_t process_load_queued_ns(pid_t pid, pid_t thread)
{
    char path[64], text[128];
    int64_t queued_ns;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    if (pid <= 0 || thread <= 0 || !read_text(path, text, sizeof text) ||
        sscanf(text, "%*d %" SCNd64, &queued_ns) != 1)
        return -1;
    return queued_ns;
}

/* Return the bytes in a line such as "VmHWM: 1234 kB"; 0: there is no such line. */
static int64_t status_bytes(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    int64_t kib;

    return at && sscanf(at + strlen(key), "%" SCNd64, &kib) == 1 && kib > 0 &&
                   kib <= INT64_MAX / 1024
               ? kib * 1024
               : 0;
}

void process_load_memory(pid_t pid, struct process_memory *ret)
{
    char path[64], text[STATUS_BYTES];

    *ret = (struct process_memory){ 0 };
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (pid <= 0 || !read_text(path, text, sizeof text))
        return;
    ret->peak_bytes = status_bytes(text, "\nVmHWM:");
    ret->now_bytes = status_bytes(text, "\nVmRSS:");
    ret->file_bytes = status_bytes(text, "\nRssFile:");
}

bool process_load_group(pid_t pid, char *ret, size_t size)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    return pid > 0 && read_text(path, ret, size);
}
