/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - makes, kills and finds control groups of version 2, and of version 1's freezer */
#include "cgroup.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/base/trust.h"
#include "profiler/quota.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Limits: bytes of a file that is read, levels of groups that are searched, age up to which an
 * empty group is kept.
 */
enum { MAX_BYTES = 1 << 20, DEPTH = 12, SWEEP_AGE_S = 2 };

/* ---- files of a control group ---- */

/* Write text to the file `name` of the group.  Return 0 or a negative errno. */
static int put(const struct cgroup *c, const char *name, const char *text)
{
    char path[CGROUP_PATH + 32];
    cleanup_fd int fd = -1;

    snprintf(path, sizeof path, "%s/%s", c->path, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return -errno;
    return 0;
}

/* Check whether the group has a file `name` that this user may write. */
static bool has(const struct cgroup *c, const char *name)
{
    char path[CGROUP_PATH + 32];

    snprintf(path, sizeof path, "%s/%s", c->path, name);
    return access(path, W_OK) == 0;
}

/* ---- locations of groups ---- */

/* Find this process's own group and the mount point of its hierarchy: of version 2 (v2) or of
 * version 1's freezer.  ret_point may be NULL.  Return whether the group is mounted here.
 */
static bool own_group(bool v2, struct cgroup *ret, char ret_point[CGROUP_PATH])
{
    char group[QUOTA_GROUP];
    bool outside = true;
    size_t n = quota_group("", "self", v2 ? "" : "freezer", group, &outside);
    /* Leaves room for a group below it; a cut path would be another group. */
    bool fits = n > 0 && strlen(group) < sizeof ret->path - 64;

    *ret = (struct cgroup){ 0 };
    if (fits && !outside)
        strcpy(ret->path, group);
    if (ret_point)
        (void)snprintf(ret_point, CGROUP_PATH, "%.*s", n < CGROUP_PATH ? (int)n : 0, group);
    return ret->path[0];
}

/* ---- making and removing ---- */

int cgroup_make(const char *name, struct cgroup *ret, struct eddis_error *err)
{
    int rc = -ENOENT;

    for (int v2 = 1; v2 >= 0; v2--) {
        struct cgroup parent, c = { 0 };

        if (!own_group(v2, &parent, NULL))
            continue;
        snprintf(c.path, sizeof c.path, "%.448s/%.38s", parent.path, name);
        if (mkdir(c.path, 0755) < 0) {
            rc = -errno;
            continue;
        }
        /* Without these files the group could only be listed, which a walk over descendants does as
         * well.
         */
        if (has(&c, v2 ? "cgroup.kill" : "freezer.state") && has(&c, "cgroup.procs")) {
            *ret = c;
            return 0;
        }
        (void)rmdir(c.path);
        rc = -EACCES;
    }
    return eddis_fail_errno(err, rc, "no control group can be made here");
}

int cgroup_add(const struct cgroup *c, pid_t pid)
{
    char text[16];

    snprintf(text, sizeof text, "%d", (int)pid);
    return put(c, "cgroup.procs", text);
}

/* Remove the groups below the folder `base`, at most depth levels: processes of the job may have
 * made them.
 */
static void remove_below(const char *base, int depth)
{
    cleanup_dir DIR *dir = depth > 0 ? opendir(base) : NULL;
    struct dirent *e;

    while (dir && (e = readdir(dir))) {
        cleanup_free char *path = NULL;

        if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
            !(path = file_join(base, "%s", e->d_name)))
            continue;
        remove_below(path, depth - 1);
        (void)rmdir(path);
    }
}

static int signal_all(const char *base, int depth, int sig, struct eddis_error *err);

