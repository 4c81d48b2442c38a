/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - time reads of a data path, and estimate how much came from the page cache */
#include "storage.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

enum { BLOCK = 1 << 20, DEPTH = 4, SAMPLES = 8 };

#define MAGIC_TMPFS 0x01021994
#define MAGIC_RAMFS 0x858458f6

/* State of one measurement */
struct reading {
    char *block;
    int64_t bytes, most_bytes;
    int64_t deadline_ns;
    int sampled, resident; /* positions sampled before reading, and found in memory */
};

/* Check whether the limit of bytes or time is reached. */
static bool enough(const struct reading *r)
{
    return r->bytes >= r->most_bytes || clock_now_ns() >= r->deadline_ns;
}

/* Sample some positions of a file: with RWF_NOWAIT, a read succeeds only from the page cache.
 * Everything on tmpfs and ramfs is in memory.
 */
static void sample(struct reading *r, int fd, off_t size)
{
    struct statfs fs;
    char c;
    struct iovec v = { &c, 1 };
    bool memory = fstatfs(fd, &fs) == 0 &&
                  ((uint32_t)fs.f_type == MAGIC_TMPFS || (uint32_t)fs.f_type == MAGIC_RAMFS);

    for (int i = 0; i < SAMPLES; i++) {
        ssize_t got = preadv2(fd, &v, 1, size / SAMPLES * i, RWF_NOWAIT);

        if (got < 0 && errno != EAGAIN && !memory)
            return; /* not supported by this file system */
        r->sampled++;
        r->resident += got == 1 || memory;
    }
}

/* Read a file sequentially after asking the kernel to drop its cached pages. */
static void read_file(struct reading *r, int fd, off_t size)
{
    ssize_t n;

    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    sample(r, fd, size);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    while (!enough(r) && (n = read(fd, r->block, BLOCK)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        r->bytes += n;
    }
}

static void read_any(struct reading *r, int fd, int depth);

/* Read the files of a folder and its subfolders.  Takes ownership of fd. */
static void read_folder_take(struct reading *r, int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *e;

    if (!dir) {
        (void)close(fd);
        return;
    }
    while (!enough(r) && (e = readdir(dir))) {
        cleanup_fd int inner = -1;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        inner = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (inner >= 0)
            read_any(r, inner, depth + 1);
    }
    (void)closedir(dir);
}

/* Read the open file, or the files of the open folder; fd stays open. */
static void read_any(struct reading *r, int fd, int depth)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return;
    if (S_ISREG(st.st_mode) && st.st_size > 0)
        read_file(r, fd, st.st_size);
    else if (S_ISDIR(st.st_mode) && depth < DEPTH) {
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

        if (copy >= 0)
            read_folder_take(r, copy, depth);
    }
}

int storage_read(const void *task, void *result, struct eddis_error *err)
{
    const struct storage_task *t = task;
    struct storage_result *ret = result;
    struct reading r = { .most_bytes = t->most_bytes };
    cleanup_free char *block = malloc(BLOCK);
    cleanup_fd int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int64_t start = clock_now_ns();

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open the data path '%s'", t->path);
    if (!block)
        return eddis_fail(err, -ENOMEM, "no memory to read '%s'", t->path);
    r.block = block;
    r.deadline_ns = clock_after_ns(start, t->most_ns);
    read_any(&r, fd, 0);
    if (r.bytes == 0)
        return eddis_fail(err, -ENODATA, "nothing to read in the data path '%s'", t->path);
    ret->bytes = r.bytes;
    ret->bytes_per_s = (double)r.bytes * (double)CLOCK_S / (double)(clock_now_ns() - start + 1);
    ret->in_memory = r.sampled > 0 && 2 * r.resident > r.sampled;
    return 0;
}
