/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_lock.c - lock GPUs by abstract sockets
 *
 * A job's agent binds "eddis-gpu/GPU/UID/JOB" first, then "eddis-gpu/GPU", the lock. The first name
 * keeps the agents of one job on one machine apart, and names the owner to other jobs.
 */
#include "gpu_lock.h"

#include "lib/base/text.h"

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

/* Write the name of this user's job to ret [NAME]. Of a long id the end is kept, which has the time
 * and random digits.
 */
static void name_job(const char *device_id, const char *job_id, char *ret)
{
    int n = snprintf(ret, NAME, "eddis-gpu/%s/%ld/", device_id, (long)getuid());
    size_t length = strlen(job_id), room = n < MOST ? (size_t)(MOST - n) : 0;

    if (room)
        (void)snprintf(ret + n, room + 1, "%s", length > room ? job_id + length - room : job_id);
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

/* Store the owner of the GPU in *ret; if it is unknown, "(unknown)" of "another user". */
static void find_owner(const char *device_id, struct owner *ret)
{
    char line[512], prefix[NAME + 1];
    FILE *f = fopen("/proc/net/unix", "re");
    bool found = false;

    *ret = (struct owner){ "(unknown)", "another user" };
    (void)snprintf(prefix, sizeof prefix, "@eddis-gpu/%s/", device_id);
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, prefix);
        char *end;
        long uid = at ? strtol(at + strlen(prefix), &end, 10) : -1;

        found = at && uid >= 0 && *end == '/';
        if (!found)
            continue;
        (void)snprintf(ret->job, sizeof ret->job, "%.*s", (int)strcspn(end + 1, " @\n"), end + 1);
        text_strip_control(ret->job);
        name_user(uid, ret->user, sizeof ret->user);
    }
    if (f)
        (void)fclose(f);
}

/* Check whether jobs share GPUs here on purpose: by CUDA's Multi-Process Service, also as Slurm's
 * gres/mps, or by Slurm's gres/shard.
 */
static bool are_shared(void)
{
    return getenv("CUDA_MPS_PIPE_DIRECTORY") || getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") ||
           getenv("SLURM_SHARDS_ON_NODE");
}

int gpu_lock_add(struct gpu_lock *l, const char *device_id, const char *job_id,
                 struct eddis_error *err)
{
    int before = l->n, rc;
    char name[NAME];
    struct owner o;

    if ((strncmp(device_id, "GPU-", 4) != 0 && strncmp(device_id, "MIG-", 4) != 0) || are_shared())
        return 0;
    name_job(device_id, job_id, name);
    rc = bind_to(l, name);
    if (rc == -EADDRINUSE)
        return 0; /* an agent of this job has it */
    if (rc == 0) {
        (void)snprintf(name, sizeof name, "eddis-gpu/%s", device_id);
        rc = bind_to(l, name);
    }
    if (rc < 0)
        gpu_lock_cut(l, before);
    if (rc == -ENOMEM)
        return eddis_fail(err, rc, "no memory to lock '%s'", device_id);
    if (rc != -EADDRINUSE)
        return 0; /* where the system has no such sockets, no job locks */
    find_owner(device_id, &o);
    return eddis_fail(err, rc,
                      "'%s' is in use by job %s of %s; wait until it has ended, list other GPUs "
                      "(nodes: devices), or set CUDA_VISIBLE_DEVICES to an empty value to train on "
                      "the CPUs",
                      device_id, o.job, o.user);
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
