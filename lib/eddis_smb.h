/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_smb.h - the Soft Memory Box: buffers that the workers of a job share
 *
 *     struct eddis *e;                      // see eddis.h; no layer need be registered
 *     uint64_t key;
 *
 *     eddis_smb_open(e, 0, &err);                                       // all workers
 *     if (rank == 0)
 *         eddis_smb_create(e, EDDIS_FLOAT32, n, &key, timeout, &err);
 *     eddis_broadcast(e, &key, sizeof key, 0, timeout, &err);           // keys are plain numbers
 *     if (rank != 0)
 *         eddis_smb_attach(e, key, NULL, NULL, timeout, &err);
 *     eddis_smb_create(e, EDDIS_FLOAT32, n, &own, timeout, &err);       // one of one's own
 *     eddis_smb_write(e, own, 0, n, increment, timeout, &err);
 *     eddis_smb_accumulate(e, key, own, timeout, &err);                 // key += own
 *     eddis_smb_read(e, key, 0, n, x, timeout, &err);
 *
 * A buffer is striped over the memory of several nodes and addressed as one; within a node it is
 * shared memory.  It is zero-filled at first and is freed with its last user.
 *
 * Order: a worker's requests to a buffer, also those started and not yet waited for, are carried
 * out in the order of its calls.  Only eddis_smb_wait lets later requests be carried out before it
 * ends.  Accumulates of all workers into a buffer are carried out one after the other.  If a read
 * or write overlaps another worker's accumulate or write, some elements have the value before and
 * some the value after it.  No element is a mixture of both, and no addition is lost.
 *
 * Death: a worker that is killed leaves nothing locked.  Its accumulate is either finished, each
 * element added exactly once, or not done at all; its write may be partly done.  Buffers to which
 * it was attached stay until the box is closed.  Under eddis-run a worker's death ends the
 * generation and its boxes: save in a checkpoint what must outlive it.  No file is left behind.
 *
 * Functions return 0 or a negative errno value, with the reason in err.  Timeouts are in
 * nanoseconds.  After -ETIMEDOUT the request may still be carried out, but the caller's memory is
 * not accessed any more.  -ENOENT: no buffer has this key, or its last user has left.  -EINVAL: not
 * attached, out of range, different types or lengths, or eddis_smb_fetch_add in a buffer that is
 * not int64.  Once eddis_smb_open has returned, any thread may call them at any time; only one
 * thread at a time may wait for a started request.
 */
#ifndef EDDIS_SMB_H
#define EDDIS_SMB_H

#include "eddis.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Open the job's box.  Collective; a second call changes nothing.  servers: number of nodes that
 * buffers are striped over, at most one stripe a node; 0: all nodes.  eddis_close closes the box.
 * Return 0 or a negative errno.
 */
int eddis_smb_open(struct eddis *e, int servers, struct eddis_error *err);

/* Create a buffer of n elements of type EDDIS_FLOAT32, EDDIS_FLOAT64 or EDDIS_INT64, and attach to
 * it.  *ret_key is never 0.  Return 0 or a negative errno; -ENOSPC, -ENOMEM: a server has too
 * little memory.
 */
int eddis_smb_create(struct eddis *e, enum eddis_dtype dtype, size_t n, uint64_t *ret_key,
                     int64_t timeout_ns, struct eddis_error *err);

/* Attach to (become a user of) the buffer and return its type and length; ret_dtype and ret_n may
 * be NULL.  Return 0; -ENOENT: no such buffer; or another negative errno.
 */
int eddis_smb_attach(struct eddis *e, uint64_t key, enum eddis_dtype *ret_dtype, size_t *ret_n,
                     int64_t timeout_ns, struct eddis_error *err);

/* Detach from the buffer; call it once for each create and attach.  The last user's call frees the
 * buffer.  Return 0 or a negative errno; -EINVAL: not attached.
 */
int eddis_smb_detach(struct eddis *e, uint64_t key, int64_t timeout_ns, struct eddis_error *err);

/* Copy elements first .. first + count - 1 of the buffer to data [count].  Return 0 or a negative
 * errno; data may then be partly written.
 */
int eddis_smb_read(struct eddis *e, uint64_t key, size_t first, size_t count, void *data,
                   int64_t timeout_ns, struct eddis_error *err);

/* Copy data [count] to elements first .. first + count - 1 of the buffer.  Return 0 or a negative
 * errno; a part may then have been written.
 */
int eddis_smb_write(struct eddis *e, uint64_t key, size_t first, size_t count, const void *data,
                    int64_t timeout_ns, struct eddis_error *err);

/* Add source to the buffer key (key += source), element by element, in the box's memory.  Both must
 * have one type and length.  Return 0 or a negative errno.
 */
int eddis_smb_accumulate(struct eddis *e, uint64_t key, uint64_t source, int64_t timeout_ns,
                         struct eddis_error *err);

/* Add a notice to the buffer, to wake eddis_smb_wait.  Each completed write and accumulate adds a
 * notice, too.  Return 0 or a negative errno.
 */
int eddis_smb_notify(struct eddis *e, uint64_t key, int64_t timeout_ns, struct eddis_error *err);

/* Wait until the buffer has had more than *count notices since its creation, then set *count to
 * their number.  Return 0 or a negative errno, and then *count is unchanged.
 */
int eddis_smb_wait(struct eddis *e, uint64_t key, uint64_t *count, int64_t timeout_ns,
                   struct eddis_error *err);

/* Add `add` to an element of an EDDIS_INT64 buffer, atomically; *ret_before is the element's value
 * before.  If all calls add a positive number, each gets a different value: a shared counter.
 * Return 0 or a negative errno, and then *ret_before is unchanged.
 */
int eddis_smb_fetch_add(struct eddis *e, uint64_t key, size_t element, int64_t add,
                        int64_t *ret_before, int64_t timeout_ns, struct eddis_error *err);

/* A read, write or accumulate under way; eddis_smb_request_wait frees it. */
struct eddis_smb_request;

/* Start a read without waiting.  data belongs to the library until the request is done.  Return 0
 * and the request in *ret, or a negative errno: nothing was started.
 */
int eddis_smb_read_start(struct eddis *e, uint64_t key, size_t first, size_t count, void *data,
                         struct eddis_smb_request **ret, struct eddis_error *err);

/* Start a write without waiting.  data belongs to the library until the request is done.  Return 0
 * and the request in *ret, or a negative errno: nothing was started.
 */
int eddis_smb_write_start(struct eddis *e, uint64_t key, size_t first, size_t count,
                          const void *data, struct eddis_smb_request **ret,
                          struct eddis_error *err);

/* Start an accumulate (key += source) without waiting.  Return 0 and the request in *ret, or a
 * negative errno: nothing was started.
 */
int eddis_smb_accumulate_start(struct eddis *e, uint64_t key, uint64_t source,
                               struct eddis_smb_request **ret, struct eddis_error *err);

/* Wait for the request, return its result and free it.  -ETIMEDOUT: still under way, wait again. */
int eddis_smb_request_wait(struct eddis *e, struct eddis_smb_request *r, int64_t timeout_ns,
                           struct eddis_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
