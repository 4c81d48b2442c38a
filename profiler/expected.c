/* SPDX-License-Identifier: Apache-2.0 */
/* expected.c - check whether a job is to use the GPUs of a node */
#include "expected.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 256 }; /* device files of a driver, whose numbers may have gaps */

/* Check whether a list of visible GPUs names some; the word is Slurm's. */
static bool names_some(const char *visible)
{
    return visible[0] != '-' && strcmp(visible, "NoDevFiles") != 0;
}

/* Check whether this process may not open this file of a driver, as in a Slurm job without GPUs,
 * which sees the machine's GPUs nevertheless.
 */
static bool is_forbidden(const char *path)
{
    cleanup_fd int fd = open(path, O_RDWR | O_CLOEXEC);

    return fd < 0 && (errno == EPERM || errno == EACCES);
}

/* Check whether one of the files root/path0, root/path1, ... is there, and not forbidden. One that
 * cannot be opened for another reason is of a GPU that does not answer.
 */
static bool has_one(const char *root, const char *path, int first)
{
    for (int i = first; i < first + MOST_FILES; i++) {
        cleanup_free char *full = file_join(root, "%s%d", path, i);

        if (full && access(full, F_OK) == 0 && !is_forbidden(full))
            return true;
    }
    return false;
}

bool expected_perhaps(const struct machine *m)
{
    if (m->amd_visible[0] ? m->amd_visible[0] != '-' : m->amd_gpus[0] && !is_forbidden("/dev/kfd"))
        return true;
    if (m->visible[0])
        return names_some(m->visible);
    return (m->gpus[0] || access("/dev/nvidia0", F_OK) == 0) && !is_forbidden("/dev/nvidiactl");
}

bool expected_surely(const char *root, const struct machine *m, enum gpu_maker maker, int rc)
{
    enum { FIRST_RENDERER = 128 };

    if (maker == GPU_AMD && m->amd_visible[0])
        return names_some(m->amd_visible);
    if (maker == GPU_AMD)
        return rc != -ENOENT && m->amd_gpus[0] && !is_forbidden("/dev/kfd") &&
               has_one(root, "dev/dri/renderD", FIRST_RENDERER);
    if (m->visible[0])
        return names_some(m->visible);
    return has_one(root, "dev/nvidia", 0);
}
