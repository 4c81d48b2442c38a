/* SPDX-License-Identifier: Apache-2.0 */
/* shm_impl.h - the inside of memory that ranks share, for the reductions in it
 *
 * A slot is used again and again; its uses are numbered from 1.  One use:
 *
 *     arrive ... all have: opened -> chunks are claimed, reduced, finished
 *            ... all are: reduced -> (between nodes: summed by the first) -> done
 *
 * A rank arrives at use u + 1 only after it has seen that u is done and has read the result.  So
 * when u + 1 opens nobody reads anything of u any more, and nothing need be reset by hand but what
 * the last to arrive sets before it opens.
 *
 * Every rank has a share of the chunks, which it claims before others do; what is claimed of a
 * share is counted beside the use, so that who comes late for an older one gets nothing.
 */
#ifndef EDDIS_COMM_SHM_IMPL_H
#define EDDIS_COMM_SHM_IMPL_H

#include "shm.h"

#include "lib/base/shm_region.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    SHM_POOL_SLOTS = 4, /* pieces on their way through the pool; the first slots are theirs */
    SHM_LINE = 64,      /* bytes of a cache line */
};

/* What everybody writes while a use is under way, apart from what everybody waits for. */
struct shm_slot {
    _Alignas(SHM_LINE) _Atomic uint64_t arrived;  /* in all uses, all ranks together */
    _Alignas(SHM_LINE) _Atomic uint64_t finished; /* chunks of this use */
    _Alignas(SHM_LINE) _Atomic uint64_t opened;   /* last use that all have arrived at */
    _Atomic uint64_t reduced, done;               /* last use that is so */
    struct shm_rank {
        _Alignas(SHM_LINE) _Atomic uint64_t arrived; /* last use */
        _Atomic uint64_t busy;                       /* use with a claimed chunk not finished */
        _Alignas(SHM_LINE) _Atomic uint64_t claimed; /* of its share: use << 32 | chunks */
    } rank[];
};

/* A rank, as the others see it. */
struct shm_member {
    _Alignas(SHM_LINE) _Atomic int64_t pid;
    _Atomic bool left; /* in good order */
};

/* Where what lies, in bytes from the beginning. */
struct shm_layout {
    size_t slot_bytes;                           /* from one slot to the next */
    size_t piece_bytes;                          /* of the pool */
    size_t members, pool, arena, results, bytes; /* offsets, and the end */
};

/* The memory as one rank has it. */
struct comm_shm {
    int rank, n_ranks;
    struct comm_shm_size size;
    struct shm_layout at;
    int fd;
    char *map;
    const char *results; /* a mapping of its own that cannot be written to */
    bool joined;         /* both are another's */
    uint64_t *uses;      /* [slots] uses that are over on this rank */
    bool *taken;         /* [slots] by a reduction in place */
    uint64_t tickets;    /* pieces that reductions have booked in the pool */
    unsigned idle;       /* polls in a row that found nothing */
};

/* Borrow the lines of a slot, in shared memory. */
struct shm_slot *shm_slot(const struct comm_shm *m, int slot);

/* Take count slots in a row for a reduction in place: the same on all ranks, as all make and free
 * reductions in the same order.  Returns the first, or -1 when too few are left.
 */
int shm_slots_take(struct comm_shm *m, int count);
void shm_slots_give(struct comm_shm *m, int first, int count);

/* Return whether the use has come as far. */
static inline bool shm_opened(const struct shm_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->opened, memory_order_acquire) >= use;
}

static inline bool shm_reduced(const struct shm_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->reduced, memory_order_acquire) >= use;
}

static inline bool shm_done(const struct shm_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->done, memory_order_acquire) >= use;
}

/* Tell the others that this rank's contribution to this use is there. */
void shm_arrive(const struct comm_shm *m, struct shm_slot *s, uint64_t use);

/* Take a chunk of a rank's share of an opened use.  Returns its number in the share of so many
 * chunks, or -1 when none is left.
 */
int64_t shm_claim(const struct comm_shm *m, struct shm_slot *s, int share, uint64_t use,
                  uint64_t chunks);

/* Count a chunk as reduced.  Returns whether all are, which exactly one caller learns. */
bool shm_finish(const struct comm_shm *m, struct shm_slot *s, uint64_t chunks);

/* Return a rank without which this use cannot go on, never this one. */
int shm_waits_for(const struct comm_shm *m, struct shm_slot *s, uint64_t use);

/* Count a poll in which nothing moved, and see now and then whether that rank is still there.
 * -EPIPE: it has left.
 */
int shm_idle(struct comm_shm *m, int rank);

/* Make and describe the memory, on the first rank; open what was described, on the others. */
int shm_make(int n_ranks, const struct comm_shm_size *size, struct comm_shm **ret,
             struct eddis_error *err);
int shm_describe(const struct comm_shm *m, struct shm_region_mark *ret, struct eddis_error *err);
int shm_attach(const struct shm_region_mark *mark, int rank, int n_ranks,
               const struct comm_shm_size *size, struct comm_shm **ret, struct eddis_error *err);

/* Map the pages that this rank uses whatever is reduced, now that all ranks have got theirs: its
 * own and the results.  Steps would else meet them one by one.  Where the system cannot it is done
 * then. Mapping everything would take a rank 2 MB of page tables for each GB of each other rank.
 */
void shm_populate(const struct comm_shm *m);

/* The same for bytes of all ranks' arenas, to be read, and of the results, to be written. */
void shm_populate_part(const struct comm_shm *m, size_t offset, size_t bytes);
void shm_populate_results(const struct comm_shm *m, size_t offset, size_t bytes);

/* Make another rank of the same process that uses the very mapping of first, which must outlive it;
 * for tests under a thread sanitizer, which knows memory by its address.
 */
int shm_join(const struct comm_shm *first, int rank, struct comm_shm **ret,
             struct eddis_error *err);

/* Return where in this rank's arena these bytes lie, or -1. */
int64_t shm_offset(const struct comm_shm *m, const void *data, size_t bytes);

#endif
