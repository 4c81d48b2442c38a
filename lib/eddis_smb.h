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
 * A buffer is striped over the memory of several nodes and addressed as one; on its own node it is
 * shared memory.  It is full of zeros at first and goes with its last user.
 *
 * Order: a worker's requests to a buffer are carried out in the order of its calls, those that were
 * started and not yet waited for included; only eddis_smb_wait lets others pass.  Accumulates into
 * a buffer, of all workers, are carried out one after the other, each whole.  A read or write while
 * another worker accumulates or writes sees or leaves some elements as before and some as after it;
 * no element is ever half one and half the other, and no addition is lost.
 *
 * Death: a worker that is killed leaves nothing locked.  An accumulate of its that had begun is
 * finished, each element once, or not done at all; a write may be partly there; what it was
 * attached to stays until the box goes.  Under eddis-run a worker's death ends the generation, and
 * its boxes with it: what is to outlive it belongs into a checkpoint.  No file is left behind.
 *
 * Functions return 0 or a negative errno value, and then say why in err.  All have a time-out:
 * -ETIMEDOUT then, and what was asked may still happen, but the memory given is not looked at any
 * more.  -ENOENT: nobody has made a buffer of this key, or its last user has left.  -EINVAL: bad
 * use: not attached, out of range, unlike types or lengths, counting in what is not int64.
 * Any thread may call them at any time once eddis_smb_open has returned, a started request being
 * waited for by one at a time.
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

/* Open the job's box.  Collective; a second call changes nothing.  servers: over how many nodes
 * buffers are striped, at most one a node; 0: all.  It is closed by eddis_close.
 */
int eddis_smb_open(struct eddis *e, int servers, struct eddis_error *err);

/* Make a buffer of n elements, EDDIS_FLOAT32, EDDIS_FLOAT64 or EDDIS_INT64, and attach to it.
 * *ret_key is never 0.  -ENOSPC, -ENOMEM: a server has no room.
 */
int eddis_smb_create(struct eddis *e, enum eddis_dtype dtype, size_t n, uint64_t *ret_key,
                     int64_t timeout_ns, struct eddis_error *err);

/* Become a user of the buffer; ret_dtype and ret_n may be NULL. */
int eddis_smb_attach(struct eddis *e, uint64_t key, enum eddis_dtype *ret_dtype, size_t *ret_n,
                     int64_t timeout_ns, struct eddis_error *err);

/* No longer be one; as often as created and attached.  The last user frees the buffer. */
int eddis_smb_detach(struct eddis *e, uint64_t key, int64_t timeout_ns, struct eddis_error *err);

/* Elements first .. first + count - 1. */
int eddis_smb_read(struct eddis *e, uint64_t key, size_t first, size_t count, void *data,
                   int64_t timeout_ns, struct eddis_error *err);
int eddis_smb_write(struct eddis *e, uint64_t key, size_t first, size_t count, const void *data,
                    int64_t timeout_ns, struct eddis_error *err);

/* key += source, element by element, where the buffers are: both of one type and length. */
int eddis_smb_accumulate(struct eddis *e, uint64_t key, uint64_t source, int64_t timeout_ns,
                         struct eddis_error *err);

/* Each write and accumulate, once it is done, and each call of eddis_smb_notify gives a notice;
 * a buffer's notices are counted from 1.  eddis_smb_wait waits until there are more than *count,
 * and then sets *count to their number.
 */
int eddis_smb_notify(struct eddis *e, uint64_t key, int64_t timeout_ns, struct eddis_error *err);
int eddis_smb_wait(struct eddis *e, uint64_t key, uint64_t *count, int64_t timeout_ns,
                   struct eddis_error *err);

/* Add to an element of an EDDIS_INT64 buffer; *ret_before is what it was.  Of all workers' calls
 * each sees another value when add is positive: a shared counter.
 */
int eddis_smb_fetch_add(struct eddis *e, uint64_t key, size_t element, int64_t add,
                        int64_t *ret_before, int64_t timeout_ns, struct eddis_error *err);

/* The same without waiting.  The memory belongs to the library until the request is done. */
struct eddis_smb_request;
int eddis_smb_read_start(struct eddis *e, uint64_t key, size_t first, size_t count, void *data,
                         struct eddis_smb_request **ret, struct eddis_error *err);
int eddis_smb_write_start(struct eddis *e, uint64_t key, size_t first, size_t count,
                          const void *data, struct eddis_smb_request **ret,
                          struct eddis_error *err);
int eddis_smb_accumulate_start(struct eddis *e, uint64_t key, uint64_t source,
                               struct eddis_smb_request **ret, struct eddis_error *err);

/* Wait for the request; its result, and then it is freed.  -ETIMEDOUT: still under way, wait again.
 */
int eddis_smb_request_wait(struct eddis *e, struct eddis_smb_request *r, int64_t timeout_ns,
                           struct eddis_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
