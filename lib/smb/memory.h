/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the Soft Memory Box's memory on one node, shared by the processes that map it
 *
 *     +-----------+------------------------------+------------------------------+----
 *     | directory | buffer: state, piece, data   | buffer: state, piece, data   | ...
 *     +-----------+------------------------------+------------------------------+----
 *
 * It is a memory file without a name (memfd), made by one process and opened by the others through
 * that one's /proc folder: no file system holds it, so that nothing of it is left when all have
 * been killed, and its size is not that of /dev/shm.  A process maps each buffer when it first
 * needs it.
 *
 * Nothing here blocks.  A function that finds a lock taken returns -EAGAIN: call again later.  The
 * locks are robust: one whose owner was killed is taken over, and what the owner had half done is
 * finished.  A buffer's sum is made in pieces: dest + source goes to a piece beside the data, that
 * is marked as whole, and then it is copied to its place, so that each element is added exactly
 * once whenever the process that does it dies.  The sums for one buffer stand in a queue; one whose
 * process makes no progress (it was killed, or has no core) is made by the next in the queue.  A
 * process killed inside memory_write leaves that piece partly written.
 *
 * memory_read takes no lock: it sees each element before or after a write or a sum.
 *
 * One thread at a time, but not always the same one.
 */
#ifndef EDDIS_SMB_MEMORY_H
#define EDDIS_SMB_MEMORY_H

#include "lib/base/error.h"
#include "lib/comm/combine.h"

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_BUFFERS = 1024 }; /* at a time */

struct memory;        /* one process's view of it */
struct memory_buffer; /* a buffer that this process has mapped */

struct memory_shape {
    enum comm_type type;
    size_t n;            /* elements of the whole buffer */
    size_t first, count; /* those that are here */
};

/* Make an empty memory, for ranks 0 .. n_ranks - 1. */
int memory_make(int n_ranks, struct memory **ret, struct eddis_error *err);

/* Tell what another process of this node and user can open it by, as long as this one has it open.
 */
void memory_where(const struct memory *m, int64_t *ret_pid, int64_t *ret_fd);

/* Open what memory_where told in another process.  -EPROTO: something else is there. */
int memory_open(int64_t pid, int64_t fd, struct memory **ret, struct eddis_error *err);

/* Leave it; it goes with the last process that has it open.  Accepts NULL. */
void memory_close(struct memory *m);

/* How far the making or freeing of a buffer has come; zero-initialised is its beginning. */
struct memory_creation {
    int entry;
    size_t offset, bytes, ready;
};

/* Make a buffer of zeros, with `users` users.  -EAGAIN: not made yet, its memory is taken in turns;
 * -ENOSPC, -ENOMEM.
 */
int memory_create(struct memory *m, uint64_t id, const struct memory_shape *shape, int users,
                  struct memory_creation *c, struct eddis_error *err);

/* Borrow the buffer of this id until memory_sweep finds that it is gone.  NULL: no buffer has it,
 * or, with *ret_rc -ENOMEM, it cannot be mapped.
 */
struct memory_buffer *memory_find(struct memory *m, uint64_t id, int *ret_rc);

/* Unmap the buffers that others have freed. */
void memory_sweep(struct memory *m);

/* Give a buffer's memory back, whatever its number of users.  -EAGAIN: not given back yet, this too
 * is done in turns.
 */
int memory_free(struct memory *m, uint64_t id, struct memory_creation *c);

/* Borrow a buffer's shape. */
const struct memory_shape *memory_shape(const struct memory_buffer *b);

/* Count one user more.  -ENOENT: the last one has left in the meantime. */
int memory_attach(struct memory *m, struct memory_buffer *b);

/* Count one user less.  *ret_last: it was the last, now nobody can attach any more. */
int memory_detach(struct memory_buffer *b, bool *ret_last);

/* Copy elements at .. at + n - 1 of the whole buffer, which are here. */
void memory_read(const struct memory_buffer *b, size_t at, size_t n, void *ret);
int memory_write(struct memory_buffer *b, size_t at, size_t n, const void *from);

/* Add to an int64 element; *ret_before is what it was. */
int memory_fetch_add(struct memory_buffer *b, size_t at, int64_t add, int64_t *ret_before);

/* Return how many notices were given so far; give one more. */
uint64_t memory_version(const struct memory_buffer *b);
int memory_notify(struct memory_buffer *b, uint64_t *ret_version);

/* How far a sum has come between calls; zero-initialised is its beginning. */
struct memory_sum {
    bool queued;
    uint64_t seen_ticket, seen_state;
    int64_t seen_ns;
};

/* Add the whole buffer `source`, which has the same shape, to b, after the sums that were queued
 * earlier.  rank: for whom; it has one sum into b at a time.  notify: give a notice with it.
 * *budget: bytes that may still be added in this turn.  -EAGAIN: not over yet; -ENOENT: no buffer
 * `source` is left.
 */
int memory_accumulate(struct memory *m, struct memory_buffer *b, uint64_t source, int rank,
                      bool notify, int64_t now_ns, struct memory_sum *sum, size_t *budget);

#endif
