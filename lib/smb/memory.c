/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the memory file, its directory of buffers, and this process's mappings of it */
#include "memory_impl.h"

#include "lib/base/shm_region.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MEMORY_MAGIC    UINT64_C(0x656464697342f001)
#define MEMORY_RESERVED UINT64_MAX /* id of a buffer that is being made or freed */

enum { MEMORY_TAKE = 16 << 20 }; /* bytes allocated or freed in one turn, in some milliseconds */

/* A buffer's entry in the directory. */
struct shared_entry {
    uint64_t id;            /* key of the buffer; 0: the entry is free; written last */
    uint64_t offset, bytes; /* place of the buffer in the file */
};

/* The directory, at the beginning of the file. */
struct shared_root {
    uint64_t magic;
    int32_t n_ranks;
    pthread_mutex_t lock; /* guards changes of all members below */
    uint64_t end;         /* size of the file, which only grows: offsets are never used twice */
    uint64_t freed;       /* number of buffers freed so far */
    struct shared_entry entry[MEMORY_BUFFERS];
};

/* One process's mappings of the memory. */
struct memory {
    int fd;
    struct shared_root *root;
    struct memory_buffer *first; /* list of the buffers that this process has mapped */
    uint64_t swept;              /* root->freed at the latest memory_sweep */
};

/* Return bytes rounded up to a multiple of the page size. */
static size_t page_round(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

int memory_lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    int rc = pthread_mutexattr_init(&attr);

    if (rc)
        return -rc;
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    rc = pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return -rc;
}

/* Take the directory's lock without waiting.  Return 0, or -EAGAIN if another process holds it.  If
 * its owner was killed, nothing needs repair: an entry's id is written last and cleared first, so
 * the directory is always consistent.
 */
static int root_lock(struct shared_root *r)
{
    int rc = pthread_mutex_trylock(&r->lock);

    if (rc == EOWNERDEAD)
        rc = pthread_mutex_consistent(&r->lock);
    return rc ? -EAGAIN : 0;
}

/* Map the directory of the file fd and store a new struct memory in *ret, which owns fd.  Return 0
 * or -ENOMEM: fd is closed.
 */
static int memory_map_root(int fd, struct memory **ret, struct eddis_error *err)
{
    struct memory *m = calloc(1, sizeof *m);
    void *p;

    if (!m || shm_region_map(fd, 0, sizeof *m->root, &p) < 0) {
        free(m);
        close(fd);
        return eddis_fail(err, -ENOMEM, "no memory for the Soft Memory Box");
    }
    m->fd = fd;
    m->root = p;
    *ret = m;
    return 0;
}

int memory_make(int n_ranks, struct memory **ret, struct eddis_error *err)
{
    int fd = shm_region_make("eddis-smb"), rc;
    struct memory *m;

    if (fd < 0)
        return eddis_fail_errno(err, fd, "no memory file for the Soft Memory Box");
    rc = shm_region_resize(fd, page_round(sizeof *m->root));
    if (rc < 0) {
        close(fd);
        return eddis_fail_errno(err, rc, "no memory for the Soft Memory Box");
    }
    rc = memory_map_root(fd, &m, err);
    if (rc < 0)
        return rc;
    m->root->n_ranks = n_ranks;
    m->root->end = page_round(sizeof *m->root);
    rc = memory_lock_init(&m->root->lock);
    if (rc < 0) {
        memory_close(m);
        return eddis_fail_errno(err, rc, "no lock for the Soft Memory Box");
    }
    m->root->magic = MEMORY_MAGIC;
    *ret = m;
    return 0;
}

void memory_where(const struct memory *m, int64_t *ret_pid, int64_t *ret_fd)
{
    *ret_pid = getpid();
    *ret_fd = m->fd;
}

