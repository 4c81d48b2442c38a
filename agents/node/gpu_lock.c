/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_lock.c - lock GPUs by abstract sockets
 *
 * "eddis-gpu/GPU-..." locks, and "eddis-gpu/GPU-.../JOB" tells others whose lock it is.
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
enum { MOST = sizeof((struct sockaddr_un *)0)->sun_path - 2 };

/* Fill in the abstract address of a GPU, and of a job if job_id is not "". Return its length. */
static socklen_t address_of(const char *device_id, const char *job_id, struct sockaddr_un *ret)
{
    int n;

    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    n = snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1, "eddis-gpu/%s%s%s", device_id,
                 job_id[0] ? "/" : "", job_id);
    if (n > MOST)
        n = MOST;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Bind a socket to that address and add it to *l. Return 0 or a negative errno. */
static int bind_to(struct gpu_lock *l, const char *device_id, const char *job_id)
{
    struct sockaddr_un a;
    socklen_t size = address_of(device_id, job_id, &a);
    int *fd = realloc(l->fd, (size_t)(l->n + 1) * sizeof *fd);
    int rc = 0;

    if (!fd)
        return -ENOMEM;
    l->fd = fd;
    fd[l->n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd[l->n] < 0)
        return -errno;
    if (bind(fd[l->n], (const struct sockaddr *)&a, size) < 0 || listen(fd[l->n], 1) < 0)
        rc = -errno;
    if (rc < 0)
        (void)close(fd[l->n]);
    else
        l->n++;
    return rc;
}

/* Write to ret the job that has locked the GPU; "" if it is unknown. */
static void find_job(const char *device_id, char *ret, size_t size)
{
    char line[512], prefix[128];
    FILE *f = fopen("/proc/net/unix", "re");

    (void)snprintf(prefix, sizeof prefix, "@eddis-gpu/%s/", device_id);
    ret[0] = '\0';
    while (f && !ret[0] && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, prefix);

        if (at)
            (void)snprintf(ret, size, "%.*s", (int)strcspn(at + strlen(prefix), " @\n"),
                           at + strlen(prefix));
    }
    if (f)
        (void)fclose(f);
    text_strip_control(ret);
}

/* Write to ret the user whose process has locked the GPU: "ann", "user 1001", or "another user". */
static void find_user(const char *device_id, char *ret, size_t size)
{
    struct ucred peer = { .uid = (uid_t)-1 };
    socklen_t size_of_peer = sizeof peer, length;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct passwd p, *found = NULL;
    struct sockaddr_un a;
    char text[1024];

    (void)snprintf(ret, size, "another user");
    if (fd < 0)
        return;
    length = address_of(device_id, "", &a);
    if (connect(fd, (const struct sockaddr *)&a, length) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size_of_peer) == 0) {
        (void)snprintf(ret, size, "user %ld", (long)peer.uid);
        if (getpwuid_r(peer.uid, &p, text, sizeof text, &found) == 0 && found)
            (void)snprintf(ret, size, "%s", p.pw_name);
    }
    (void)close(fd);
}

int gpu_lock_add(struct gpu_lock *l, const char *device_id, const char *job_id,
                 struct eddis_error *err)
{
    char other[128], user[64];
    int rc;

    if (strncmp(device_id, "GPU-", 4) != 0 && strncmp(device_id, "MIG-", 4) != 0)
        return 0;
    rc = bind_to(l, device_id, "");
    if (rc == 0) {
        (void)bind_to(l, device_id, job_id); /* only tells */
        return 0;
    }
    if (rc != -EADDRINUSE)
        return eddis_fail_errno(err, rc, "cannot lock '%s'", device_id);
    find_job(device_id, other, sizeof other);
    if (strncmp(other, job_id, MOST - strlen("eddis-gpu//") - strlen(device_id)) == 0)
        return 0; /* a longer id is cut */
    find_user(device_id, user, sizeof user);
    return eddis_fail(err, rc,
                      "'%s' is in use by job %s of %s; wait until it has ended, or list other GPUs "
                      "(nodes: devices)",
                      device_id, other[0] ? other : "(unknown)", user);
}

void gpu_lock_release(struct gpu_lock *l)
{
    for (int i = 0; i < l->n; i++)
        (void)close(l->fd[i]);
    free(l->fd);
    *l = (struct gpu_lock){ 0 };
}
