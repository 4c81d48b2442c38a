/* SPDX-License-Identifier: Apache-2.0 */
/* shm.c - lays out, makes, opens and leaves a node's shared memory; its slots */
#include "shm_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SHM_PAGE = 4096,
    /* Limits of a piece in the pool: all pieces under way, of every rank, should stay in the
     * last-level cache.
     */
    SHM_PIECE_BYTES = 256 << 10,
    SHM_PIECE_MIN_BYTES = 32 << 10,
    SHM_POOL_BYTES = 8 << 20,
    SHM_IDLE_POLLS = 512, /* polls between two checks whether a rank is still there */
};

/* Return n rounded up to a multiple of `to`. */
static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Return the size of a piece in the pool, so that all fit in SHM_POOL_BYTES if possible. */
static size_t shm_piece_bytes(int n_ranks)
{
    size_t piece = SHM_POOL_BYTES / SHM_POOL_SLOTS / ((size_t)n_ranks + 1);

    piece = piece < SHM_PIECE_BYTES ? round_up(piece, SHM_PAGE) : SHM_PIECE_BYTES;
    return piece > SHM_PIECE_MIN_BYTES ? piece : SHM_PIECE_MIN_BYTES;
}

/* Set m->at, the layout of the memory, from its size; arena_bytes is rounded up to pages.  Return 0
 * or -ENOMEM: the memory is too large for this machine; m is then unchanged.
 */
static int shm_lay_out(struct comm_shm *m, struct eddis_error *err)
{
    size_t ranks = (size_t)m->n_ranks, slots = SHM_POOL_SLOTS + (size_t)m->size.slots;
    size_t arena = round_up(m->size.arena_bytes, SHM_PAGE);
    size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    struct shm_layout at = { .slot_bytes =
                                 sizeof(struct shm_slot) + ranks * sizeof(struct shm_rank),
                             .piece_bytes = m->size.pool ? shm_piece_bytes(m->n_ranks) : 0 };

    /* The system would kill a process rather than refuse it more memory than there is. */
    if (arena > memory / 2 / (ranks + 1))
        return eddis_fail(err, -ENOMEM,
                          "%zu bytes of shared memory for each of %d ranks are more "
                          "than half of what this machine has",
                          arena, m->n_ranks);
    at.members = slots * at.slot_bytes;
    at.pool = round_up(at.members + ranks * sizeof(struct shm_member), SHM_PAGE);
    at.arena = at.pool + SHM_POOL_SLOTS * (ranks + 1) * at.piece_bytes;
    at.results = at.arena + ranks * arena;
    at.bytes = at.results + arena;
    m->size.arena_bytes = arena;
    m->at = at;
    return 0;
}

/* Make in *ret a rank's struct comm_shm with the layout; the shared memory is not made or opened
 * yet.  Return 0 or -ENOMEM; comm_shm_close frees *ret.
 */
static int shm_new(int rank, int n_ranks, const struct comm_shm_size *size, struct comm_shm **ret,
                   struct eddis_error *err)
{
    struct comm_shm *m = calloc(1, sizeof *m);
    int slots = SHM_POOL_SLOTS + size->slots, rc;

    if (!m)
        return eddis_fail(err, -ENOMEM, "no memory to share memory");
    m->rank = rank;
    m->n_ranks = n_ranks;
    m->size = *size;
    m->fd = -1;
    m->uses = calloc((size_t)slots, sizeof *m->uses);
    m->taken = calloc((size_t)slots, sizeof *m->taken);
    rc = m->uses && m->taken ? shm_lay_out(m, err)
                             : eddis_fail(err, -ENOMEM, "no memory to share memory");
    if (rc < 0)
        comm_shm_close(m);
    else
        *ret = m;
    return rc;
}

/* Borrow a rank's entry in the list of members, in shared memory. */
static struct shm_member *shm_member(const struct comm_shm *m, int rank)
{
    return (struct shm_member *)(m->map + m->at.members) + rank;
}