int memory_open(int64_t pid, int64_t there, struct memory **ret, struct eddis_error *err)
{
    const struct shm_region_mark mark = { .pid = pid, .fd = there };
    char path[SHM_REGION_PATH];
    int fd = shm_region_open(&mark), rc;

    shm_region_path(&mark, path);
    if (fd < 0)
        return eddis_fail_errno(err, fd, "cannot open the Soft Memory Box at '%s'", path);
    if (shm_region_bytes(fd) < (int64_t)sizeof(struct shared_root)) {
        close(fd);
        return eddis_fail(err, -EPROTO, "'%s' is not a Soft Memory Box", path);
    }
    rc = memory_map_root(fd, ret, err);
    if (rc == 0 && (*ret)->root->magic != MEMORY_MAGIC) {
        memory_close(*ret);
        return eddis_fail(err, -EPROTO, "'%s' is not a Soft Memory Box", path);
    }
    return rc;
}

/* Unmap a buffer and free its struct. */
static void memory_unmap(struct memory_buffer *b)
{
    shm_region_unmap(b->shared, b->bytes);
    free(b);
}

void memory_close(struct memory *m)
{
    if (!m)
        return;
    while (m->first) {
        struct memory_buffer *b = m->first;

        m->first = b->next;
        memory_unmap(b);
    }
    shm_region_unmap(m->root, sizeof *m->root);
    close(m->fd);
    free(m);
}

/* ---- finding ---- */

/* Return the directory entry with this id; id 0: a free entry.  NULL: no entry has it. */
static struct shared_entry *memory_entry(const struct memory *m, uint64_t id)
{
    for (int i = 0; i < MEMORY_BUFFERS; i++)
        if (__atomic_load_n(&m->root->entry[i].id, __ATOMIC_ACQUIRE) == id)
            return &m->root->entry[i];
    return NULL;
}

/* Map the buffer at this place in the file and add it to the list of mapped buffers.  Return it, or
 * NULL without memory.
 */
static struct memory_buffer *memory_map(struct memory *m, uint64_t id, size_t offset, size_t bytes)
{
    struct memory_buffer *b = calloc(1, sizeof *b);
    void *p;

    if (!b || shm_region_map(m->fd, offset, bytes, &p) < 0) {
        free(b);
        return NULL;
    }
    *b = (struct memory_buffer){ m->first, id, p, offset, bytes };
    m->first = b;
    return b;
}

struct memory_buffer *memory_find(struct memory *m, uint64_t id, int *ret_rc)
{
    struct memory_buffer *b = m->first;
    const struct shared_entry *e;

    while (b && b->id != id)
        b = b->next;
    if (b)
        return b;
    e = id && id != MEMORY_RESERVED ? memory_entry(m, id) : NULL;
    b = e ? memory_map(m, id, e->offset, e->bytes) : NULL;
    if (!b)
        *ret_rc = e ? -ENOMEM : -ENOENT;
    return b;
}

void memory_sweep(struct memory *m)
{
    uint64_t freed = __atomic_load_n(&m->root->freed, __ATOMIC_ACQUIRE);

    if (freed == m->swept)
        return;
    m->swept = freed;
    for (struct memory_buffer **at = &m->first; *at;) {
        struct memory_buffer *b = *at;

        if (memory_entry(m, b->id)) {
            at = &b->next;
        } else {
            *at = b->next;
            memory_unmap(b);
        }
    }
}

/* ---- making and freeing ---- */

/* Reserve a directory entry, and c->bytes bytes at the file's end, for a new buffer; store both in
 * *c.  Return 0; -EAGAIN, with err unchanged: the lock is taken; -ENOSPC: no entry is free.  Other
 * errors: the file cannot be enlarged.
 */
static int memory_reserve(struct memory *m, struct memory_creation *c, struct eddis_error *err)
{
    struct shared_root *r = m->root;
    struct shared_entry *e;
    int rc;

    if (root_lock(r) < 0)
        return -EAGAIN;
    e = memory_entry(m, 0);
    rc = e ? shm_region_resize(m->fd, r->end + c->bytes) : -ENOSPC;
    if (rc < 0) {
        pthread_mutex_unlock(&r->lock);
        return e ? eddis_fail_errno(err, rc, "no memory for a buffer of %zu bytes", c->bytes)
                 : eddis_fail(err, rc, "the Soft Memory Box holds %d buffers already",
                              MEMORY_BUFFERS);
    }
    c->entry = (int)(e - r->entry);
    c->offset = e->offset = r->end;
    e->bytes = c->bytes;
    r->end += c->bytes;
    __atomic_store_n(&e->id, MEMORY_RESERVED, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&r->lock);
    return 0;
}

