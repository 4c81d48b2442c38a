/* SPDX-License-Identifier: Apache-2.0 */
/* wakeup.h - sleep until data arrives over TCP, or another thread ends the sleep
 *
 * MPI can only be polled.  Its messages arrive over its own connections, which are ordinary sockets
 * of this process.  So all TCP sockets of the process are watched, edge-triggered: nothing is read,
 * and MPI finds all data unchanged.  Polling with naps would take a third of the time of two cores
 * that sixteen asynchronous workers share.  And a worker with a core of its own answers immediately
 * instead of after a nap.
 */
#ifndef EDDIS_COMM_WAKEUP_H
#define EDDIS_COMM_WAKEUP_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct wakeup; /* the watched sockets of one process */

/* Begin to watch; the caller frees *ret by wakeup_free.  Return 0 or a negative errno: -EMFILE,
 * -ENOMEM.
 */
int wakeup_new(struct wakeup **ret, struct eddis_error *err);

/* Stop watching and free w.  Accept NULL. */
void wakeup_free(struct wakeup *w);

/* Sleep for at most ns nanoseconds.  Return whether data has arrived since the previous call, or
 * wakeup_wake ended the sleep.  Like wakeup_missed, call it from one thread at a time.
 */
bool wakeup_wait(struct wakeup *w, int64_t ns);

/* Record that a message had arrived although wakeup_wait timed out.  The message came over a new
 * connection, which is watched from now on, or not over TCP.  Return false if this has happened so
 * often that waits are useless in this process.
 */
bool wakeup_missed(struct wakeup *w);

/* End the present wait, or the next one.  Any thread may call it. */
void wakeup_wake(struct wakeup *w);

#endif
