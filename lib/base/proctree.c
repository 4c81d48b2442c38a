/* SPDX-License-Identifier: Apache-2.0 */
/* proctree.c - walk /proc for the descendants of a process */
#include "proctree.h"

#include "array.h"
#include "cleanup.h"
#include "clock.h"
#include "file.h"
#include "pidfd_call.h"
#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { MAX_TEXT = 4 << 20 }; /* limit of the bytes that proctree_read reads */

#define EXITING 0x4 /* PF_EXITING of the kernel, in the flags of /proc/PID/stat */

/* Read /proc/PID/stat into *ret.  The command name in it may contain spaces, brackets and newlines,
 * so the fields are parsed from the last ')' on.  Return 0, -ESRCH if there is no such process, or
 * -EINVAL if the file cannot be parsed.
 */
static int read_stat(pid_t pid, struct proctree_process *ret)
{
    char path[64], line[512];
    cleanup_fd int fd = -1;
    char *open_bracket, *close_bracket;
    int64_t used[4]; /* user and kernel time of the process; the same of its reaped children */
    unsigned flags;
    int parent;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (n <= 0)
        return -ESRCH;
    line[n] = '\0';
    open_bracket = strchr(line, '(');
    close_bracket = strrchr(line, ')');
    if (!open_bracket || !close_bracket || close_bracket < open_bracket ||
        sscanf(close_bracket + 1,
               " %c %d %*s %*s %*s %*s %u %*s %*s %*s %*s %" SCNd64 " %" SCNd64 " %" SCNd64
               " %" SCNd64 " %*s %*s %*s %*s %" SCNd64,
               &ret->state, &parent, &flags, &used[0], &used[1], &used[2], &used[3],
               &ret->start) != 8)
        return -EINVAL;
    *close_bracket = '\0';
    ret->pid = pid;
    ret->parent = parent;
    ret->used = used[0] + used[1] + used[2] + used[3];
    ret->ending = ret->state == 'Z' || ret->state == 'X' || (flags & EXITING);
    snprintf(ret->command, sizeof ret->command, "%.15s", open_bracket + 1);
    text_strip_control(ret->command);
    return 0;
}

int proctree_all(struct proctree_process **ret, struct eddis_error *err)
{
    cleanup_free struct proctree_process *all = NULL;
    size_t n = 0, room = 0;
    struct dirent *e;
    cleanup_dir DIR *dir = opendir("/proc");

    if (!dir)
        return eddis_fail_errno(err, -errno, "cannot read /proc");
    while ((e = readdir(dir))) {
        struct proctree_process one;

        if (!isdigit((unsigned char)e->d_name[0]) || read_stat((pid_t)atoi(e->d_name), &one) < 0)
            continue;
        if (!array_grow(&all, &room, n, sizeof *all))
            return eddis_fail(err, -ENOMEM, "no memory for the process list");
        all[n++] = one;
    }
    *ret = cleanup_keep(all);
    return (int)n;
}

/* Move the descendants of root to the front of the array all [n], parents before children.  Return
 * the number of descendants.
 */
static int sift(struct proctree_process *all, int n, pid_t root)
{
    int found = 0;

    for (int at = -1; at < found; at++) {
        pid_t parent = at < 0 ? root : all[at].pid;

        for (int i = found; i < n; i++)
            if (all[i].parent == parent && all[i].pid != root) {
                struct proctree_process one = all[i];

                all[i] = all[found];
                all[found++] = one;
            }
    }
    return found;
}

int proctree_list(pid_t root, struct proctree_process **ret, struct eddis_error *err)
{
    struct proctree_process *all = NULL;
    int n = proctree_all(&all, err);

    if (n < 0)
        return n;
    n = sift(all, n, root);
    if (n == 0) {
        free(all);
        all = NULL;
    }
    *ret = all;
    return n;
}

char proctree_state(pid_t pid)
{
    struct proctree_process p;

    return pid > 0 && read_stat(pid, &p) == 0 ? p.state : '\0';
}

int64_t proctree_start(pid_t pid)
{
    struct proctree_process p;

    return pid > 0 && read_stat(pid, &p) == 0 ? p.start : -1;
}

uid_t proctree_user(pid_t pid)
{
    cleanup_free char *text = proctree_read(pid, "status", NULL);
    const char *line = text ? strstr(text, "\nUid:") : NULL;

    return line ? (uid_t)strtoul(line + 5, NULL, 10) : (uid_t)-1;
}

pid_t proctree_above(const char *command)
{
    struct proctree_process p;

    for (pid_t at = getppid(); at > 0; at = p.parent) {
        if (read_stat(at, &p) < 0)
            return 0;
        if (strcmp(p.command, command) == 0)
            return at;
    }
    return 0;
}

char *proctree_read(pid_t pid, const char *name, size_t *ret_n)
{
    char path[64], *text = NULL;
    int fd, rc;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    rc = file_read_fd(fd, path, MAX_TEXT, &text, ret_n, NULL);
    (void)close(fd);
    errno = -rc;
    return rc == 0 ? text : NULL;
}

const char *proctree_value(const char *text, size_t n, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = text; at < text + n; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

bool proctree_ending(pid_t pid)
{
    struct proctree_process p;

    return read_stat(pid, &p) < 0 || p.ending;
}

bool proctree_maps(pid_t pid, const char *text)
{
    char path[64], line[4096 + 128];
    cleanup_file FILE *f = NULL;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, text) != NULL;
    return found;
}

int64_t proctree_switches(pid_t pid)
{
    char path[64], line[256];
    int64_t all = 0, one;
    cleanup_file FILE *f = NULL;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return -1;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "voluntary_ctxt_switches: %" SCNd64, &one) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %" SCNd64, &one) == 1)
            all += one;
    return all;
}

int proctree_send(const struct proctree_process *p, int sig)
{
    cleanup_fd int fd = pidfd_call_open(p->pid);
    struct proctree_process now;
    int rc;

    if (fd < 0 && !pidfd_call_refused(-fd))
        return fd;
    if (read_stat(p->pid, &now) < 0 || now.start != p->start)
        return -ESRCH;
    rc = fd < 0 ? -ENOSYS : pidfd_call_signal(fd, sig);
    if (rc < 0 && rc != -ESRCH)
        return kill(p->pid, sig) < 0 ? -errno : 0;
    return rc;
}

int proctree_signal(pid_t root, int sig, pid_t except, struct eddis_error *err)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_list(root, &all, err);
    int sent = 0;

    for (int i = 0; i < n; i++) {
        bool spared = except && all[i].pid == except;

        for (int j = 0; !spared && except && j < i; j++)
            spared = all[j].pid == all[i].parent && all[j].state == '\0';
        if (spared) {
            all[i].state = '\0'; /* mark the process, so that its children are spared too */
            continue;
        }
        if (all[i].state != 'Z' && proctree_send(&all[i], sig) == 0)
            sent++;
    }
    return n < 0 ? n : sent;
}

int proctree_kill_all(int64_t deadline_ns, struct eddis_error *err)
{
    for (;;) {
        cleanup_free struct proctree_process *all = NULL;
        int n;

        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        n = proctree_list(getpid(), &all, err);
        if (n <= 0)
            return n;
        for (int i = 0; i < n; i++)
            if (all[i].state != 'Z')
                (void)proctree_send(&all[i], SIGKILL);
        if (clock_now_ns() >= deadline_ns)
            return eddis_fail(err, -ETIMEDOUT, "process %d (%s) does not end after SIGKILL",
                              (int)all[0].pid, all[0].command);
        clock_sleep_until_ns(clock_now_ns() + 2 * CLOCK_MS);
    }
}
