/* SPDX-License-Identifier: Apache-2.0 */
/* orphans.c - kills and removes what is left of a job on a node, found by its starts' marks */
#include "orphans.h"

#include "cgroup.h"
#include "folders.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

enum { MAX_GROUPS = 8 };

/* By what a job's processes and folders on this node are recognized. */
struct job_marks {
    char id[160]; /* "EDDIS_JOB_ID=..."; "": only the marks of the starts count */
    const struct node_identity *start; /* [n_starts]; borrowed */
    int n_starts;
    char (*folder)[FOLDERS_PATH]; /* [n_folders] paths of folders with their marks */
    int n_folders;
};

/* Check whether a command line has a mark as a word, or contains the name of a folder.  A process
 * that cleans up the job, such as srun with this program, names it too and does not count.
 */
static bool names_start(const char *text, size_t n, const struct job_marks *m)
{
    bool found = false;

    for (const char *at = text; at < text + n; at += strlen(at) + 1) {
        if (strcmp(at, "--cleanup") == 0)
            return false;
        found |= node_identity_covers(m->start, m->n_starts, at);
    }
    if (found)
        return true;
    for (int i = 0; i < m->n_folders; i++) {
        const char *name = strrchr(m->folder[i], '/');

        if (memmem(text, n, name, strlen(name)))
            return true;
    }
    return false;
}

/* Check whether an environment, n bytes of NUL-terminated variables, has a mark of the job's starts
 * or the job's id.
 */
static bool carries_mark(const char *text, size_t n, const struct job_marks *m)
{
    static const char mark[] = NODE_IDENTITY_VARIABLE "=";

    for (const char *at = text; at < text + n; at += strlen(at) + 1) {
        if (m->id[0] && strcmp(at, m->id) == 0)
            return true;
        if (strncmp(at, mark, sizeof mark - 1) == 0 &&
            node_identity_covers(m->start, m->n_starts, at + sizeof mark - 1))
            return true;
    }
    return false;
}

/* Check whether a process belongs to the job, by its command line or environment. */
static bool is_marked(const struct job_marks *m, pid_t pid)
{
    size_t n = 0;
    cleanup_free char *line = proctree_read(pid, "cmdline", &n), *environment = NULL;

    if (line && names_start(line, n, m))
        return true;
    environment = proctree_read(pid, "environ", &n);
    return environment && carries_mark(environment, n, m);
}

/* Check whether `pid` is this process, one of its ancestors by the list all [n], or not above 1. */
static bool is_above_us(const struct proctree_process *all, int n, pid_t pid)
{
    pid_t at = getpid();

    for (int depth = 0; at > 1 && depth < 1000; depth++) {
        pid_t parent = 0;

        if (at == pid)
            return true;
        for (int i = 0; i < n && !parent; i++)
            if (all[i].pid == at)
                parent = all[i].parent;
        at = parent;
    }
    return pid <= 1;
}

/* Move this user's processes of the job, which are the marked processes and all their descendants,
 * to the front of all [n].  Return their number.  This process, its ancestors and dead processes do
 * not count.
 */
static int sift(const struct job_marks *m, struct proctree_process *all, int n)
{
    int found = 0;

    for (int round = 0, before = -1; before < found || round == 0; round++) {
        before = found;
        for (int i = found; i < n; i++) {
            struct proctree_process one = all[i];
            bool below = false;

            for (int j = 0; j < found && !below; j++)
                below = one.parent == all[j].pid;
            if (one.state == 'Z' || one.state == 'X' || (!below && round > 0))
                continue;
            if (proctree_user(one.pid) != getuid() || (!below && !is_marked(m, one.pid)) ||
                is_above_us(all, n, one.pid))
                continue;
            all[i] = all[found];
            all[found++] = one;
        }
    }
    return found;
}

/* Count a killed process in *l, and add its command to the names that the user is shown. */
static void name_process(struct orphans *l, const struct proctree_process *p)
{
    size_t n = strlen(l->names);

    l->processes++;
    if (!strstr(l->names, p->command) && n + strlen(p->command) + 3 < sizeof l->names)
        snprintf(l->names + n, sizeof l->names - n, "%s%s", n ? ", " : "", p->command);
}

/* Kill all processes of the job, repeatedly, until none is left; block.  Record the killed
 * processes of the first pass in *l.  Return 0 or a negative errno; -ETIMEDOUT: err names a process
 * that does not end.
 */
static int kill_processes(const struct job_marks *m, int64_t deadline_ns, struct orphans *l,
                          struct eddis_error *err)
{
    for (bool first = true;; first = false) {
        cleanup_free struct proctree_process *all = NULL;
        int n = proctree_all(&all, err);

        if (n < 0)
            return n;
        n = sift(m, all, n);
        if (n == 0)
            return 0;
        for (int i = 0; i < n; i++)
            if (proctree_send(&all[i], SIGKILL) == 0 && first)
                name_process(l, &all[i]);
        if (clock_now_ns() >= deadline_ns)
            return eddis_fail(err, -ETIMEDOUT, "process %d (%s) does not end after SIGKILL",
                              (int)all[0].pid, all[0].command);
        clock_sleep_until_ns(clock_now_ns() + 10 * CLOCK_MS);
    }
}

