/* SPDX-License-Identifier: Apache-2.0 */
/* leave.h - wait until all workers have come to the end of the job
 *
 * The functions are called without any lock held: by eddis_close, or by an exit of the process that
 * comes instead.
 */
#ifndef EDDIS_WORKER_LEAVE_H
#define EDDIS_WORKER_LEAVE_H

#include "collectives.h"
#include "plan_switch.h"
#include "shared_buffers.h"

struct leave {
    struct collectives *all;
    struct shared_buffers *box;
    struct plan_switch *plan_switch;
    bool tells;        /* print the missing workers: without eddis-run nothing else shows them */
    int64_t report_ns; /* interval of the messages about missing workers */
};

/* A call that may time out (-ETIMEDOUT). */
typedef int (*leave_call_fn)(void *arg, int64_t timeout_ns, struct eddis_error *err);

/* Repeat a call until it ends with anything but -ETIMEDOUT.  `where` names this worker's position
 * in messages, such as "eddis_close".  Return the result of the last call.
 */
int leave_repeat(const struct leave *l, const char *where, leave_call_fn call, void *arg,
                 struct eddis_error *err);

/* Wait for all requests, all workers and the Soft Memory Box.  It takes as long as the slowest
 * worker, which may evaluate or save for hours, so the wait has no deadline.  The board shows for
 * whom the worker waits, and timeouts.hang ends the wait.  Without eddis-run a message goes to
 * standard error every report_ns, and the launcher ends the wait if a worker dies.  Collective.
 * Return 0 or a failure of the communication.
 */
int leave_wait(const struct leave *l, struct eddis_error *err);

#endif
