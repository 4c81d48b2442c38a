/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the Soft Memory Box's memory on one node, shared by the processes that map it
 *
 *     +-----------+------------------------------+------------------------------+----
 *     | directory | buffer: state, piece, data   | buffer: state, piece, data   | ...
 *     +-----------+------------------------------+------------------------------+----
 *
 * It is an anonymous memory file (memfd), made by one process and opened by other processes through
 * that process's /proc folder.  It is in no file system, so nothing is left if all processes are
 * killed, and the size of /dev/shm does not limit it.  A process maps each buffer when it first
 * needs it.
 *
 * Nothing here blocks.  A function that finds a lock taken returns -EAGAIN: call again later.  The
 * locks are robust: if an owner was killed, the next process takes the lock and finishes what the
 * owner left half done.  A sum is made in pieces.  First dest + source is written to a scratch
 * piece next to the data, and the piece is marked as complete.  Then it is copied to its place.  So
 * each element is added exactly once, whenever the process dies.  The sums for one buffer are
 * queued.  If a process makes no progress with its sum (it was killed, or has no core), the next in
 * the queue continues it.  A process killed inside memory_write leaves its elements partly written.
 *
 * memory_read takes no lock: it sees each element before or after a write or a sum.
 *
 * One thread at a time may use a struct memory, but not always the same one.
 */
#ifndef EDDIS_SMB_MEMORY_H
#define EDDIS_SMB_MEMORY_H

#include "lib/base/error.h"
#include "lib/comm/combine.h"

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_BUFFERS = 1024 }; /* most buffers that exist at the same time */

struct memory;        /* one process's mappings of the memory */
struct memory_buffer; /* a buffer that this process has mapped */

/* Type and size of a buffer, and the part of it stored on this node. */
struct memory_shape {
    enum comm_type type;
    size_t n;            /* number of elements of the whole buffer */
    size_t first, count; /* elements stored here: first .. first + count - 1 */
};

/* Make this node's memory file, without buffers, for a box of n_ranks ranks, and map its directory.
 * Return 0 or a negative errno.  *ret owns the file and is freed by memory_close.
 */
int memory_make(int n_ranks, struct memory **ret, struct eddis_error *err);

/* Return pid and descriptor with which another process of this node and user can memory_open it, as
 * long as this process has it open.
 */
void memory_where(const struct memory *m, int64_t *ret_pid, int64_t *ret_fd);

/* Open the memory that memory_where describes in another process.  The caller frees *ret by
 * memory_close.  Return 0 or a negative errno; -EPROTO: the descriptor is of another kind of file.
 */
int memory_open(int64_t pid, int64_t fd, struct memory **ret, struct eddis_error *err);

/* Close this process's mappings; the memory is freed with the last process that has it open.  m may
 * be NULL.
 */
void memory_close(struct memory *m);

/* Progress of making or freeing a buffer; initialize it with zeros. */
struct memory_creation {
    int entry;
    size_t offset, bytes, ready;
};

/* Make a buffer of zeros with `users` users.  Return 0: the buffer exists; -EAGAIN: call again with
 * the same *c, since memory is allocated in several turns; -ENOSPC, -ENOMEM: no memory, and nothing
 * is left of the buffer.
 */
int memory_create(struct memory *m, uint64_t id, const struct memory_shape *shape, int users,
                  struct memory_creation *c, struct eddis_error *err);

/* Borrow the buffer with this id until memory_sweep finds that it is freed; map it if necessary.
 * NULL: *ret_rc is -ENOENT, no such buffer, or -ENOMEM, it cannot be mapped.
 */
struct memory_buffer *memory_find(struct memory *m, uint64_t id, int *ret_rc);

/* Unmap the buffers that other processes have freed. */
void memory_sweep(struct memory *m);

/* Free a buffer, whatever its number of users.  Return 0: it is freed; -ENOENT: no buffer has this
 * id; -EAGAIN: call again with the same *c, since memory is freed in several turns.
 */
int memory_free(struct memory *m, uint64_t id, struct memory_creation *c);

/* Borrow a buffer's type and size. */
const struct memory_shape *memory_shape(const struct memory_buffer *b);

/* Count one more user.  Return 0; -ENOENT: the last user has left meanwhile; -EAGAIN: a lock is
 * taken.
 */
int memory_attach(struct memory *m, struct memory_buffer *b);

/* Count one user less.  *ret_last: that was the last user, and nobody can attach any more.  Return
 * 0 or -EAGAIN: the lock is taken.
 */
int memory_detach(struct memory_buffer *b, bool *ret_last);

/* Copy elements at .. at + n - 1 of the whole buffer, which must be stored here, to ret; no lock.
 */
void memory_read(const struct memory_buffer *b, size_t at, size_t n, void *ret);

/* Copy n elements of `from` to at .. at + n - 1 of the whole buffer, which must be stored here.
 * Return 0, or -EAGAIN: another process holds the lock, nothing was copied.
 */
int memory_write(struct memory_buffer *b, size_t at, size_t n, const void *from);

/* Add `add` to the int64 element `at`, which must be stored here; *ret_before is the element's
 * value before.  Return 0, or -EAGAIN: another process holds the lock, nothing was changed.
 */
int memory_fetch_add(struct memory_buffer *b, size_t at, int64_t add, int64_t *ret_before);

/* Return the number of notices that the buffer has got so far. */
uint64_t memory_version(const struct memory_buffer *b);

/* Add one notice to the buffer; *ret_version: the number of its notices now.  Return 0, or -EAGAIN:
 * another process holds the lock, nothing was changed.
 */
int memory_notify(struct memory_buffer *b, uint64_t *ret_version);

/* Progress of a sum between calls; initialize it with zeros. */
struct memory_sum {
    bool queued;
    uint64_t seen_ticket, seen_state;
    int64_t seen_ns;
};

/* Add the whole buffer `source`, of the same shape, to b, after the sums queued earlier.  rank: the
 * requesting rank, which has one sum into b at a time.  notify: also add a notice to b.  *budget:
 * bytes that may still be added in this turn.  Return 0: it is added; -EAGAIN: not done yet, call
 * again with the same *sum; -ENOENT: buffer `source` is gone.
 */
int memory_accumulate(struct memory *m, struct memory_buffer *b, uint64_t source, int rank,
                      bool notify, int64_t now_ns, struct memory_sum *sum, size_t *budget);

#endif
