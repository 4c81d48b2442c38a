/* SPDX-License-Identifier: Apache-2.0 */
/* tick.c - the counters and folder names that supervisor and agent share in memory */
#include "tick.h"

#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define TICK_MAGIC UINT64_C(0x6b63697464646531)

struct tick_page {
    uint64_t magic;
    _Atomic uint64_t beat[2]; /* heartbeat counters, by enum tick_side */
    _Atomic uint32_t n_folders;
    char folder[TICK_FOLDERS][TICK_PATH];
};

/* Map the page of shared memory of a descriptor and return it, for the caller to unmap; NULL: that
 * failed.
 */
static struct tick_page *map(int fd)
{
    void *p = mmap(NULL, sizeof(struct tick_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return p == MAP_FAILED ? NULL : p;
}

int tick_create(struct tick_page **ret, int *ret_fd, struct eddis_error *err)
{
    cleanup_fd int fd = memfd_create("eddis-tick", MFD_CLOEXEC);
    struct tick_page *p;

    if (fd < 0 || ftruncate(fd, sizeof *p) < 0)
        return eddis_fail_errno(err, -errno, "cannot make the page shared with the agent");
    p = map(fd);
    if (!p)
        return eddis_fail_errno(err, -errno, "cannot map the page shared with the agent");
    p->magic = TICK_MAGIC;
    *ret = p;
    *ret_fd = cleanup_keep_fd(fd);
    return 0;
}

int tick_map(int fd, struct tick_page **ret, struct eddis_error *err)
{
    struct tick_page *p;
    struct stat st;

    if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof *p)
        return eddis_fail(err, -EINVAL, "descriptor %d is not the page of an eddis-keeper", fd);
    p = map(fd);
    if (!p)
        return eddis_fail_errno(err, -errno, "cannot map the supervisor's page");
    if (p->magic != TICK_MAGIC) {
        (void)munmap(p, sizeof *p);
        return eddis_fail(err, -EPROTO, "the supervisor is of another version of eddis");
    }
    (void)close(fd);
    *ret = p;
    return 0;
}

void tick_beat(struct tick_page *p, enum tick_side side)
{
    atomic_fetch_add(&p->beat[side], 1);
}

int64_t tick_silence_ns(const struct tick_page *p, enum tick_side side, struct tick_watch *w,
                        int64_t now_ns, int64_t period_ns)
{
    uint64_t beat = atomic_load(&p->beat[side]);
    int64_t since = now_ns - w->looked_ns;

    if (beat != w->beat || w->looked_ns == 0)
        w->silence_ns = 0;
    else
        w->silence_ns += timing_silence_ns(since, period_ns);
    w->beat = beat;
    w->looked_ns = now_ns;
    return w->silence_ns;
}

int tick_add_folder(struct tick_page *p, const char *path, struct eddis_error *err)
{
    uint32_t n = atomic_load(&p->n_folders);

    if (n >= TICK_FOLDERS || strlen(path) >= TICK_PATH)
        return eddis_fail(err, -ENOSPC, "no room to note the folder '%s'", path);
    memcpy(p->folder[n], path, strlen(path) + 1);
    atomic_store(&p->n_folders, n + 1);
    return 0;
}

int tick_move_folder(struct tick_page *p, int i, const char *path, struct eddis_error *err)
{
    if (i < 0 || (uint32_t)i >= atomic_load(&p->n_folders) || strlen(path) >= TICK_PATH)
        return eddis_fail(err, -ENOSPC, "no room to note the folder '%s'", path);
    memcpy(p->folder[i], path, strlen(path) + 1);
    return 0;
}

const char *tick_folder(const struct tick_page *p, int i)
{
    uint32_t n = atomic_load(&p->n_folders);

    return i < TICK_FOLDERS && (uint32_t)i < n ? p->folder[i] : NULL;
}
