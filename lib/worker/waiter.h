/* SPDX-License-Identifier: Apache-2.0 */
/* waiter.h - wait for the communication thread, and show on the board which rank it waits for
 *
 * A thread that waits for a collective or the box while another one computes delays nobody.  Such a
 * wait is neither shown nor counted.
 *
 * A waiter has no state of its own.  The functions are called without any lock held: they take the
 * locks of the communication thread and the phase.
 */
#ifndef EDDIS_WORKER_WAITER_H
#define EDDIS_WORKER_WAITER_H

#include "lib/sync/comm_thread.h"
#include "phase.h"

struct waiter {
    struct comm_thread *thread;
    struct phase *phase;
};

/* Wait, and return, as comm_thread_wait.  After each second of waiting show on the board for which
 * rank this one waits.
 */
int waiter_wait(const struct waiter *w, struct comm_wait *what, int64_t deadline_ns,
                struct eddis_error *err);

/* Wait, and return, as waiter_wait does; during training the time counts as waiting.  Outside
 * training, as in a checkpoint, time is not split into computing and waiting.
 */
int waiter_wait_timed(const struct waiter *w, struct comm_wait *what, int64_t deadline_ns,
                      struct eddis_error *err);

#endif
