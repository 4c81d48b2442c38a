/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.h - shut down sockets whose peer takes too long
 *
 * libmicrohttpd's own time-out counts only silence, so a peer that sends a byte now and then could
 * keep a connection open without limit.  Here every connection has a deadline for its next
 * progress.  One thread shuts down sockets that are late; the server then closes them as if the
 * peer had.  The same thread also resumes connections that are held until a given time.
 */
#ifndef EDDIS_HTTP_DEADLINE_H
#define EDDIS_HTTP_DEADLINE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct deadlines;
struct deadline; /* deadline of one socket */

/* Start a thread that watches the deadlines of sockets, none at first; the caller frees *ret by
 * deadlines_stop.  Return 0 or a negative errno, and then no thread is left.
 */
int deadlines_start(struct deadlines **ret, struct eddis_error *err);

/* Stop the thread and free all deadlines.  Accepts NULL. */
void deadlines_stop(struct deadlines *d);

/* Watch a socket, which must stay open until deadline_remove.  Return NULL without memory. */
struct deadline *deadline_add(struct deadlines *d, int fd, int64_t at_ns);

/* Set the deadline of x to at_ns (monotonic); CLOCK_NEVER: no limit. */
void deadline_set(struct deadlines *d, struct deadline *x, int64_t at_ns);

/* At at_ns, call wake(ctx) in the deadlines' thread instead of shutting down x's socket.  Return
 * false, without effect, if deadlines_wake was called.
 */
bool deadline_hold(struct deadlines *d, struct deadline *x, int64_t at_ns, void (*wake)(void *ctx),
                   void *ctx);

/* Call wake() of all sockets that are held (deadline_hold), and let none be held from now on.
 * Return when all calls have finished.
 */
void deadlines_wake(struct deadlines *d);

/* Stop watching x's socket, and free x. */
void deadline_remove(struct deadlines *d, struct deadline *x);

#endif
