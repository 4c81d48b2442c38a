/* SPDX-License-Identifier: Apache-2.0 */
/* node_impl.h - the inside of memory that ranks share, for the reductions in it
 *
 * A slot is used again and again; its uses are numbered from 1.  One use:
 *
 *     arrive ... all have: opened -> chunks are claimed by whoever runs, reduced, finished
 *            ... all are: reduced -> (between nodes: summed by the first) -> done
 *
 * A rank arrives at use u + 1 only after it has seen that u is done and has read the result.  So
 * when u + 1 opens nobody reads anything of u any more, and nothing need be reset by hand but what
 * the last to arrive sets before it opens.
 */
#ifndef EDDIS_COMM_NODE_IMPL_H
#define EDDIS_COMM_NODE_IMPL_H

#include "node.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    NODE_POOL_SLOTS = 4, /* pieces on their way through the pool; the first slots are theirs */
    NODE_LINE = 64,      /* bytes of a cache line */
};

/* What everybody writes while a use is under way, apart from what everybody waits for. */
struct node_slot {
    _Alignas(NODE_LINE) _Atomic uint64_t arrived; /* in all uses, all ranks together */
    _Alignas(NODE_LINE) _Atomic uint64_t claimed; /* chunks of this use */
    _Atomic uint64_t finished;                    /* the same */
    _Alignas(NODE_LINE) _Atomic uint64_t opened;  /* last use that all have arrived at */
    _Atomic uint64_t reduced, done;               /* last use that ... */
    struct node_rank {
        _Alignas(NODE_LINE) _Atomic uint64_t arrived; /* last use */
        _Atomic uint64_t busy;                        /* use with a claimed chunk not finished */
    } rank[];
};

struct node_layout {
    size_t slot_bytes;                  /* from one slot to the next */
    size_t piece_bytes;                 /* of the pool */
    size_t pool, arena, results, bytes; /* offsets, and the end */
};

struct comm_node {
    int rank, n_ranks;
    struct comm_node_size size;
    struct node_layout at;
    int fd;
    char *map;
    const char *results; /* a mapping of its own that cannot be written to */
    bool joined;         /* both are another's */
    uint64_t *uses;      /* [slots] uses that are over on this rank */
    bool *taken;         /* [slots] by a reduction in place */
    uint64_t tickets;    /* pieces that reductions have booked in the pool */
    unsigned idle;       /* polls in a row that found nothing */
};

struct node_slot *node_slot(const struct comm_node *n, int slot);

/* Slots for a reduction in place, the same on all ranks as all make and free reductions in the same
 * order.  Returns -1 when too few are left.
 */
int node_slots_take(struct comm_node *n, int count);
void node_slots_give(struct comm_node *n, int first, int count);

/* Whether the use is as far. */
static inline bool node_opened(const struct node_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->opened, memory_order_acquire) >= use;
}

static inline bool node_reduced(const struct node_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->reduced, memory_order_acquire) >= use;
}

static inline bool node_done(const struct node_slot *s, uint64_t use)
{
    return atomic_load_explicit(&s->done, memory_order_acquire) >= use;
}

/* This rank's contribution to this use is there. */
void node_arrive(const struct comm_node *n, struct node_slot *s, uint64_t use);

/* Take a chunk of an opened use.  Returns its number, or -1 when none is left. */
int64_t node_claim(const struct comm_node *n, struct node_slot *s, uint64_t use, uint64_t chunks);

/* It is reduced.  Returns whether all chunks are, which exactly one caller learns. */
bool node_finish(const struct comm_node *n, struct node_slot *s, uint64_t chunks);

/* Rank without which this use cannot go on, never this one. */
int node_waits_for(const struct comm_node *n, struct node_slot *s, uint64_t use);

/* Nothing moved: see now and then whether that rank is still there.  -EPIPE: it is not. */
int node_idle(struct comm_node *n, int rank);

/* Making it: the first rank makes and describes it, the others open what they are told. */
struct node_mark {
    int64_t pid, fd;
    uint64_t inode, device;
};
int node_make(int n_ranks, const struct comm_node_size *size, struct comm_node **ret,
              struct eddis_error *err);
int node_describe(const struct comm_node *n, struct node_mark *ret, struct eddis_error *err);
int node_open(const struct node_mark *mark, int rank, int n_ranks,
              const struct comm_node_size *size, struct comm_node **ret, struct eddis_error *err);

/* Map every page now that all ranks have got theirs.  Which rank sums what is not the same twice,
 * so that steps would go on to meet pages for the first time.  Where the system cannot it is done
 * then.
 */
void node_populate(const struct comm_node *n);

/* Another rank of the same process that uses the very mapping of first, which must outlive it; for
 * tests under a thread sanitizer, which knows memory by its address.
 */
int node_join(const struct comm_node *first, int rank, struct comm_node **ret,
              struct eddis_error *err);

/* Where these bytes lie in this rank's arena, or -1. */
int64_t node_offset(const struct comm_node *n, const void *data, size_t bytes);

#endif