/* Lock the byte of the file that shows that this rank is there.  Return 0 or a negative errno.  The
 * lock belongs to the process.  A lock of the open file would survive in any forked child, such as
 * a data loader.  Then a killed rank would seem alive as long as the child.
 */
static int shm_lock(const struct comm_shm *m, struct eddis_error *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = m->rank, .l_len = 1 };

    return fcntl(m->fd, F_SETLK, &lock) == 0
               ? 0
               : eddis_fail_errno(err, -errno, "locking shared memory");
}

/* Allocate `bytes` bytes of the file from `at` on now: a later shortage would be a signal instead
 * of an error.  Return 0 or a negative errno.
 */
static int shm_reserve(const struct comm_shm *m, size_t at, size_t bytes, struct eddis_error *err)
{
    int rc;

    do
        rc = shm_region_reserve(m->fd, at, bytes);
    while (rc == -EINTR);
    return rc == 0 ? 0 : eddis_fail_errno(err, rc, "getting %zu bytes of shared memory", bytes);
}

/* Lock this rank's byte, allocate its arena (on the first rank also all but the other arenas), and
 * map the memory.  Return 0 or a negative errno; comm_shm_close then undoes what was done.
 */
static int shm_map(struct comm_shm *m, struct eddis_error *err)
{
    size_t arena = m->size.arena_bytes;
    const void *results = NULL;
    void *map;
    int rc = shm_lock(m, err);

    if (rc == 0)
        rc = shm_reserve(m, m->at.arena + (size_t)m->rank * arena, arena, err);
    if (rc == 0 && m->rank == 0)
        rc = shm_reserve(m, 0, m->at.arena, err);
    if (rc == 0 && m->rank == 0)
        rc = shm_reserve(m, m->at.results, arena, err);
    if (rc < 0)
        return rc;
    rc = shm_region_map(m->fd, 0, m->at.bytes, &map);
    m->map = rc == 0 ? map : NULL;
    if (rc == 0)
        atomic_store(&shm_member(m, m->rank)->pid, getpid());
    if (rc == 0 && arena)
        rc = shm_region_view(m->fd, m->at.results, arena, &results);
    if (rc < 0)
        return eddis_fail_errno(err, rc, "mapping %zu bytes of shared memory", m->at.bytes);
    m->results = results;
    /* If the system allows huge pages for shared memory, they save much of the page walks. */
    (void)madvise(m->map, m->at.bytes, MADV_HUGEPAGE);
    return 0;
}

#ifdef MADV_POPULATE_WRITE
/* Map the pages of these bytes of the memory in advance, for writing or reading; ignore failures.
 */
