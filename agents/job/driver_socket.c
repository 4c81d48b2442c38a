/* SPDX-License-Identifier: Apache-2.0 */
/* driver_socket.c - chooses the path of a driver's Unix socket, and connects to it */
#include "driver_socket.h"

#include "lib/base/cleanup.h"
#include "lib/base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

_Static_assert(JOB_DOOR_PATH <= sizeof((struct sockaddr_un *)0)->sun_path, "it is an address");

/* Age up to which a socket on which nobody listens is kept. */
enum { SWEEP_AGE_S = 60 };

/* Values of statfs's f_type for network file systems, from the kernel's linux/magic.h if it has
 * them.
 */
static const unsigned long networks[] = {
    0x6969,     /* NFS */
    0x517B,     /* SMB */
    0xFE534D42, /* SMB 2 and 3 */
    0xFF534D42, /* CIFS */
    0x01021997, /* 9P */
    0x00C36400, /* Ceph */
    0x5346414F, /* AFS */
    0x65735546, /* FUSE: sshfs, GlusterFS, ... */
    0x0BD00BD0, /* Lustre */
    0x47504653, /* GPFS */
    0x19830326, /* BeeGFS */
};

/* Check whether dir is on a network file system; true if its type cannot be read. */
static bool is_of_a_network(const char *dir)
{
    struct statfs s;

    if (statfs(dir, &s) < 0)
        return true;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (((unsigned long)s.f_type & 0xFFFFFFFF) == networks[i])
            return true;
    return false;
}

/* Check whether dir is an absolute path of a folder that only this user can access. */
static bool is_private(const char *dir)
{
    struct stat s;

    return *dir == '/' && lstat(dir, &s) == 0 && S_ISDIR(s.st_mode) && trust_is_own(&s) &&
           (s.st_mode & 077) == 0;
}

/* Check whether a socket can be created at `path` in the folder dir: the path fits (length is the
 * result of the snprintf that wrote it), dir is private and local, and no such file exists.
 */
static bool will_do(const char *dir, int length, const char *path)
{
    return length > 0 && length < JOB_DOOR_PATH && is_private(dir) && !is_of_a_network(dir) &&
           access(path, F_OK) < 0;
}

bool driver_socket_choose(const struct job_folder *f, const char *runtime_dir,
                          char ret[JOB_DOOR_PATH])
{
    if (will_do(f->path, snprintf(ret, JOB_DOOR_PATH, "%s/driver.sock", f->path), ret))
        return true;
    if (runtime_dir &&
        will_do(runtime_dir, snprintf(ret, JOB_DOOR_PATH, "%s/eddis-%s.sock", runtime_dir, f->id),
                ret))
        return true;
    *ret = '\0';
    return false;
}

/* Connect to the Unix socket `path`, and close the connection. Return 0 or a negative errno;
 * -ECONNREFUSED: no process listens.
 */
static int try_socket(const char *path)
{
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    return fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0 ? -errno : 0;
}

/* Check whether a process accepts connections at the Unix socket `path`; "": no. */
static bool is_listening(const char *path)
{
    return *path && try_socket(path) == 0;
}

/* Check whether the file at `path` is a socket of this user that is not young; store its state. */
static bool is_old_socket(const char *path, struct stat *ret)
{
    return lstat(path, ret) == 0 && S_ISSOCK(ret->st_mode) && trust_is_self(ret->st_uid) &&
           time(NULL) - ret->st_mtime > SWEEP_AGE_S;
}

/* Check whether a and b describe the same, unchanged file. A new file may have the inode of a
 * removed one, but not its ctime.
 */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Remove the file at `path`, length bytes, if it is a socket of this user, not young, on which no
 * process listens.  Another process may have removed it, and a new driver bound its own, since the
 * attempt to connect: that one stays.
 */
static void remove_dead(const char *path, int length)
{
    struct stat before, now;

    if (length > 0 && length < JOB_DOOR_PATH && is_old_socket(path, &before) &&
        try_socket(path) == -ECONNREFUSED && is_old_socket(path, &now) && is_same(&before, &now))
        (void)unlink(path);
}

void driver_socket_sweep(const struct job_folder *f, const char *runtime_dir)
{
    cleanup_dir DIR *dir = runtime_dir && is_private(runtime_dir) ? opendir(runtime_dir) : NULL;
    char path[JOB_DOOR_PATH];
    struct dirent *e;

    if (f)
        remove_dead(path, snprintf(path, sizeof path, "%s/driver.sock", f->path));
    while (dir && (e = readdir(dir))) {
        size_t n = strlen(e->d_name);

        if (strncmp(e->d_name, "eddis-", 6) == 0 && n > 5 &&
            strcmp(e->d_name + n - 5, ".sock") == 0)
            remove_dead(path, snprintf(path, sizeof path, "%s/%s", runtime_dir, e->d_name));
    }
}

int driver_socket_dial(const struct job_driver *d, const char *token, struct http_client **ret,
                       struct eddis_error *err)
{
    const char *const base[] = { d->url };
    const struct http_client_options o = { .base = base,
                                           .n_bases = 1,
                                           .token = token,
                                           .path = is_listening(d->socket) ? d->socket : NULL };

    return http_client_open(&o, ret, err);
}