/* Kill all processes in the control groups of a start, remove the groups, and count both in *l.
 * Store in *stays, and go on, if a group cannot be removed.  Return 0 or a negative errno.
 */
static int end_groups(const struct node_identity *start, int64_t deadline_ns, struct orphans *l,
                      struct eddis_error *stays, struct eddis_error *err)
{
    cleanup_free struct cgroup *group = calloc(MAX_GROUPS, sizeof *group);
    int n = group ? cgroup_find(start, group, MAX_GROUPS) : 0;

    for (int i = 0; i < n; i++) {
        int rc = cgroup_kill(&group[i], deadline_ns, err);

        if (rc < 0)
            return rc;
        l->processes += rc;
        l->groups++;
    }
    for (int i = 0; i < n; i++)
        (void)cgroup_remove(&group[i], deadline_ns, stays);
    return 0;
}

/* Check that no process holds a lock on a folder; the agent of the folder's job does.  If /proc
 * hides processes, nothing else shows that the agent lives.  Return 0, or -EBUSY: it is locked.
 */
static int check_free(const char *folder, struct eddis_error *err)
{
    cleanup_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return eddis_fail(err, -EBUSY, "'%s' is locked by a process that cannot be seen", folder);
    return 0;
}

/* Remove all folders of the job that are not locked, and count them in l->folders.  Return 0, or
 * the error of the last folder that is left, such as -EBUSY.
 */
static int remove_folders(const struct job_marks *m, struct orphans *l, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; i < m->n_folders; i++) {
        int one = check_free(m->folder[i], err);

        l->folders++;
        if (one == 0)
            one = folders_remove_one(m->folder[i], err);
        rc = one < 0 ? one : rc;
    }
    return rc;
}

/* Append the n paths `more` to the job's folders.  Return 0 or -ENOMEM. */
static int add_folders(struct job_marks *m, char (*more)[FOLDERS_PATH], int n,
                       struct eddis_error *err)
{
    size_t all = (size_t)m->n_folders + (size_t)n;
    char(*list)[FOLDERS_PATH] = realloc(m->folder, all * sizeof *list);

    if (!list)
        return eddis_fail(err, -ENOMEM, "no memory for the folders that are left");
    memcpy(list + m->n_folders, more, (size_t)n * sizeof *more);
    m->folder = list;
    m->n_folders += n;
    return 0;
}

/* Find the folders of the job's starts until half of the time to the deadline has passed.  They
 * take the place of those found before.  If not all folders could be examined, set *late and keep
 * both; then a folder may be in the list twice.  Return 0 or a negative errno.
 */
static int find_folders(struct job_marks *m, int64_t deadline_ns, bool *late,
                        struct eddis_error *err)
{
    int64_t now_ns = clock_now_ns();
    char(*found)[FOLDERS_PATH] = NULL;
    bool cut = false;
    int n =
        folders_find(m->start, m->n_starts, now_ns + (deadline_ns - now_ns) / 2, &found, &cut, err);
    int rc;

    if (n < 0)
        return n;
    *late |= cut;
    if (!cut)
        m->n_folders = 0;
    rc = n ? add_folders(m, found, n, err) : 0;
    free(found);
    return rc;
}

/* Return until when processes may be killed: a quarter of the time to the deadline is for the
 * folders.
 */
static int64_t kill_until_ns(int64_t deadline_ns)
{
    int64_t now_ns = clock_now_ns();

    return deadline_ns > now_ns ? deadline_ns - (deadline_ns - now_ns) / 4 : deadline_ns;
}

int orphans_end(const char *job_id, const struct node_identity *start, int n, int64_t deadline_ns,
                struct orphans *ret, struct eddis_error *err)
{
    struct job_marks m = { .start = start, .n_starts = n };
    struct orphans l = { 0 };
    int64_t kill_ns = kill_until_ns(deadline_ns);
    struct eddis_error stays = { 0 };
    bool late = false;
    int rc;

    if (job_id && *job_id)
        snprintf(m.id, sizeof m.id, "EDDIS_JOB_ID=%.140s", job_id);
    rc = find_folders(&m, deadline_ns, &late, err);
    if (rc == 0)
        rc = kill_processes(&m, kill_ns, &l, err);
    if (rc == 0) /* also those that a process made before it was killed */
        rc = find_folders(&m, deadline_ns, &late, err);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = end_groups(&start[i], kill_until_ns(deadline_ns), &l, &stays, err);
    if (rc == 0)
        rc = remove_folders(&m, &l, err);
    free(m.folder);
    if (rc == 0 && stays.code)
        rc = eddis_fail(err, stays.code, "%s", stays.text);
    if (rc == 0 && late)
        rc = eddis_fail(err, -ETIMEDOUT,
                        "there are too many folders eddis-* in /tmp or /dev/shm to examine all of "
                        "them; remove those of other users, then clean up again");
    if (rc == 0)
        *ret = l;
    return rc;
}
