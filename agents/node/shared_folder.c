/* SPDX-License-Identifier: Apache-2.0 */
/* shared_folder.c - writes a file to the checkpoint folder and searches for other nodes' files */
#include "shared_folder.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/left.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Size of the file: a full disk accepts an empty file, and may accept a short one. */
enum { BYTES = 4096 };

/* Return the path of the file that an agent leaves in dir, which the caller frees; NULL: no memory.
 */
static char *path_of(const char *dir, const char *name, int agent)
{
    return file_join(dir, ".%s-%d", name, agent);
}

/* Check whether a file of this name is of a node of another generation than `ctx`'s: a dot, digits
 * as in `ctx`, a dash and the node's number (left_name_fn).
 */
static bool is_of_another(const char *file, const void *ctx)
{
    const char *name = ctx;
    size_t n = strlen(name);
    char *end;

    if (file[0] != '.' || strspn(file + 1, "0123456789abcdef") != n || file[1 + n] != '-' ||
        strncmp(file + 1, name, n) == 0 || !isdigit((unsigned char)file[2 + n]))
        return false;
    (void)strtol(file + 2 + n, &end, 10);
    return *end == '\0';
}

int shared_folder_leave(const char *dir, const char *name, int agent, size_t *ret_kept,
                        struct eddis_error *err)
{
    char bytes[BYTES] = "";
    cleanup_free char *path = path_of(dir, name, agent);
    size_t kept = file_there(dir);
    cleanup_fd int fd = -1;
    struct stat own;
    int rc;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    rc = file_mkdirs(dir, 0755, err);
    if (rc < 0) {
        file_rmdirs(dir, kept);
        return eddis_fail_prefix(err, rc, "checkpoint.dir");
    }
    (void)snprintf(bytes, sizeof bytes, "%zu\n", kept);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    rc = fd < 0 ? -errno : 0;
    if (rc == 0) {
        rc = file_write_all(fd, bytes, sizeof bytes, NULL);
        if (rc == 0 && fsync(fd) < 0)
            rc = -errno;
        if (rc < 0)
            (void)unlink(path);
    }
    if (rc < 0) {
        file_rmdirs(dir, kept);
        return eddis_fail_errno(err, rc, "cannot write in checkpoint.dir '%s'", dir);
    }
    /* Files of other jobs and generations that live are young. */
    if (fstat(fd, &own) == 0)
        left_remove(dir, &own, is_of_another, name);
    *ret_kept = kept;
    return 0;
}

bool shared_folder_is_seen(const char *dir, const char *name, int agent, size_t *kept)
{
    cleanup_free char *path = path_of(dir, name, agent);
    DIR *again = opendir(dir); /* makes a network file system read the folder again */
    cleanup_fd int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    char text[32] = "";
    size_t its;

    if (again)
        (void)closedir(again);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 || !strchr(text, '\n'))
        return false;
    its = strtoul(text, NULL, 10);
    *kept = its < *kept ? its : *kept;
    return true;
}

void shared_folder_take_back(const char *dir, const char *name, int agent)
{
    cleanup_free char *path = path_of(dir, name, agent);

    if (path)
        (void)unlink(path);
}

void shared_folder_remove(const char *dir, const char *name, int agent, size_t kept)
{
    cleanup_free char *path = path_of(dir, name, agent);

    if (path && (unlink(path) == 0 || errno == ENOENT))
        file_rmdirs(dir, kept);
}
