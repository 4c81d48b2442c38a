/* SPDX-License-Identifier: Apache-2.0 */
/* shared_buffers.h - a worker's part of the Soft Memory Box, opened at its first use
 *
 * One thread of the program opens the box; then any thread may make requests.  `lock` guards the
 * list of requests; it is taken last, and no other lock while it is held.  The functions are called
 * without any lock held.
 */
#ifndef EDDIS_WORKER_SHARED_BUFFERS_H
#define EDDIS_WORKER_SHARED_BUFFERS_H

#include "collectives.h"
#include "lib/board/layout.h"

struct eddis_smb_request;

struct shared_buffers {
    struct collectives *all;            /* borrowed */
    const struct node_numbers *numbers; /* borrowed */
    struct smb *box;                    /* NULL before shared_buffers_open */
    struct command leave;
    pthread_mutex_t lock;
    struct eddis_smb_request *requests; /* list of the requests not yet waited for */
};

/* Create the lock; shared_buffers_close destroys it. */
void shared_buffers_init(struct shared_buffers *b);

/* Open the box with n_servers servers (0: one on each node), unless it is open.  Collective.
 * Return 0 or, on all ranks, a negative errno.
 */
int shared_buffers_open(struct shared_buffers *b, int n_servers, struct eddis_error *err);

/* Make a request for the library itself, which waits COLLECTIVES_TIMEOUT_NS at most.  Return 0 or a
 * negative errno, that of the request or of the communication.
 */
int shared_buffers_ask_own(struct shared_buffers *b, struct smb_request *r,
                           struct eddis_error *err);

/* Leave the box in order, if it is open.  Collective.  Return 0, also if it is not open, or a
 * negative errno; after -ETIMEDOUT call it again.
 */
int shared_buffers_leave(struct shared_buffers *b, int64_t deadline_ns, struct eddis_error *err);

/* Close this rank's part of the box, if it is open, free the requests that nobody waited for, and
 * destroy the lock; b itself is not freed.  Call it after the communication thread has ended.
 */
void shared_buffers_close(struct shared_buffers *b);

#endif
