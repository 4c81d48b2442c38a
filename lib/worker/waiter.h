/* SPDX-License-Identifier: Apache-2.0 */
/* waiter.h - wait for the communication thread, and show on the board for whom
 *
 * A thread that waits for a collective or the box while another one computes holds nobody up: that
 * is neither shown nor counted.
 *
 * No state of its own.  Called without any lock: the communication thread's own and the phase's are
 * taken inside.
 */
#ifndef EDDIS_WORKER_WAITER_H
#define EDDIS_WORKER_WAITER_H

#include "lib/sync/comm_thread.h"
#include "phase.h"

struct waiter {
    struct comm_thread *thread;
    struct phase *phase;
};

/* Wait as comm_thread_wait does.  Each second that it takes, the board is told for whom. */
int waiter_wait(const struct waiter *w, struct comm_wait *what, int64_t deadline_ns,
                struct eddis_error *err);

/* The same; inside of training the time counts as waiting.  Outside of it, as in a checkpoint, time
 * is not split into computing and waiting.
 */
int waiter_wait_timed(const struct waiter *w, struct comm_wait *what, int64_t deadline_ns,
                      struct eddis_error *err);

#endif
