/* SPDX-License-Identifier: Apache-2.0 */
/* memory_impl.h - the layout in shared memory, shared by the files behind memory.h */
#ifndef EDDIS_SMB_MEMORY_IMPL_H
#define EDDIS_SMB_MEMORY_IMPL_H

#include "memory.h"

#include <pthread.h>

/* Bytes of a piece, which fits a first-level cache with both operands */
enum { MEMORY_PIECE = 16 * 1024 };

/* One rank's entry in the queue of sums. */
struct shared_slot {
    uint64_t ticket; /* place in the queue: the smallest is first; 0: no sum; written after `source`
                      * and `notify` */
    uint64_t source;
    uint64_t notify;
};

/* Shared state of a buffer.  All members but ticket, state, version and freed are used only with
 * the lock held.
 */
struct shared_buffer {
    struct memory_shape shape;
    pthread_mutex_t lock;
    int32_t n_ranks;
    uint64_t users, freed;
    uint64_t version;
    uint64_t last_ticket;
    uint64_t state;       /* progress of the first sum in the queue: elements added * 4 + enum
                           * sum_phase */
    uint64_t over_ticket; /* SUM_OVER: ticket of the finished sum */
    uint64_t over_version;
    uint64_t data_at;          /* offset of the elements from this struct, a multiple of 64 */
    struct shared_slot slot[]; /* [n_ranks]; followed by the scratch piece */
};

enum sum_phase {
    SUM_ADD = 0,  /* earlier elements are added, the others unchanged */
    SUM_COPY = 1, /* the next piece is summed and may be partly copied */
    SUM_OVER = 2, /* the sum is complete and leaves the queue */
};

struct memory_buffer {
    struct memory_buffer *next;
    uint64_t id;
    struct shared_buffer *shared;
    size_t offset, bytes; /* range of the file that is mapped */
};

/* Initialize a robust mutex in shared memory.  Return 0 or a negative errno value. */
int memory_lock_init(pthread_mutex_t *lock);

/* Write the state of a new buffer, whose memory is all zeros.  Return 0 or a negative errno value.
 */
int buffer_init(struct shared_buffer *s, const struct memory_shape *shape, int n_ranks, int users);

/* Count one more user, as memory_attach, without checking whether the buffer is being freed.
 * Return 0; -ENOENT: the last user has left; -EAGAIN: the lock is taken.
 */
int buffer_attach(struct memory_buffer *b);

/* Return the bytes that a buffer needs in the file. */
size_t buffer_bytes(const struct memory_shape *shape, int n_ranks);

#endif
