/* SPDX-License-Identifier: Apache-2.0 */
/* memory_impl.h - the layout in shared memory, for the files that make up memory.h */
#ifndef EDDIS_SMB_MEMORY_IMPL_H
#define EDDIS_SMB_MEMORY_IMPL_H

#include "memory.h"

#include <pthread.h>

enum { MEMORY_PIECE = 16 * 1024 }; /* bytes: with its two terms it fits into a first-level cache */

/* A place in the queue of sums. */
struct shared_slot {
    uint64_t ticket; /* the smallest is first; 0: none; written last */
    uint64_t source;
    uint64_t notify;
};

/* All but ticket, state, version and freed is read and written with the lock held only. */
struct shared_buffer {
    struct memory_shape shape;
    pthread_mutex_t lock;
    int32_t n_ranks;
    uint64_t users, freed;
    uint64_t version;
    uint64_t last_ticket;
    uint64_t state;       /* of the first sum in the queue: elements added * 4 + enum sum_phase */
    uint64_t over_ticket; /* SUM_OVER: which one */
    uint64_t over_version;
    uint64_t data_at;          /* from the beginning of this struct, a multiple of 64 */
    struct shared_slot slot[]; /* [n_ranks], then the piece */
};

enum sum_phase {
    SUM_ADD = 0,  /* the elements before are added, the others as they were */
    SUM_COPY = 1, /* the next piece is summed and may be partly copied */
    SUM_OVER = 2, /* leaving the queue */
};

struct memory_buffer {
    struct memory_buffer *next;
    uint64_t id;
    struct shared_buffer *shared;
    size_t offset, bytes; /* of the mapping in the file */
};

/* Make a robust mutex in shared memory.  Returns 0 or a negative errno value. */
int memory_lock_init(pthread_mutex_t *lock);

/* Write the state of a new buffer; b->shared is all zeros. */
int buffer_init(struct shared_buffer *s, const struct memory_shape *shape, int n_ranks, int users);

/* Do as memory_attach, without looking whether the buffer is being freed. */
int buffer_attach(struct memory_buffer *b);

/* Return the bytes that a buffer needs in the file. */
size_t buffer_bytes(const struct memory_shape *shape, int n_ranks);

#endif