int cgroup_remove(struct cgroup *c, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = 0;

    /* A process counts for a moment after it was reaped. */
    while (rc == 0 && c->path[0] && rmdir(c->path) < 0 && errno == EBUSY) {
        int alive = signal_all(c->path, DEPTH, 0, err);

        if (alive == 0)
            remove_below(c->path, DEPTH);
        if (alive < 0)
            rc = alive;
        else if (alive > 0)
            rc =
                eddis_fail(err, -EBUSY, "control group '%s' has %d live processes", c->path, alive);
        else if (clock_now_ns() >= deadline_ns)
            rc = eddis_fail(err, -ETIMEDOUT,
                            "the kernel still counts ended processes to control group '%s', which "
                            "therefore cannot be removed",
                            c->path);
        else
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
    c->path[0] = '\0';
    return rc;
}

/* ---- killing ---- */

/* Send a signal (0: none) to all live processes of the group at `base`, except this one, without
 * the groups below it.  Return their number, 0 if the group does not exist, or a negative errno.
 */
static int signal_group(const char *base, int sig, struct eddis_error *err)
{
    cleanup_free char *path = file_join(base, "cgroup.procs"), *text = NULL;
    cleanup_fd int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char *save = NULL;
    int n = 0, rc;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    if (fd < 0)
        return errno == ENOENT ? 0 : eddis_fail_errno(err, -errno, "cannot read '%s'", path);
    rc = file_read_fd(fd, path, MAX_BYTES, &text, NULL, err);
    if (rc == -ENODEV) /* the group was removed since */
        return 0;
    for (char *l = rc < 0 ? NULL : strtok_r(text, "\n", &save); l;
         l = strtok_r(NULL, "\n", &save)) {
        pid_t pid = (pid_t)atoi(l);
        char state = proctree_state(pid);

        if (pid <= 0 || pid == getpid() || state == '\0' || state == 'Z' || state == 'X')
            continue;
        if (sig)
            (void)kill(pid, sig);
        n++;
    }
    return rc < 0 ? rc : n;
}

/* Send a signal (0: none) to all live processes of the group at `base` and of those below it, at
 * most depth levels, except to this one.  Return as signal_group.
 */
static int signal_all(const char *base, int depth, int sig, struct eddis_error *err)
{
    int n = signal_group(base, sig, err);
    cleanup_dir DIR *dir = n >= 0 && depth > 0 ? opendir(base) : NULL;
    struct dirent *e;

    while (n >= 0 && dir && (e = readdir(dir))) {
        cleanup_free char *path = NULL;
        int more;

        if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
            !(path = file_join(base, "%s", e->d_name)))
            continue;
        more = signal_all(path, depth - 1, sig, err);
        n = more < 0 ? more : n + more;
    }
    return n;
}

/* Send SIGKILL to all processes of the group, without waiting.  Version 1 cannot kill a whole group
 * with one write; in version 1 every eighth round freezes the group during the kill, for processes
 * that fork faster than they are signalled.
 */
static void kill_once(const struct cgroup *c, int round)
{
    if (put(c, "cgroup.kill", "1") == 0 || !has(c, "freezer.state"))
        return;
    if (round % 8 == 7)
        (void)put(c, "freezer.state", "FROZEN");
    (void)signal_all(c->path, DEPTH, SIGKILL, NULL);
    (void)put(c, "freezer.state", "THAWED");
}

int cgroup_kill(const struct cgroup *c, int64_t deadline_ns, struct eddis_error *err)
{
    int first = signal_all(c->path, DEPTH, 0, err), n = first;

    for (int round = 0; n > 0; round++) {
        kill_once(c, round);
        n = signal_all(c->path, DEPTH, SIGKILL, err);
        if (n > 0 && clock_now_ns() >= deadline_ns)
            return eddis_fail(err, -ETIMEDOUT, "%d processes of '%s' do not end after SIGKILL", n,
                              c->path);
        if (n > 0)
            clock_sleep_until_ns(clock_now_ns() + 2 * CLOCK_MS);
    }
    return n < 0 ? n : first;
}

/* ---- finding ---- */

/* Check whether this user owns the folder `name` in dir: another user may have made a group of the
 * same name, which this process could not end.
 */
static bool is_ours(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && trust_is_self(st.st_uid);
}

/* Store in ret [max] this user's groups of a start, or of an earlier start on the same node, that
 * are found below base in at most depth + 1 levels.  Return their number, at most max.
 */
