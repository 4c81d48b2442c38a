/* SPDX-License-Identifier: Apache-2.0 */
/* leave.c - leave the job in several parts; a part that times out is repeated
 *
 *     requests   wait for those that nobody has waited for
 *     meeting    wait until all workers have come; the later parts take no worker long
 *     models     compare them as they are after the last step
 *     box        wait until nobody uses it
 *     parting    wait until all workers have left the box
 */
#include "leave.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum part { PART_REQUESTS, PART_MEETING, PART_MODELS, PART_BOX, PART_PARTING, PARTS };

/* Print to standard error how long and for whom this worker waits: "eddis: rank 1 has reached
 * eddis_close and has waited for 1 minute so far: barrier still waits ..."
 */
static void leave_tell(const struct leave *l, const char *where, int64_t since_ns,
                       const struct eddis_error *why)
{
    int64_t minutes = (clock_now_ns() - since_ns) / (60 * CLOCK_S);

    (void)fprintf(stderr,
                  "eddis: rank %d has reached %s and has waited for %" PRId64
                  " minute%s so far: %s\n",
                  l->all->place.rank, where, minutes, minutes == 1 ? "" : "s", why->text);
}

int leave_repeat(const struct leave *l, const char *where, leave_call_fn call, void *arg,
                 struct eddis_error *err)
{
    bool company = l->all->place.n_ranks > 1;
    int64_t since = clock_now_ns();
    int rc;

    do {
        rc = call(arg, l->report_ns, err);
        if (rc == -ETIMEDOUT && company && l->tells)
            leave_tell(l, where, since, err);
    } while (rc == -ETIMEDOUT);
    return rc;
}

/* How far leaving is: the part to do next, and its barrier after a timeout (NULL: not begun). */
struct leaving {
    const struct leave *l;
    enum part part;
    struct eddis_request *barrier;
};

/* Do the part at->part.  Return 0 when it is done.  -ETIMEDOUT at the deadline: repeat it. */
static int leave_part(struct leaving *at, int64_t deadline_ns, struct eddis_error *err)
{
    const struct leave *l = at->l;

    switch (at->part) {
    case PART_REQUESTS:
        return collectives_wait_all(l->all, deadline_ns, err);
    case PART_MODELS:
        return plan_switch_compare_last(l->plan_switch, l->all, err);
    case PART_BOX:
        return shared_buffers_leave(l->box, deadline_ns, err);
    default:
        return collectives_barrier_until(l->all, &at->barrier, deadline_ns - clock_now_ns(), err);
    }
}

/* Do the remaining parts and advance at->part, for at most timeout_ns; a leave_call_fn whose arg is
 * a struct leaving.  Return 0: all are done; or the failure of the present part, -ETIMEDOUT: call
 * again.
 */
static int leave_parts(void *arg, int64_t timeout_ns, struct eddis_error *err)
{
    struct leaving *at = arg;
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    int rc = 0;

    for (; rc == 0 && at->part < PARTS; at->part += rc == 0)
        rc = leave_part(at, deadline, err);
    return rc;
}

int leave_wait(const struct leave *l, struct eddis_error *err)
{
    struct leaving at = { .l = l };
    struct eddis_error why = { 0 };
    int rc = leave_repeat(l, "eddis_close", leave_parts, &at, &why);

    return rc < 0 ? eddis_fail(err, rc, "leaving the job: %s", why.text) : 0;
}
