/* SPDX-License-Identifier: Apache-2.0 */
/* waiter.h - wait for the communication thread, and show on the board which rank it waits for
 *
 * A thread that waits for a collective or the box while another one computes delays nobody.  Such a
 * wait is neither shown nor counted.
 *
 * No state of its own.  Called without any lock: the locks of the communication thread and the
 * phase are taken inside.
 */
#ifndef EDDIS_WORKER_WAITER_H
#define EDDIS_WORKER_WAITER_H

#include "lib/sync/comm_thread.h"
#include "phase.h"

struct waiter {
    struct comm_thread *thread;
    struct phase *phase;
};

/* Wait as comm_thread_wait.  After each second show on the board for which rank. */
int waiter_wait(const struct waiter *w, struct comm_wait *what, int64_t deadline_ns,
                struct eddis_error *err);

/* Wait likewise; during training the time counts as waiting.  Outside training, as in a checkpoint,
 * time is not split into computing and waiting.
 */
int waiter_wait_timed(const struct waiter *w, struct comm_wait *what, int64_t deadline_ns,
                      struct eddis_error *err);

#endif
