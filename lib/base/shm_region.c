/* SPDX-License-Identifier: Apache-2.0 */
/* shm_region.c - make, find, reserve and map an anonymous memory file */
#include "shm_region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int shm_region_make(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int shm_region_resize(int fd, size_t bytes)
{
    return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
}

int shm_region_describe(int fd, struct shm_region_mark *ret)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    *ret = (struct shm_region_mark){
        .pid = getpid(), .fd = fd, .inode = (uint64_t)st.st_ino, .device = (uint64_t)st.st_dev
    };
    return 0;
}

void shm_region_path(const struct shm_region_mark *mark, char ret[SHM_REGION_PATH])
{
    (void)snprintf(ret, SHM_REGION_PATH, "/proc/%lld/fd/%lld", (long long)mark->pid,
                   (long long)mark->fd);
}

int shm_region_open(const struct shm_region_mark *mark)
{
    char path[SHM_REGION_PATH];
    struct stat st;
    int fd, rc = 0;

    shm_region_path(mark, path);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    if (mark->inode && fstat(fd, &st) < 0)
        rc = -errno;
    else if (mark->inode &&
             ((uint64_t)st.st_ino != mark->inode || (uint64_t)st.st_dev != mark->device))
        rc = -ESTALE;
    if (rc < 0)
        (void)close(fd);
    return rc < 0 ? rc : fd;
}

int64_t shm_region_bytes(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 ? -errno : (int64_t)st.st_size;
}

int shm_region_reserve(int fd, size_t at, size_t bytes)
{
    return bytes && fallocate(fd, 0, (off_t)at, (off_t)bytes) < 0 ? -errno : 0;
}

void shm_region_release(int fd, size_t at, size_t bytes)
{
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
}

/* Map `bytes` bytes of the region from offset `at` on, shared, with this protection (PROT_...), and
 * store the address in *ret.  Return 0 or a negative errno value.
 */
static int region_map(int fd, size_t at, size_t bytes, int protection, void **ret)
{
    void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd, (off_t)at);

    if (p == MAP_FAILED)
        return -errno;
    *ret = p;
    return 0;
}

int shm_region_map(int fd, size_t at, size_t bytes, void **ret)
{
    return region_map(fd, at, bytes, PROT_READ | PROT_WRITE, ret);
}

int shm_region_view(int fd, size_t at, size_t bytes, const void **ret)
{
    void *p = NULL;
    int rc = region_map(fd, at, bytes, PROT_READ, &p);

    if (rc == 0)
        *ret = p;
    return rc;
}

void shm_region_unmap(const void *map, size_t bytes)
{
    if (map)
        (void)munmap((void *)map, bytes);
}
