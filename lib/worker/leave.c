/* SPDX-License-Identifier: Apache-2.0 */
/* leave.c - leaving the job part by part, each of which may be waited for again and again
 *
 *     requests   that nobody has waited for
 *     meeting    all workers have come: from here on nobody is long
 *     box        has no user left
 *     parting    all have left it
 */
#include "leave.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum part { PART_REQUESTS, PART_MEETING, PART_BOX, PART_PARTING, PARTS };

static int leave_part(const struct leave *l, enum part part, struct eddis_request **barrier,
                      int64_t deadline_ns, struct eddis_error *err)
{
    switch (part) {
    case PART_REQUESTS:
        return collectives_wait_all(l->all, deadline_ns, err);
    case PART_BOX:
        return shared_buffers_leave(l->box, deadline_ns, err);
    default:
        return collectives_barrier_until(l->all, barrier, deadline_ns - clock_now_ns(), err);
    }
}

/* "eddis: rank 1 has come to eddis_close and waits, for 1 minute so far: barrier still waits ..."
 */
static void leave_tell(const struct leave *l, int64_t since_ns, const struct eddis_error *why)
{
    int64_t minutes = (clock_now_ns() - since_ns) / (60 * CLOCK_S);

    (void)fprintf(stderr,
                  "eddis: rank %d has come to eddis_close and waits, for %" PRId64
                  " minute%s so far: %s\n",
                  l->all->place.rank, minutes, minutes == 1 ? "" : "s", why->text);
}

int leave_wait(const struct leave *l, struct eddis_error *err)
{
    bool company = l->all->place.n_ranks > 1;
    int64_t since = clock_now_ns();
    struct eddis_request *barrier = NULL;
    struct eddis_error why = { 0 };
    int rc = 0;

    for (int part = 0; part < PARTS && rc == 0; part++)
        do {
            rc = leave_part(l, part, &barrier, clock_after_ns(clock_now_ns(), l->tell_ns), &why);
            if (rc == -ETIMEDOUT && company && l->tells)
                leave_tell(l, since, &why);
        } while (rc == -ETIMEDOUT);
    return rc < 0 ? eddis_fail(err, rc, "leaving the job: %s", why.text) : 0;
}
