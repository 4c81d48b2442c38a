/* SPDX-License-Identifier: Apache-2.0 */
/* shm_impl.h - internals of shared memory, for the reductions in it
 *
 * A slot is reused; its uses are numbered from 1.  One use:
 *
 *     arrive ... all ranks: opened -> chunks are claimed, reduced, finished
 *            ... all chunks: reduced -> (between nodes: summed by the first rank) -> done
 *
 * A rank arrives at use u + 1 only after it has seen that u is done and has read the result.  So
 * when u + 1 opens, no rank reads anything of u any more.  Only the last rank to arrive resets
 * counters, before it opens the use.
 *
 * Every rank has a share of the chunks and claims its own share first.  The count of claimed chunks
 * is stored together with the number of the use, so a late claim for an older use gets nothing.
 */
#ifndef EDDIS_COMM_SHM_IMPL_H
#define EDDIS_COMM_SHM_IMPL_H

#include "shm.h"

#include "lib/base/shm_region.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    SHM_POOL_SLOTS = 4, /* pieces under way through the pool; they use the first slots */
    SHM_LINE = 64,      /* bytes of a cache line */
};

/* A slot: the state of one piece's use.  Fields that all ranks write are on other cache lines than
 * fields that all ranks wait for.
 */
struct shm_slot {
    _Alignas(SHM_LINE) _Atomic uint64_t arrived;  /* number of arrivals of all ranks, over all
                                                   * uses */
    _Alignas(SHM_LINE) _Atomic uint64_t finished; /* number of finished chunks in the present use */
    _Alignas(SHM_LINE) _Atomic uint64_t opened;   /* newest use at which all ranks have arrived */
    _Atomic uint64_t reduced, done;               /* newest use that is reduced; newest use that is
                                                   * done */
    struct shm_rank {
        _Alignas(SHM_LINE) _Atomic uint64_t arrived; /* newest use at which this rank has arrived */
        _Atomic uint64_t busy; /* number of the use in which this rank has claimed a chunk and not
                                * finished it; 0: none */
        /* claimed chunks of this rank's share: use << 32 | number of chunks */
        _Alignas(SHM_LINE) _Atomic uint64_t claimed;
    } rank[];
};

/* The state of a rank's process, for the other ranks. */
struct shm_member {
    _Alignas(SHM_LINE) _Atomic int64_t pid;
    _Atomic bool left; /* the rank called comm_shm_close */
};

/* Offsets of the parts of the memory, in bytes from its start. */
struct shm_layout {
    size_t slot_bytes;                           /* distance from one slot to the next */
    size_t piece_bytes;                          /* size of a piece in the pool */
    size_t members, pool, arena, results, bytes; /* offsets; bytes: the total size */
};

/* One rank's view of the memory. */
struct comm_shm {
    int rank, n_ranks;
    struct comm_shm_size size;
    struct shm_layout at;
    int fd;
    char *map;
    const char *results; /* read-only mapping of the results */
    uint64_t *uses;      /* [slots] newest use of each slot that is over on this rank */
    bool *taken;         /* [slots] the slot is taken by a reduction in place or a broadcast */
    uint64_t tickets;    /* number of pieces for which reductions have reserved the pool so far */
    unsigned idle;       /* number of polls without progress */
};

/* Borrow a slot, in shared memory. */
struct shm_slot *shm_slot(const struct comm_shm *m, int slot);

/* Take `count` consecutive slots for a reduction in place.  Return the first, or -1 if too few are
 * left.  The result is the same on all ranks, as all make and free reductions in the same order.
 */
int shm_slots_take(struct comm_shm *m, int count);

/* Give back `count` slots from `first` on. */
void shm_slots_give(struct comm_shm *m, int first, int count);

/* Check whether all ranks have arrived at this use. */
static inline bool shm_opened(const struct shm_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->opened, memory_order_acquire) >= use;
}

/* Check whether all chunks of this use are reduced. */
static inline bool shm_reduced(const struct shm_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->reduced, memory_order_acquire) >= use;
}

/* Check whether the result of this use can be read. */
static inline bool shm_done(const struct shm_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->done, memory_order_acquire) >= use;
}

/* Announce that this rank's contribution to this use is ready.  The last rank to arrive opens the
 * use.
 */
void shm_arrive(const struct comm_shm *m, struct shm_slot *s, uint64_t use);

/* Claim one chunk of rank `share`'s share of an opened use; the share has `chunks` chunks.  Return
 * the chunk's number in the share, or -1 if none is left.
 */
int64_t shm_claim(const struct comm_shm *m, struct shm_slot *s, int share, uint64_t use,
                  uint64_t chunks);

/* Count a chunk of the present use as reduced; the use has `chunks` chunks.  Return whether all are
 * reduced now, which is true for exactly one caller.
 */
bool shm_finish(const struct comm_shm *m, struct shm_slot *s, uint64_t chunks);

/* Return a rank, other than this one, that this use of the slot waits for. */
int shm_waits_for(const struct comm_shm *m, struct shm_slot *s, uint64_t use);

/* Count a poll without progress, and check occasionally whether the process of `rank` still lives.
 * -EPIPE: it has ended.
 */
int shm_idle(struct comm_shm *m, int rank);

/* Make the memory, on the first rank, and this rank's description of it in *ret; the caller frees
 * *ret by comm_shm_close.  Return 0 or a negative errno, as -ENOMEM or -ENOSPC: too little memory.
 */
int shm_make(int n_ranks, const struct comm_shm_size *size, struct comm_shm **ret,
             struct eddis_error *err);

/* Describe the memory in ret, for shm_attach on the other ranks.  Return 0 or a negative errno. */
int shm_describe(const struct comm_shm *m, struct shm_region_mark *ret, struct eddis_error *err);

/* Open the first rank's memory for this rank; shm_describe of the first rank has filled in `mark`.
 * The caller frees *ret by comm_shm_close.  Return 0 or a negative errno; -ESTALE: the ranks do not
 * see the same processes.
 */
int shm_attach(const struct shm_region_mark *mark, int rank, int n_ranks,
               const struct comm_shm_size *size, struct comm_shm **ret, struct eddis_error *err);

/* Map the pages that this rank uses in every reduction: its own arena and the results; page faults
 * in a step would slow it.  Call it once all ranks have allocated their memory.  Without
 * MADV_POPULATE_WRITE do nothing.  Mapping everything would cost a rank 2 MB of page tables for
 * each GB of each other rank.
 */
void shm_populate(const struct comm_shm *m);

/* Map `bytes` bytes at `offset` of all other ranks' arenas, for writing or only for reading. */
void shm_populate_part(const struct comm_shm *m, size_t offset, size_t bytes, bool write);

/* Map `bytes` bytes at `offset` of the results, for writing. */
void shm_populate_results(const struct comm_shm *m, size_t offset, size_t bytes);

/* Return the offset of the `bytes` bytes at `data` in this rank's arena, or -1 if they are not in
 * it.
 */
int64_t shm_offset(const struct comm_shm *m, const void *data, size_t bytes);

#endif
