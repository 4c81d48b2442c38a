/* SPDX-License-Identifier: Apache-2.0 */
/* wakeup.h - sleep until something comes in over TCP, or another thread has something to do
 *
 * MPI can only be asked again and again.  What it waits for comes in over connections of its own,
 * which are sockets of this process like any other: all of its TCP sockets are watched, for what is
 * new on them only, so that nothing is read and MPI finds all as it was.  Asking and napping
 * by turns takes a third of two cores from sixteen asynchronous workers on them; and who has a core
 * of his own answers at once instead of after a nap.
 */
#ifndef EDDIS_COMM_WAKEUP_H
#define EDDIS_COMM_WAKEUP_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct wakeup; /* of one process */

/* Begin to watch.  -EMFILE, -ENOMEM. */
int wakeup_new(struct wakeup **ret, struct eddis_error *err);

/* Accepts NULL. */
void wakeup_free(struct wakeup *w);

/* Sleep at most ns nanoseconds.  Returns whether something has come in since the last call, or
 * wakeup_wake ended it.  By one thread at a time, here and below.
 */
bool wakeup_wait(struct wakeup *w, int64_t ns);

/* Take note that a message was there after a wait that nothing ended: it came over a new
 * connection, which is watched from now on, or not over TCP at all.  Returns false when that has
 * happened again and again: waits tell nothing here.
 */
bool wakeup_missed(struct wakeup *w);

/* End the present wait, or the next one.  From any thread. */
void wakeup_wake(struct wakeup *w);

#endif