static void populate(const struct comm_shm *m, size_t at, size_t bytes, bool write)
{
    size_t first = at / SHM_PAGE * SHM_PAGE;

    if (bytes)
        (void)madvise(m->map + first, round_up(at + bytes, SHM_PAGE) - first,
                      write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}
#else
/* Do nothing: this system cannot map pages in advance. */
static void populate(const struct comm_shm *m, size_t at, size_t bytes, bool write)
{
}
#endif

void shm_populate(const struct comm_shm *m)
{
    size_t arena = m->size.arena_bytes;

    populate(m, 0, m->at.arena, true);
    populate(m, m->at.arena + (size_t)m->rank * arena, arena, true);
#ifdef MADV_POPULATE_WRITE
    if (m->results)
        (void)madvise((void *)m->results, arena, MADV_POPULATE_READ);
#endif
}

void shm_populate_part(const struct comm_shm *m, size_t offset, size_t bytes, bool write)
{
    for (int i = 0; i < m->n_ranks; i++)
        if (i != m->rank)
            populate(m, m->at.arena + (size_t)i * m->size.arena_bytes + offset, bytes, write);
}

void shm_populate_results(const struct comm_shm *m, size_t offset, size_t bytes)
{
    populate(m, m->at.results + offset, bytes, true);
}

int shm_make(int n_ranks, const struct comm_shm_size *size, struct comm_shm **ret,
             struct eddis_error *err)
{
    struct comm_shm *m;
    int rc = shm_new(0, n_ranks, size, &m, err);

    if (rc < 0)
        return rc;
    m->fd = shm_region_make("eddis");
    rc = m->fd < 0 ? m->fd : shm_region_resize(m->fd, m->at.bytes);
    if (m->fd < 0)
        rc = eddis_fail_errno(err, rc, "making shared memory");
    else if (rc < 0)
        rc = eddis_fail_errno(err, rc, "making %zu bytes of shared memory", m->at.bytes);
    else
        rc = shm_map(m, err);
    if (rc < 0)
        comm_shm_close(m);
    else
        *ret = m;
    return rc;
}

int shm_attach(const struct shm_region_mark *mark, int rank, int n_ranks,
               const struct comm_shm_size *size, struct comm_shm **ret, struct eddis_error *err)
{
    struct comm_shm *m;
    char path[SHM_REGION_PATH];
    int rc = shm_new(rank, n_ranks, size, &m, err);

    if (rc < 0)
        return rc;
    shm_region_path(mark, path);
    m->fd = shm_region_open(mark);
    if (m->fd == -ESTALE)
        rc = eddis_fail(
            err, -ESTALE,
            "%s is not the first worker's memory: the two do not see the same processes", path);
    else if (m->fd < 0)
        rc = eddis_fail_errno(err, m->fd, "opening the first worker's memory %s", path);
    else
        rc = shm_map(m, err);
    if (rc < 0)
        comm_shm_close(m);
    else
        *ret = m;
    return rc;
}

int shm_describe(const struct comm_shm *m, struct shm_region_mark *ret, struct eddis_error *err)
{
    int rc = shm_region_describe(m->fd, ret);

    return rc < 0 ? eddis_fail_errno(err, rc, "looking at shared memory") : 0;
}

void comm_shm_close(struct comm_shm *m)
{
    if (!m)
        return;
    if (m->map)
        atomic_store(&shm_member(m, m->rank)->left, true);
    shm_region_unmap(m->map, m->at.bytes);
    shm_region_unmap(m->results, m->size.arena_bytes);
    if (m->fd >= 0)
        (void)close(m->fd); /* releases the lock too */
    free(m->uses);
    free(m->taken);
    free(m);
}

void *comm_shm_arena(const struct comm_shm *m)
{
    return m->size.arena_bytes ? m->map + m->at.arena + (size_t)m->rank * m->size.arena_bytes
                               : NULL;
}

void *comm_shm_results(const struct comm_shm *m)
{
    return m->size.arena_bytes ? m->map + m->at.results : NULL;
}

bool comm_shm_replaces(const struct comm_shm *m, int n_nodes)
{
    return m->n_ranks <= (n_nodes > 1 ? 1 : COMM_SHM_FEW);
}

int64_t shm_offset(const struct comm_shm *m, const void *data, size_t bytes)
{
    uintptr_t at = (uintptr_t)data, arena = (uintptr_t)comm_shm_arena(m);

    return arena && at >= arena && bytes <= m->size.arena_bytes &&
                   at - arena <= m->size.arena_bytes - bytes
               ? (int64_t)(at - arena)
               : -1;
}

/* ---- slots ---- */

struct shm_slot *shm_slot(const struct comm_shm *m, int slot)
{
    return (struct shm_slot *)(m->map + (size_t)slot * m->at.slot_bytes);
}

int shm_slots_take(struct comm_shm *m, int count)
{
    int run = 0;

    for (int i = SHM_POOL_SLOTS; i < SHM_POOL_SLOTS + m->size.slots; i++) {
        run = m->taken[i] ? 0 : run + 1;
        if (run < count)
            continue;
        for (int k = i - count + 1; k <= i; k++)
            m->taken[k] = true;
        return i - count + 1;
    }
    return -1;
}

void shm_slots_give(struct comm_shm *m, int first, int count)
{
    for (int i = first; i < first + count; i++)
        m->taken[i] = false;
}

void shm_arrive(const struct comm_shm *m, struct shm_slot *s, uint64_t use)
{
    atomic_store_explicit(&s->rank[m->rank].arrived, use, memory_order_release);
    if (atomic_fetch_add_explicit(&s->arrived, 1, memory_order_acq_rel) + 1 !=
        use * (uint64_t)m->n_ranks)
        return;
    atomic_store_explicit(&s->finished, 0, memory_order_relaxed);
    atomic_store_explicit(&s->opened, use, memory_order_release);
}

/* Return the value that follows `claimed` as a share's count of claims in this use; 0 if none of
 * its chunks is left in this use.
 */
static uint64_t share_next(uint64_t claimed, uint64_t use, uint64_t chunks)
{
    uint32_t of = (uint32_t)(claimed >> 32), n = (uint32_t)claimed;

    if (of != (uint32_t)use)
        n = (int32_t)(of - (uint32_t)use) > 0 ? UINT32_MAX : 0; /* a newer use, or an older one */
    return n < chunks ? use << 32 | (n + 1) : 0;
}

int64_t shm_claim(const struct comm_shm *m, struct shm_slot *s, int share, uint64_t use,
                  uint64_t chunks)
{
    _Atomic uint64_t *claimed = &s->rank[share].claimed;
    struct shm_rank *me = &s->rank[m->rank];
    uint64_t was = atomic_load_explicit(claimed, memory_order_relaxed), next;

    if (!share_next(was, use, chunks))
        return -1;
    atomic_store_explicit(&me->busy, use, memory_order_relaxed);
    while ((next = share_next(was, use, chunks)))
        if (atomic_compare_exchange_weak_explicit(claimed, &was, next, memory_order_relaxed,
                                                  memory_order_relaxed))
            return (int64_t)(uint32_t)next - 1;
    atomic_store_explicit(&me->busy, 0, memory_order_relaxed);
    return -1;
}

bool shm_finish(const struct comm_shm *m, struct shm_slot *s, uint64_t chunks)
{
    atomic_store_explicit(&s->rank[m->rank].busy, 0, memory_order_relaxed);
    return atomic_fetch_add_explicit(&s->finished, 1, memory_order_acq_rel) + 1 == chunks;
}

int shm_waits_for(const struct comm_shm *m, struct shm_slot *s, uint64_t use)
{
    unsigned others = m->n_ranks > 1 ? (unsigned)m->n_ranks - 1 : 1;
    bool opened = shm_opened(s, use);

    for (int i = 0; i < m->n_ranks; i++) {
        const struct shm_rank *r = &s->rank[i];

        if (i != m->rank &&
            (opened ? atomic_load_explicit(&r->busy, memory_order_relaxed) == use
                    : atomic_load_explicit(&r->arrived, memory_order_acquire) < use))
            return i;
    }
    /* No rank is known to be missing: some rank is between two chunks, or its progress is not
     * visible yet, or it was killed there, which its fields do not show.  So return another rank in
     * each check.
     */
    return (m->rank + 1 + (int)(m->idle / SHM_IDLE_POLLS % others)) % m->n_ranks;
}

/* Check whether the rank has not left and its process still holds its lock.  A rank of this process
 * is always there: a process does not see its own locks.
 */
static bool shm_is_there(const struct comm_shm *m, int rank)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1 };
    const struct shm_member *other = shm_member(m, rank);

    if (atomic_load(&other->left))
        return false;
    return atomic_load(&other->pid) == getpid() || fcntl(m->fd, F_GETLK, &lock) < 0 ||
           lock.l_type != F_UNLCK;
}

int shm_idle(struct comm_shm *m, int rank)
{
    if (++m->idle % SHM_IDLE_POLLS || rank == m->rank || shm_is_there(m, rank))
        return 0;
    return -EPIPE;
}
