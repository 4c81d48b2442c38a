/* SPDX-License-Identifier: Apache-2.0 */
/* log_marker.c - make, touch and remove markers of log folders */
#include "log_marker.h"

#include "agents/protocol/protocol_limits.h"
#include "lib/base/cleanup.h"
#include "lib/base/left.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Check whether a file of this name is a marker (left_name_fn). */
static bool is_marker(const char *name, const void *ctx)
{
    (void)ctx;
    return name[0] == '.' && strspn(name + 1, "0123456789abcdef") == PROTOCOL_MARKER &&
           name[1 + PROTOCOL_MARKER] == '\0';
}

int log_marker_make(const char *path, struct eddis_error *err)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    struct stat own;

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot make '%s'", path);
    if (slash && slash - path < PATH_MAX && fstat(fd, &own) == 0) {
        (void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
        left_remove(dir, &own, is_marker, NULL);
    }
    return 0;
}

void log_marker_touch(const char *path)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd >= 0)
        (void)futimens(fd, NULL);
}

void log_marker_remove_all(const char *dir)
{
    left_remove(dir, NULL, is_marker, NULL);
}
