/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_lock.c - lock GPUs by abstract sockets
 *
 * A job's agent binds "eddis-gpu/GPU/UID/JOB" first, then "eddis-gpu/GPU", the lock. The first name
 * keeps the agents of one job on one machine apart, and names the owner to other jobs. A job that
 * waits for the GPU binds "eddis-gpu-queue/GPU/TIME/UID/JOB"; the earliest of them is the next.
 */
#include "gpu_lock.h"

#include "lib/base/text.h"
#include "lib/model/gpu_share.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Most bytes of a name: an address ends with its length, not with a zero. */
enum { MOST = sizeof((struct sockaddr_un *)0)->sun_path - 2, NAME = MOST + 1 };

/* Job that has locked a GPU, and its user: "ann" or "user 1001" */
struct owner {
    char job[NAME], user[64];
};

/* Append "UID/JOB" of this user's job to the name in ret [NAME]. Of a long id the end is kept,
 * which has the time and random digits.
 */
static void name_job(const char *job_id, char *ret)
{
    size_t at = strlen(ret);
    int n = snprintf(ret + at, NAME - at, "%ld/", (long)getuid());
    size_t length = strlen(job_id), room = at + (size_t)n < MOST ? MOST - at - (size_t)n : 0;

    if (room)
        (void)snprintf(ret + at + n, room + 1, "%s",
                       length > room ? job_id + length - room : job_id);
}

/* Bind a socket to an abstract name and add it to *l. Return 0 or a negative errno. */
static int bind_to(struct gpu_lock *l, const char *name)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t n = strlen(name);
    int *fd = realloc(l->fd, (size_t)(l->n + 1) * sizeof *fd);
    int rc = 0;

    if (!fd)
        return -ENOMEM;
    l->fd = fd;
    memcpy(a.sun_path + 1, name, n);
    fd[l->n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd[l->n] < 0)
        return -errno;
    if (bind(fd[l->n], (const struct sockaddr *)&a,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) < 0)
        rc = -errno;
    if (rc < 0)
        (void)close(fd[l->n]);
    else
        l->n++;
    return rc;
}

/* Write the name of the user with this id to ret. */
static void name_user(long uid, char *ret, size_t size)
{
    struct passwd p, *found = NULL;
    char text[1024];

    if (getpwuid_r((uid_t)uid, &p, text, sizeof text, &found) == 0 && found)
        (void)snprintf(ret, size, "%s", p.pw_name);
    else
        (void)snprintf(ret, size, "user %ld", uid);
}

/* Store in *ret the job in "UID/JOB", the end of a name. Return false if it is not well formed. */
static bool read_owner(const char *end_of_name, struct owner *ret)
{
    char *end;
    long uid = strtol(end_of_name, &end, 10);

    if (uid < 0 || end == end_of_name || *end != '/')
        return false;
    (void)snprintf(ret->job, sizeof ret->job, "%.*s", (int)strcspn(end + 1, " @\n"), end + 1);
    text_strip_control(ret->job);
    name_user(uid, ret->user, sizeof ret->user);
    return true;
}

/* Store the owner of the GPU in *ret. Return false if it is unknown. */
static bool find_owner(const char *device_id, struct owner *ret)
{
    char line[512], prefix[NAME + 1];
    FILE *f = fopen("/proc/net/unix", "re");
    bool found = false;

    (void)snprintf(prefix, sizeof prefix, "@" GPU_LOCK_NAME "%s/", device_id);
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, prefix);

        found = at && read_owner(at + strlen(prefix), ret);
    }
    if (f)
        (void)fclose(f);
    return found;
}

/* Store in *ret the job that has waited for the GPU for longest, and longer than job `own`, which
 * waits since this time (INT64_MAX: it does not wait). Return false if there is none.
 */
static bool find_earlier(const char *device_id, int64_t since, const char *own, struct owner *ret)
{
    char line[512], prefix[NAME + 1], mine[NAME];
    FILE *f = fopen("/proc/net/unix", "re");
    bool found = false;

    (void)snprintf(prefix, sizeof prefix, "@eddis-gpu-queue/%s/", device_id);
    while (f && fgets(line, sizeof line, f)) {
        char *at = strstr(line, prefix), *end;
        long long other = at ? strtoll(at + strlen(prefix), &end, 10) : -1;
        struct owner o;

        if (other < 0 || *end != '/' || other > since)
            continue;
        end[1 + strcspn(end + 1, " @\n")] = '\0';
        if (snprintf(mine, sizeof mine, "%s%lld/", prefix + 1, other) >= (int)sizeof mine)
            continue; /* longer than a name of ours */
        name_job(own, mine);
        if (strcmp(at + 1, mine) == 0 || (other == since && strcmp(at + 1, mine) > 0) ||
            !read_owner(end + 1, &o))
            continue;
        *ret = o;
        since = other;
        found = true;
    }
    if (f)
        (void)fclose(f);
    return found;
}

/* Check whether the id is that of a GPU that a job locks for itself. */
static bool is_lockable(const char *device_id)
{
    return (strncmp(device_id, "GPU-", 4) == 0 || strncmp(device_id, "MIG-", 4) == 0) &&
           !gpu_share_is_meant();
}

/* Lock one GPU for a job that waits for it since this time (INT64_MAX: it does not wait). Return 0
 * or -ENOMEM; -EADDRINUSE: another job has locked it or has waited for longer; *ret is that job,
 * and *ret_waits whether it waits.
 */
