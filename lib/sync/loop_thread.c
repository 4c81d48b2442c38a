/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_thread.h"

#include "lib/base/random.h"
#include "lib/comm/loop.h"

#include <errno.h>
#include <stdlib.h>

struct loop_thread {
    struct loop *loop;
    struct engine *const *engine;
    struct smb *const *box; /* NULL: none */
    struct transport **end; /* [n_ranks] */
    int n_ranks;
    uint64_t random;
    struct outbox out;
};

int loop_thread_new(struct engine *const *engine, int n_ranks, uint64_t seed,
                    struct loop_thread **ret, struct eddis_error *err)
{
    struct loop_thread *d = calloc(1, sizeof *d);
    int rc;

    if (!d)
        return eddis_fail(err, -ENOMEM, "no memory for a loop");
    d->engine = engine;
    d->n_ranks = n_ranks;
    d->random = random_mix(seed, 1);
    d->end = calloc((size_t)n_ranks, sizeof(struct transport *));
    rc = d->end ? loop_new(n_ranks, seed, &d->loop, err)
                : eddis_fail(err, -ENOMEM, "no memory for %d ranks", n_ranks);
    for (int i = 0; rc == 0 && i < n_ranks; i++)
        rc = loop_open(d->loop, i, &d->end[i], err);
    if (rc < 0) {
        loop_thread_free(d);
        return rc;
    }
    *ret = d;
    return 0;
}

int loop_thread_announce(struct loop_thread *d, int rank, const struct engine_announcement *a,
                         struct eddis_error *err)
{
    int rc = engine_announce(d->engine[rank], a, loop_now_ns(d->loop), &d->out, err);

    return rc < 0 ? rc : transport_post(d->end[rank], &d->out, err);
}

int loop_thread_finish(struct loop_thread *d, int rank, struct eddis_error *err)
{
    int rc = engine_finish(d->engine[rank], loop_now_ns(d->loop), &d->out, err);

    return rc < 0 ? rc : transport_post(d->end[rank], &d->out, err);
}

/* ---- the Soft Memory Box ---- */

void loop_thread_set_boxes(struct loop_thread *d, struct smb *const *box)
{
    d->box = box;
}

/* Hand out the requests that are done, which may begin others. */
static int loop_thread_box_done(struct loop_thread *d, int rank, struct eddis_error *err)
{
    struct smb_request *r;
    int rc = 0;

    while (rc >= 0 && d->box && (r = smb_take_done(d->box[rank])))
        if (d->engine[rank])
            rc = engine_box(d->engine[rank], r, loop_now_ns(d->loop), &d->out, err);
    return rc < 0 ? rc : transport_post(d->end[rank], &d->out, err);
}

int loop_thread_box(struct loop_thread *d, int rank, struct smb_request *r, struct eddis_error *err)
{
    int rc = smb_start(d->box[rank], r, loop_now_ns(d->loop), &d->out, err);
    int rc2 = rc < 0 ? rc : transport_post(d->end[rank], &d->out, err);

    return rc2 < 0 ? rc2 : rc;
}

int loop_thread_exchange(struct loop_thread *d, int rank, enum sync_exchange what, int64_t step,
                         struct eddis_error *err)
{
    int rc = engine_exchange(d->engine[rank], what, step, loop_now_ns(d->loop), &d->out, err);

    return rc < 0 ? rc : transport_post(d->end[rank], &d->out, err);
}

/* ---- turns ---- */

/* Look at shared memory.  Returns whether anything moved. */
static int loop_thread_look(struct loop_thread *d, int rank, struct eddis_error *err)
{
    struct engine *e = d->engine[rank];
    int64_t now = loop_now_ns(d->loop);
    int rc = e && engine_polls(e) ? engine_poll(e, now, &d->out, err) : 0;

    if (rc == 0 && d->box && smb_polls(d->box[rank]))
        rc = smb_poll(d->box[rank], now, &d->out, err);
    return rc;
}

/* Returns 1 when the rank had something to handle. */
static int loop_thread_poll(struct loop_thread *d, int rank, struct eddis_error *err)
{
    struct comm_op op;
    int n = transport_poll(d->end[rank], &op, 1, err), rc;

    if (n < 0)
        return n;
    if (!n)
        rc = n = loop_thread_look(d, rank, err);
    else if (op.channel == COMM_BOX)
        rc = smb_receive(d->box[rank], &op, loop_now_ns(d->loop), &d->out, err);
    else
        rc = engine_receive(d->engine[rank], &op, loop_now_ns(d->loop), &d->out, err);
    if (rc >= 0)
        rc = loop_thread_box_done(d, rank, err);
    return rc < 0 ? rc : n;
}

/* Let one rank, drawn at random, handle something.  Returns 1 when there was something. */
static int loop_thread_turn(struct loop_thread *d, struct eddis_error *err)
{
    int first = (int)random_below(&d->random, (uint64_t)d->n_ranks), rc = 0;

    for (int i = 0; rc == 0 && i < d->n_ranks; i++)
        rc = loop_thread_poll(d, (first + i) % d->n_ranks, err);
    return rc;
}

int loop_thread_step(struct loop_thread *d, struct eddis_error *err)
{
    int rc = loop_thread_turn(d, err);

    return rc ? rc : loop_advance(d->loop);
}

int loop_thread_step_to(struct loop_thread *d, int64_t until_ns, struct eddis_error *err)
{
    int rc = loop_thread_turn(d, err);

    return rc ? rc : loop_advance_to(d->loop, until_ns);
}

int loop_thread_run_to(struct loop_thread *d, int64_t until_ns, struct eddis_error *err)
{
    int rc;

    do
        rc = loop_thread_turn(d, err);
    while (rc == 1 || (rc == 0 && loop_advance_to(d->loop, until_ns)));
    return rc;
}

void loop_thread_set_link(struct loop_thread *d, int64_t latency_ns, double bytes_per_s)
{
    loop_set_link(d->loop, latency_ns, bytes_per_s);
}

int64_t loop_thread_now_ns(const struct loop_thread *d)
{
    return loop_now_ns(d->loop);
}

int loop_thread_run(struct loop_thread *d, int64_t step, struct eddis_error *err)
{
    int rc;

    do
        rc = loop_thread_step(d, err);
    while (rc == 1);
    for (int i = 0; rc == 0 && i < d->n_ranks; i++)
        for (int b = 0; b < engine_n_buckets(d->engine[i]); b++)
            if (engine_done_step(d->engine[i], b) != step)
                return eddis_fail(err, -EDEADLK, "bucket %d of rank %d waits for rank %d", b, i,
                                  engine_waits_for(d->engine[i], b));
    return rc;
}

int64_t loop_thread_sent_bytes(const struct loop_thread *d, int rank)
{
    return d->end[rank]->sent_bytes;
}

void loop_thread_free(struct loop_thread *d)
{
    if (!d)
        return;
    for (int i = 0; d->end && i < d->n_ranks; i++)
        transport_close(d->end[i], false, NULL);
    free(d->end);
    outbox_fini(&d->out);
    loop_free(d->loop);
    free(d);
}
