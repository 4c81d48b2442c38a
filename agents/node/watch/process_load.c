/* SPDX-License-Identifier: Apache-2.0 */
/* process_load.c - finds a worker's process; reads /proc/PID/task/TID/schedstat, /proc/PID/status
 */
#include "process_load.h"

#include "lib/base/cleanup.h"
#include "lib/base/proctree.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

/* ---- the process ---- */

/* Return the number of a process or thread in its innermost PID namespace, from its status file in
 * /proc/PID; 0: it is gone. `here`: its number in our namespace, returned if the kernel has no
 * namespaces.
 */
static pid_t own_number(pid_t pid, const char *status, pid_t here)
{
    static const char key[] = "\nNSpid:";
    cleanup_free char *text = proctree_read(pid, status, NULL);
    char *at;
    pid_t ret = here;

    if (!text)
        return 0;
    at = strstr(text, key);
    if (!at)
        return here;
    for (at += strlen(key); *at == '\t'; at += strcspn(at + 1, "\t\n") + 1)
        ret = (pid_t)strtol(at, NULL, 10);
    return ret;
}

/* Return the thread of pid that reports the number `reported` in its own namespace; 0: none. */
static pid_t find_thread(pid_t pid, pid_t reported)
{
    char path[80];
    struct dirent *e;
    pid_t ret = 0;
    cleanup_dir DIR *dir = NULL;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && !ret && (e = readdir(dir))) {
        pid_t here = (pid_t)strtol(e->d_name, NULL, 10);

        (void)snprintf(path, sizeof path, "task/%d/status", (int)here);
        if (here > 0 && own_number(pid, path, here) == reported)
            ret = here;
    }
    return ret;
}

/* Find the descendant of root, and its thread, that have the numbers p->reported_pid and
 * p->reported_thread in their own PID namespace.  Set p->pid and p->thread to their numbers on this
 * node, and p->start; set pid and thread to 0 if there is none, or if several processes in
 * different namespaces have this number.
 */
static void look(struct process_load *p, pid_t root)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_list(root, &all, NULL), found = 0;

    for (int i = 0; i < n; i++) {
        if (own_number(all[i].pid, "status", all[i].pid) != p->reported_pid)
            continue;
        found++;
        p->pid = all[i].pid;
        p->start = all[i].start;
    }
    if (found != 1)
        p->pid = 0;
    p->thread = p->pid > 0 ? find_thread(p->pid, p->reported_thread) : 0;
}

bool process_load_find(struct process_load *p, pid_t root, pid_t pid, pid_t thread)
{
    if (root <= 0 || pid <= 0)
        return false;
    if (pid != p->reported_pid || thread != p->reported_thread ||
        (p->pid > 0 && proctree_start(p->pid) != p->start))
        *p = (struct process_load){ .reported_pid = pid, .reported_thread = thread };
    if (p->pid <= 0 && p->tries < TRIES) {
        p->tries++;
        look(p, root);
    }
    return p->pid > 0;
}

/* ---- the load of a process ---- */

int64_t process_load_queued_ns(pid_t pid, pid_t thread)
{
    cleanup_free char *text = NULL;
    char name[64];
    int64_t queued_ns;

    (void)snprintf(name, sizeof name, "task/%d/schedstat", (int)thread);
    text = pid > 0 && thread > 0 ? proctree_read(pid, name, NULL) : NULL;
    return text && sscanf(text, "%*d %" SCNd64, &queued_ns) == 1 ? queued_ns : -1;
}

/* Return the value, in bytes, of a line such as "VmHWM: 1234 kB" in a status file's text; 0: there
 * is no such line.
 */
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
    cleanup_free char *text = pid > 0 ? proctree_read(pid, "status", NULL) : NULL;

    *ret = (struct process_memory){ 0 };
    if (!text)
        return;
    ret->peak_bytes = status_bytes(text, "\nVmHWM:");
    ret->now_bytes = status_bytes(text, "\nVmRSS:");
    ret->file_bytes = status_bytes(text, "\nRssFile:");
}

bool process_load_group(pid_t pid, char *ret, size_t size)
{
    cleanup_free char *text = pid > 0 ? proctree_read(pid, "cgroup", NULL) : NULL;

    (void)snprintf(ret, size, "%s", text ? text : "");
    return ret[0];
}