static int lock(struct gpu_lock *l, const char *device_id, const char *job_id, int64_t since,
                struct owner *ret, bool *ret_waits)
{
    bool earlier = find_earlier(device_id, since, job_id, ret), owned;
    int before = l->n, rc;
    struct owner owner;
    char name[NAME];

    (void)snprintf(name, sizeof name, GPU_LOCK_NAME "%s/", device_id);
    name_job(job_id, name);
    rc = bind_to(l, name);
    if (rc == -EADDRINUSE)
        return 0; /* an agent of this job has it */
    if (rc == 0 && earlier) {
        rc = -EADDRINUSE;
    } else if (rc == 0) {
        (void)snprintf(name, sizeof name, GPU_LOCK_NAME "%s", device_id);
        rc = bind_to(l, name);
    }
    if (rc < 0)
        gpu_lock_cut(l, before);
    owned = rc == -EADDRINUSE && find_owner(device_id, &owner); /* this job's own name is gone */
    *ret_waits = rc == -EADDRINUSE && earlier && !owned;
    if (owned)
        *ret = owner;
    else if (rc == -EADDRINUSE && !earlier)
        *ret = (struct owner){ "(unknown)", "another user" };
    /* Where the system has no such sockets, no job locks. */
    return rc == -EADDRINUSE || rc == -ENOMEM ? rc : 0;
}

int gpu_lock_in_turn(struct gpu_lock *l, const char *device_id, const char *job_id,
                     int64_t since_ms, struct eddis_error *err)
{
    struct owner o;
    bool waits;
    int rc = is_lockable(device_id) ? lock(l, device_id, job_id, since_ms, &o, &waits) : 0;

    if (rc == -ENOMEM)
        return eddis_fail(err, rc, "no memory to lock '%s'", device_id);
    if (rc == 0)
        return 0;
    return eddis_fail(err, rc, "'%s' is %s job %s of %s", device_id,
                      waits ? "next for" : "in use by", o.job, o.user);
}

int gpu_lock_add(struct gpu_lock *l, const char *device_id, const char *job_id,
                 struct eddis_error *err)
{
    int rc = gpu_lock_in_turn(l, device_id, job_id, INT64_MAX, err);

    if (rc == -EADDRINUSE && err)
        text_append(err->text, sizeof err->text,
                    "; wait until it has ended (--wait), list other GPUs (nodes: devices), or set "
                    "CUDA_VISIBLE_DEVICES to an empty value to train on the CPUs");
    return rc;
}

int gpu_lock_queue(struct gpu_lock *l, const char *device_id, const char *job_id, int64_t since_ms,
                   struct eddis_error *err)
{
    char name[NAME];
    int rc;

    if (!is_lockable(device_id))
        return 0;
    (void)snprintf(name, sizeof name, "eddis-gpu-queue/%s/%lld/", device_id, (long long)since_ms);
    name_job(job_id, name);
    rc = bind_to(l, name);
    return rc == -ENOMEM ? eddis_fail(err, rc, "no memory to wait for '%s'", device_id) : 0;
}

void gpu_lock_move(struct gpu_lock *from, const char *device_id, struct gpu_lock *to)
{
    char name[NAME], job[NAME];
    int n = 0;

    (void)snprintf(name, sizeof name, GPU_LOCK_NAME "%s", device_id);
    (void)snprintf(job, sizeof job, GPU_LOCK_NAME "%s/", device_id);
    for (int i = 0; i < from->n; i++) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        socklen_t size = sizeof a - 1; /* the text ends with a zero */
        int *fd = NULL;

        if (getsockname(from->fd[i], (struct sockaddr *)&a, &size) == 0 &&
            (strcmp(a.sun_path + 1, name) == 0 || strncmp(a.sun_path + 1, job, strlen(job)) == 0))
            fd = realloc(to->fd, (size_t)(to->n + 1) * sizeof *fd);
        if (!fd) {
            from->fd[n++] = from->fd[i];
            continue;
        }
        to->fd = fd;
        to->fd[to->n++] = from->fd[i];
    }
    from->n = n;
}

void gpu_lock_keep(struct gpu_lock *l, gpu_lock_wanted_fn *wanted, const void *ctx)
{
    const size_t prefix = strlen(GPU_LOCK_NAME);
    int n = 0;

    for (int i = 0; i < l->n; i++) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        socklen_t size = sizeof a - 1; /* the text ends with a zero */
        char *id = a.sun_path + 1 + prefix;
        bool named = getsockname(l->fd[i], (struct sockaddr *)&a, &size) == 0 &&
                     strncmp(a.sun_path + 1, GPU_LOCK_NAME, prefix) == 0;

        id[strcspn(id, "/")] = '\0'; /* cuts off user and job */
        if (!named || wanted(id, ctx))
            l->fd[n++] = l->fd[i];
        else
            (void)close(l->fd[i]);
    }
    l->n = n;
}

void gpu_lock_cut(struct gpu_lock *l, int n)
{
    while (l->n > n)
        (void)close(l->fd[--l->n]);
}

void gpu_lock_release(struct gpu_lock *l)
{
    gpu_lock_cut(l, 0);
    free(l->fd);
    *l = (struct gpu_lock){ 0 };
}
