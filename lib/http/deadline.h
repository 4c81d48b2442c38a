/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.h - close sockets whose peer takes too long
 *
 * libmicrohttpd's own time-out counts silence only, so a peer that sends a byte now and then could
 * hold a connection for ever.  Here every connection has a moment by which it must have got on;
 * one thread shuts down the sockets that are late, and the server then closes them as if the peer
 * had.  The same thread wakes those who are to wait for a moment.
 */
#ifndef EDDIS_HTTP_DEADLINE_H
#define EDDIS_HTTP_DEADLINE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct deadlines;
struct deadline; /* of one socket */

/* Start the thread. */
int deadlines_start(struct deadlines **ret, struct eddis_error *err);

/* End the thread and free what is left; accepts NULL. */
void deadlines_stop(struct deadlines *d);

/* Watch a socket; it must stay open until deadline_remove.  Returns NULL without memory. */
struct deadline *deadline_add(struct deadlines *d, int fd, int64_t at_ns);

/* Move x to at_ns; CLOCK_NEVER: no limit for now. */
void deadline_set(struct deadlines *d, struct deadline *x, int64_t at_ns);

/* Call wake(ctx) at at_ns, on the thread, instead of shutting x's socket down.  False: it is not
 * called, for deadlines_wake was.
 */
bool deadline_hold(struct deadlines *d, struct deadline *x, int64_t at_ns, void (*wake)(void *ctx),
                   void *ctx);

/* Wake all who wait, now, and let nobody wait any more.  Returns when all are awake. */
void deadlines_wake(struct deadlines *d);

/* Watch x's socket no longer, and free x. */
void deadline_remove(struct deadlines *d, struct deadline *x);

#endif