static int search(const char *base, const struct node_identity *id, int depth, struct cgroup *ret,
                  int max)
{
    cleanup_dir DIR *dir = opendir(base);
    struct dirent *e;
    int n = 0;

    while (dir && (e = readdir(dir)) && n < max) {
        cleanup_free char *path = NULL;

        if (e->d_type != DT_DIR || e->d_name[0] == '.')
            continue;
        path = file_join(base, "%s", e->d_name);
        if (!path || strlen(path) >= sizeof ret->path)
            continue;
        if (node_identity_is_cgroup(e->d_name) &&
            node_identity_covers(id, 1, strchr(e->d_name, '-') + 1) &&
            is_ours(dirfd(dir), e->d_name))
            strcpy(ret[n++].path, path);
        else if (depth > 0)
            n += search(path, id, depth - 1, ret + n, max - n);
    }
    return n;
}

int cgroup_find(const struct node_identity *id, struct cgroup *ret, int max)
{
    char point[CGROUP_PATH];
    struct cgroup own;
    int n = 0;

    for (int v2 = 1; v2 >= 0 && n < max; v2--) {
        (void)own_group(v2, &own, point);
        if (point[0])
            n += search(point, id, DEPTH, ret + n, max - n);
    }
    return n;
}

/* ---- groups of dead supervisors ---- */

/* Check whether this user owns the group `name` in dir, and it is not new: a supervisor may be
 * about to put its agent into a new group.
 */
static bool is_old(int dir, const char *name)
{
    struct stat st;

    return is_ours(dir, name) && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - st.st_ctime > SWEEP_AGE_S;
}

/* A search for groups to remove. */
struct sweep {
    int64_t deadline_ns; /* the search stops */
    int64_t wait_ns;     /* until when it waits for ended processes that the kernel counts */
    int waits;           /* number of groups that have no other processes */
};

/* Remove this user's groups with eddis's names that are below base in at most depth + 1 levels and
 * have no live processes.  err: names a group that stays because the kernel counts ended processes.
 */
static void sweep(struct sweep *s, const char *base, int depth, struct eddis_error *err)
{
    cleanup_dir DIR *dir = opendir(base);
    struct dirent *e;

    while (dir && (e = readdir(dir)) && clock_now_ns() < s->deadline_ns) {
        cleanup_free char *path = NULL;
        struct eddis_error why;
        struct cgroup c;

        if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
            !(path = file_join(base, "%s", e->d_name)))
            continue;
        if (depth > 0)
            sweep(s, path, depth - 1, err);
        if (!node_identity_is_cgroup(e->d_name) || strlen(path) >= sizeof c.path ||
            !is_old(dirfd(dir), e->d_name))
            continue;
        strcpy(c.path, path);
        if (cgroup_remove(&c, s->wait_ns, &why) == -ETIMEDOUT) {
            (void)eddis_fail(err, why.code, "%s", why.text);
            s->waits++;
        }
    }
}

int cgroup_sweep(int64_t deadline_ns, struct eddis_error *err)
{
    char point[CGROUP_PATH];
    struct sweep s = { .deadline_ns = deadline_ns, .waits = 1 };
    struct eddis_error why = { 0 };
    struct cgroup own;

    /* One group that does not become empty must not use up the time of the others. */
    for (int again = 0; again < 2 && s.waits; again++) {
        s.wait_ns = again ? deadline_ns : 0;
        s.waits = 0;
        for (int v2 = 1; v2 >= 0; v2--) {
            (void)own_group(v2, &own, point);
            if (point[0])
                sweep(&s, point, DEPTH, &why);
        }
    }
    return s.waits ? eddis_fail(err, -ETIMEDOUT, "%s", why.text) : 0;
}

void cgroup_leave(int64_t deadline_ns)
{
    for (int v2 = 1; v2 >= 0; v2--) {
        struct cgroup own, parent;
        char *slash;

        if (!own_group(v2, &own, NULL) || !(slash = strrchr(own.path, '/')) ||
            !node_identity_is_cgroup(slash + 1))
            continue;
        parent = own;
        *strrchr(parent.path, '/') = '\0';
        if (cgroup_add(&parent, getpid()) < 0)
            continue;
        (void)cgroup_kill(&own, deadline_ns, NULL);
        (void)cgroup_remove(&own, deadline_ns, NULL);
    }
}
