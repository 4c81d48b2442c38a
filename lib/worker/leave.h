/* SPDX-License-Identifier: Apache-2.0 */
/* leave.h - wait until all workers have come to the end of the job
 *
 * Called without any lock held, by eddis_close and by an exit in its place.
 */
#ifndef EDDIS_WORKER_LEAVE_H
#define EDDIS_WORKER_LEAVE_H

#include "collectives.h"
#include "replan.h"
#include "shared_buffers.h"

struct leave {
    struct collectives *all;
    struct shared_buffers *box;
    struct replan *replan;
    bool tells;      /* nobody else would say for whom it waits: without eddis-run */
    int64_t tell_ns; /* how often it is said */
};

/* A call with a time-out. */
typedef int (*leave_call_fn)(void *arg, int64_t timeout_ns, struct eddis_error *err);

/* Make a call again and again until it ends otherwise than with -ETIMEDOUT; `where` is what this
 * worker has come to: "eddis_close".
 */
int leave_repeat(const struct leave *l, const char *where, leave_call_fn call, void *arg,
                 struct eddis_error *err);

/* Wait for all requests, for all workers and for the Soft Memory Box.  It takes what the slowest
 * worker takes, which may evaluate or save for hours: the wait has no deadline of its own.  The
 * board tells for whom it is, and timeouts.hang ends it; without eddis-run standard error is told
 * every tell_ns, and whoever has started the workers ends it when one of them dies.  Collective.
 */
int leave_wait(const struct leave *l, struct eddis_error *err);

#endif
