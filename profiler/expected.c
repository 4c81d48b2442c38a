/* SPDX-License-Identifier: Apache-2.0 */
/* expected.c - check whether a job is to use the GPUs of a node */
#include "expected.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

/* Return the number in the file root/sys/bus/pci/devices/device/name; 0: it cannot be read. */
static unsigned long pci_number(const char *root, const char *device, const char *name)
{
    cleanup_free char *path = file_join(root, "sys/bus/pci/devices/%s/%s", device, name);
    cleanup_fd int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char text[32] = "";

    return fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? strtoul(text, NULL, 16) : 0;
}

/* Check whether PCI has a display or 3D controller of NVIDIA. */
static bool is_on_pci(const char *root)
{
    enum { NVIDIA = 0x10de, DISPLAY = 0x03 };
    cleanup_free char *path = file_join(root, "sys/bus/pci/devices");
    cleanup_dir DIR *dir = path ? opendir(path) : NULL;
    const struct dirent *e;

    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.' && pci_number(root, e->d_name, "vendor") == NVIDIA &&
            pci_number(root, e->d_name, "class") >> 16 == DISPLAY)
            return true;
    return false;
}

/* Check whether one of the files root/path0, root/path1, ... is there, and not forbidden unless
 * `even_forbidden`. One that cannot be opened for another reason is of a GPU that does not answer.
 */
static bool has_one(const char *root, const char *path, int first, bool even_forbidden)
{
    for (int i = first; i < first + MOST_FILES; i++) {
        cleanup_free char *full = file_join(root, "%s%d", path, i);

        if (full && access(full, F_OK) == 0 && (even_forbidden || !is_forbidden(full)))
            return true;
    }
    return false;
}

bool expected_has(const char *root, const struct machine *m, enum gpu_maker maker)
{
    if (maker == GPU_AMD)
        return m->amd_gpus[0] != '\0';
    return m->gpus[0] || has_one(root, "dev/nvidia", 0, true) || is_on_pci(root);
}

bool expected_by_name(const struct machine *m, enum gpu_maker maker)
{
    const char *visible = maker == GPU_AMD ? m->amd_visible : m->visible;

    return visible[0] && names_some(visible) &&
           (maker != GPU_AMD || strcmp(m->amd_visible, m->visible) != 0);
}

bool expected_perhaps(const struct machine *m, enum gpu_maker maker)
{
    if (maker == GPU_AMD)
        return m->amd_visible[0] ? m->amd_visible[0] != '-'
                                 : m->amd_gpus[0] && !is_forbidden("/dev/kfd");
    if (m->visible[0])
        return names_some(m->visible);
    return (m->gpus[0] || access("/dev/nvidia0", F_OK) == 0) && !is_forbidden("/dev/nvidiactl");
}

bool expected_surely(const char *root, const struct machine *m, enum gpu_maker maker, int rc)
{
    enum { FIRST_RENDERER = 128 };

    if (maker == GPU_AMD && m->amd_visible[0])
        return names_some(m->amd_visible) && expected_has(root, m, maker) &&
               (rc != -ENOENT || expected_by_name(m, maker));
    if (maker == GPU_AMD)
        return rc != -ENOENT && m->amd_gpus[0] && !is_forbidden("/dev/kfd") &&
               has_one(root, "dev/dri/renderD", FIRST_RENDERER, false);
    if (m->visible[0])
        return names_some(m->visible) && expected_has(root, m, maker);
    return has_one(root, "dev/nvidia", 0, false);
}
