/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A full disk takes an empty file, and may take a short one. */
enum { BYTES = 4096 };

static char *path_of(const char *dir, const char *name, int agent)
{
    return file_join(dir, ".%s-%d", name, agent);
}

int share_leave(const char *dir, const char *name, int agent, struct eddis_error *err)
{
    static const char bytes[BYTES];
    cleanup_free char *path = path_of(dir, name, agent);
    cleanup_fd int fd = -1;
    int rc;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    rc = file_mkdirs(dir, 0755, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "checkpoint.dir");
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot write in checkpoint.dir '%s'", dir);
    if (write(fd, bytes, sizeof bytes) != sizeof bytes || fsync(fd) < 0) {
        rc = errno ? -errno : -ENOSPC;
        (void)unlink(path);
        return eddis_fail_errno(err, rc, "cannot write in checkpoint.dir '%s'", dir);
    }
    return 0;
}

bool share_is_seen(const char *dir, const char *name, int agent)
{
    cleanup_free char *path = path_of(dir, name, agent);
    DIR *d = opendir(dir); /* asks the server anew what is in it */

    if (d)
        (void)closedir(d);
    return path && access(path, F_OK) == 0;
}

void share_remove(const char *dir, const char *name, int agent)
{
    cleanup_free char *path = path_of(dir, name, agent);

    if (path && unlink(path) == 0)
        (void)rmdir(dir);
}
