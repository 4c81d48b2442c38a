/* SPDX-License-Identifier: Apache-2.0 */
/* transport.c - common parts of all transports, and the policy of waiting between two polls
 *
 * While messages are awaited:
 *
 *     if a message ends a wait, and nothing is awaited in shared memory
 *         poll REST_POLLS times, then listen for a sixteenth of the time since something moved.
 *         MPI reads arrived data in portions, and other threads may take the core in between.  So
 *         it is polled several times before each wait, however long that takes.
 *     otherwise
 *         poll without a pause for SPIN_NS after something moved, then nap for a sixteenth of the
 *         time since.  So a waiting thread costs a few per cent of a core, and its delay is a few
 *         per cent of the time that it waited.
 *
 * With nothing under way a poll only lets MPI progress operations of other ranks.  It becomes rarer
 * the longer nothing has moved: a step of 100 ms costs five polls.
 */
#include "transport.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>

enum {
    REST_POLLS = 8,
    SPIN_NS = 100 * 1000,
    LISTEN_MIN_NS = 1000 * 1000,
    LISTEN_MAX_NS = 20 * 1000 * 1000,
    NAP_MIN_NS = 20 * 1000,
    NAP_MAX_NS = 200 * 1000,
    IDLE_MIN_NS = 1000 * 1000,
    IDLE_MAX_NS = 50 * 1000 * 1000,
};

int transport_post(struct transport *t, struct outbox *out, struct eddis_error *err)
{
    for (size_t i = 0; i < out->n; i++) {
        int rc = t->ops->post(t, &out->op[i], err);

        if (rc < 0)
            return rc;
        t->under_way++;
        if (out->op[i].kind == COMM_SEND)
            t->sent_bytes += (int64_t)out->op[i].bytes;
    }
    outbox_clear(out);
    return 0;
}

int transport_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err)
{
    int n = t->ops->poll(t, ret, max, err);

    if (n > 0)
        t->under_way -= n;
    /* The last wait missed these operations.  If that happens repeatedly, waits are useless: poll
     * instead.
     */
    if (n > 0 && t->quiet.unheard)
        t->wakes = wakeup_missed(t->wakeup);
    t->quiet.unheard = false;
    return n;
}

void transport_cancel(struct transport *t)
{
    if (t && t->ops->cancel)
        t->ops->cancel(t);
}

int transport_fail_length(const struct comm_op *op, size_t got, struct eddis_error *err)
{
    static const char advice[] = "all workers must make the same calls in the same order, with the "
                                 "same sizes";

    if (got == SIZE_MAX)
        return eddis_fail(err, -EMSGSIZE, "rank %d has sent more than the expected %zu bytes; %s",
                          op->peer, op->bytes, advice);
    return eddis_fail(err, -EMSGSIZE, "rank %d has sent %zu bytes instead of %zu; %s", op->peer,
                      got, op->bytes, advice);
}

/* Return x limited to the range low .. high. */
static int64_t between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

struct transport_rest transport_rest(struct transport *t, bool polls, int64_t deadline_ns)
{
    int64_t now = clock_now_ns(), quiet = t ? now - t->quiet.moved_ns : 0, ns;
    bool under_way = !t || t->under_way > 0 || polls;
    struct transport_rest r = { .kind = REST_NAP };

    if (t && under_way && t->wakes && !polls) {
        r.kind = t->quiet.rests++ < REST_POLLS ? REST_YIELD : REST_LISTEN;
        ns = between(quiet / 16, LISTEN_MIN_NS, LISTEN_MAX_NS);
    } else if (t && under_way && quiet < SPIN_NS) {
        r.kind = REST_YIELD;
        ns = 0;
    } else if (under_way) {
        ns = between(quiet / 16, NAP_MIN_NS, NAP_MAX_NS);
    } else {
        ns = between(2 * quiet, IDLE_MIN_NS, IDLE_MAX_NS);
    }
    r.ns = between(ns, 0, deadline_ns > now ? deadline_ns - now : 0);
    return r;
}

void transport_wait(struct transport *t, struct transport_rest r)
{
    if (r.kind == REST_LISTEN) {
        t->quiet.unheard = !wakeup_wait(t->wakeup, r.ns);
        if (!t->quiet.unheard)
            t->quiet.rests = 0;
    } else {
        sched_yield();
    }
}

void transport_moved(struct transport *t)
{
    if (!t)
        return;
    t->quiet.moved_ns = clock_now_ns();
    t->quiet.rests = 0;
}

void transport_wake(struct transport *t)
{
    wakeup_wake(t->wakeup);
}

void transport_abort(struct transport *t, int code)
{
    t->ops->abort(t, code);
}

int transport_derive(struct transport *t, struct transport **ret, struct eddis_error *err)
{
    if (!t->ops->derive)
        return eddis_fail(err, -ENOTSUP, "a process can have only one endpoint of kind %s",
                          t->ops->name);
    return t->ops->derive(t, ret, err);
}

int transport_ready(struct transport *t, struct eddis_error *err)
{
    return t->ops->ready ? t->ops->ready(t, err) : 1;
}

int transport_close(struct transport *t, bool orderly, struct eddis_error *err)
{
    return t ? t->ops->close(t, orderly, err) : 0;
}
