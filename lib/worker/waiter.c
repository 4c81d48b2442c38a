/* SPDX-License-Identifier: Apache-2.0 */
/* waiter.c - waits in slices of a second; after each the board shows which rank it waits for */
#include "waiter.h"

#include "lib/base/clock.h"

#include <errno.h>

/* Return true if the whole worker waits; false if only a thread waits while another one computes.
 */
static bool waiter_is_worker(const struct waiter *w, const struct comm_wait *what)
{
    return what->kind == WAIT_ROUND || what->kind == WAIT_EXCHANGE || phase_is_own(w->phase);
}

int waiter_wait(const struct waiter *w, struct comm_wait *what, int64_t deadline_ns,
                struct eddis_error *err)
{
    bool shows = waiter_is_worker(w, what);
    int64_t slice;
    int rc;

    do {
        slice = clock_after_ns(clock_now_ns(), CLOCK_S);
        rc = comm_thread_wait(w->thread, what, slice < deadline_ns ? slice : deadline_ns, err);
        if (rc == -ETIMEDOUT && shows)
            phase_show_peer(w->phase, what->peer);
    } while (rc == -ETIMEDOUT && slice < deadline_ns);
    if (rc != -ETIMEDOUT && shows)
        phase_hide_peer(w->phase);
    return rc;
}

int waiter_wait_timed(const struct waiter *w, struct comm_wait *what, int64_t deadline_ns,
                      struct eddis_error *err)
{
    enum eddis_phase before;
    int rc;

    if (!waiter_is_worker(w, what) || !phase_is_training(w->phase))
        return waiter_wait(w, what, deadline_ns, err);
    before = phase_wait_enter(w->phase);
    rc = waiter_wait(w, what, deadline_ns, err);
    phase_wait_leave(w->phase, before, rc);
    return rc;
}