/* Free the directory entry and the space that memory_reserve stored in *c, and set err for rc.
 * Return rc.
 */
static int memory_creation_fail(struct memory *m, const struct memory_creation *c, int rc,
                                struct eddis_error *err)
{
    __atomic_store_n(&m->root->entry[c->entry].id, 0, __ATOMIC_RELEASE);
    shm_region_release(m->fd, c->offset, c->bytes);
    return eddis_fail_errno(err, rc, "no memory for a buffer of %zu bytes", c->bytes);
}

int memory_create(struct memory *m, uint64_t id, const struct memory_shape *shape, int users,
                  struct memory_creation *c, struct eddis_error *err)
{
    size_t take;
    struct memory_buffer *b;
    int rc;

    if (!c->bytes)
        c->bytes = page_round(buffer_bytes(shape, m->root->n_ranks));
    rc = c->offset ? 0 : memory_reserve(m, c, err);
    if (rc < 0)
        return rc;
    /* Allocate now: if no memory is left later, a write to a page that is not allocated would kill
     * the writing process by SIGBUS.
     */
    take = c->bytes - c->ready < MEMORY_TAKE ? c->bytes - c->ready : MEMORY_TAKE;
    rc = shm_region_reserve(m->fd, c->offset + c->ready, take);
    if (rc < 0)
        return rc == -EINTR ? -EAGAIN : memory_creation_fail(m, c, rc, err);
    c->ready += take;
    if (c->ready < c->bytes)
        return -EAGAIN;
    b = memory_map(m, id, c->offset, c->bytes);
    rc = b ? buffer_init(b->shared, shape, m->root->n_ranks, users) : -ENOMEM;
    if (rc < 0) {
        if (b) {
            m->first = b->next;
            memory_unmap(b);
        }
        return memory_creation_fail(m, c, rc, err);
    }
    __atomic_store_n(&m->root->entry[c->entry].id, id, __ATOMIC_RELEASE);
    return 0;
}

/* Reserve the directory entry of a buffer that is to be freed, so that no process finds the buffer
 * any more, and store entry, offset and size in *c.  Return 0; -EAGAIN: the lock is taken; -ENOENT:
 * no buffer has this id.
 */
static int memory_hide(struct memory *m, uint64_t id, struct memory_creation *c)
{
    struct shared_root *r = m->root;
    struct shared_entry *e;

    if (root_lock(r) < 0)
        return -EAGAIN;
    e = memory_entry(m, id);
    if (e) {
        *c = (struct memory_creation){ (int)(e - r->entry), e->offset, e->bytes, 0 };
        __atomic_store_n(&e->id, MEMORY_RESERVED, __ATOMIC_RELEASE);
        __atomic_store_n(&r->freed, r->freed + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&r->lock);
    return e ? 0 : -ENOENT;
}

int memory_free(struct memory *m, uint64_t id, struct memory_creation *c)
{
    size_t give;
    int rc = c->bytes ? 0 : memory_hide(m, id, c);

    if (rc < 0)
        return rc;
    memory_sweep(m);
    give = c->bytes - c->ready < MEMORY_TAKE ? c->bytes - c->ready : MEMORY_TAKE;
    shm_region_release(m->fd, c->offset + c->ready, give);
    c->ready += give;
    if (c->ready < c->bytes)
        return -EAGAIN;
    __atomic_store_n(&m->root->entry[c->entry].id, 0, __ATOMIC_RELEASE);
    return 0;
}

/* Count one more user of b, with the directory's lock held so that the buffer cannot be freed
 * meanwhile: a user may attach just as the last user leaves, and the buffer's own lock is freed
 * with the buffer.
 */
int memory_attach(struct memory *m, struct memory_buffer *b)
{
    int rc;

    if (root_lock(m->root) < 0)
        return -EAGAIN;
    rc = memory_entry(m, b->id) ? buffer_attach(b) : -ENOENT;
    pthread_mutex_unlock(&m->root->lock);
    return rc;
}
