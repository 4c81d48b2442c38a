/* SPDX-License-Identifier: Apache-2.0 */
/* loop_thread.c - runs engines and boxes on one thread, in an order drawn from a seed */
#include "loop_thread.h"

#include "lib/base/random.h"
#include "loop.h"

#include <errno.h>
#include <stdlib.h>

/* Engines, boxes and endpoints of all ranks. */
struct loop_thread {
    struct loop *loop;
    struct engine *const *engine;
    struct smb *const *box; /* NULL: none */
    struct transport **end; /* [n_ranks] */
    int n_ranks;
    uint64_t random;   /* state of the random numbers that choose the next rank */
    struct outbox out; /* messages of the engine or box that runs, posted by its rank's endpoint */
};

int loop_thread_new(struct engine *const *engine, int n_ranks, uint64_t seed,
                    struct loop_thread **ret, struct eddis_error *err)
{
    struct loop_thread *t = calloc(1, sizeof *t);
    int rc;

    if (!t)
        return eddis_fail(err, -ENOMEM, "no memory for a loop");
    t->engine = engine;
    t->n_ranks = n_ranks;
    t->random = random_mix(seed, 1);
    t->end = calloc((size_t)n_ranks, sizeof(struct transport *));
    rc = t->end ? loop_new(n_ranks, seed, &t->loop, err)
                : eddis_fail(err, -ENOMEM, "no memory for %d ranks", n_ranks);
    for (int i = 0; rc == 0 && i < n_ranks; i++)
        rc = loop_open(t->loop, i, &t->end[i], err);
    if (rc < 0) {
        loop_thread_free(t);
        return rc;
    }
    *ret = t;
    return 0;
}

int loop_thread_announce(struct loop_thread *t, int rank, const struct engine_announcement *a,
                         struct eddis_error *err)
{
    int rc = engine_announce(t->engine[rank], a, loop_now_ns(t->loop), &t->out, err);

    return rc < 0 ? rc : transport_post(t->end[rank], &t->out, err);
}

int loop_thread_finish(struct loop_thread *t, int rank, struct eddis_error *err)
{
    int rc = engine_finish(t->engine[rank], 0, loop_now_ns(t->loop), &t->out, err);

    return rc < 0 ? rc : transport_post(t->end[rank], &t->out, err);
}

/* ---- the Soft Memory Box ---- */

void loop_thread_set_boxes(struct loop_thread *t, struct smb *const *box)
{
    t->box = box;
}

/* Pass the rank's finished requests to the box to its engine, which may start further requests, and
 * post all messages that result.  Return 0 or a failure.
 */
static int loop_thread_box_done(struct loop_thread *t, int rank, struct eddis_error *err)
{
    struct smb_request *r;
    int rc = 0;

    while (rc >= 0 && t->box && (r = smb_take_done(t->box[rank])))
        if (t->engine[rank])
            rc = engine_box(t->engine[rank], r, loop_now_ns(t->loop), &t->out, err);
    return rc < 0 ? rc : transport_post(t->end[rank], &t->out, err);
}

int loop_thread_box(struct loop_thread *t, int rank, struct smb_request *r, struct eddis_error *err)
{
    int rc = smb_start(t->box[rank], r, loop_now_ns(t->loop), &t->out, err);
    int rc2 = rc < 0 ? rc : transport_post(t->end[rank], &t->out, err);

    return rc2 < 0 ? rc2 : rc;
}

int loop_thread_exchange(struct loop_thread *t, int rank, const struct sync_turn *turn,
                         struct eddis_error *err)
{
    int rc = engine_exchange(t->engine[rank], turn, loop_now_ns(t->loop), &t->out, err);

    return rc < 0 ? rc : transport_post(t->end[rank], &t->out, err);
}

/* ---- turns ---- */

/* Inspect shared memory for one rank's engine, and for its box if the engine did not move.  Return
 * 1 if anything moved, 0 if nothing did, or a failure.
 */
static int loop_thread_look(struct loop_thread *t, int rank, struct eddis_error *err)
{
    struct engine *e = t->engine[rank];
    int64_t now = loop_now_ns(t->loop);
    int rc = e && engine_polls(e) ? engine_poll(e, now, &t->out, err) : 0;

    if (rc == 0 && t->box && smb_polls(t->box[rank]))
        rc = smb_poll(t->box[rank], now, &t->out, err);
    return rc;
}

/* Let one rank handle one message, or inspect shared memory if there is no message.  Return 1 if
 * there was a message or anything moved in shared memory, else 0, or a failure.
 */
static int loop_thread_poll(struct loop_thread *t, int rank, struct eddis_error *err)
{
    struct comm_op op;
    int n = transport_poll(t->end[rank], &op, 1, err), rc;

    if (n < 0)
        return n;
    if (!n)
        rc = n = loop_thread_look(t, rank, err);
    else if (op.channel == COMM_BOX)
        rc = smb_receive(t->box[rank], &op, loop_now_ns(t->loop), &t->out, err);
    else
        rc = engine_receive(t->engine[rank], &op, loop_now_ns(t->loop), &t->out, err);
    if (rc >= 0)
        rc = loop_thread_box_done(t, rank, err);
    return rc < 0 ? rc : n;
}

/* Call loop_thread_poll for the ranks in turn, from a random rank, until a rank makes progress.
 * Return 1 if a rank made progress, else 0, or a failure.
 */
static int loop_thread_turn(struct loop_thread *t, struct eddis_error *err)
{
    int first = (int)random_below(&t->random, (uint64_t)t->n_ranks), rc = 0;

    for (int i = 0; rc == 0 && i < t->n_ranks; i++)
        rc = loop_thread_poll(t, (first + i) % t->n_ranks, err);
    return rc;
}

int loop_thread_step(struct loop_thread *t, struct eddis_error *err)
{
    int rc = loop_thread_turn(t, err);

    return rc ? rc : loop_advance(t->loop);
}

int loop_thread_step_to(struct loop_thread *t, int64_t until_ns, struct eddis_error *err)
{
    int rc = loop_thread_turn(t, err);

    return rc ? rc : loop_advance_to(t->loop, until_ns);
}

int loop_thread_run_to(struct loop_thread *t, int64_t until_ns, struct eddis_error *err)
{
    int rc;

    do
        rc = loop_thread_turn(t, err);
    while (rc == 1 || (rc == 0 && loop_advance_to(t->loop, until_ns)));
    return rc;
}

void loop_thread_set_link(struct loop_thread *t, int64_t latency_ns, double bytes_per_s)
{
    loop_set_link(t->loop, latency_ns, bytes_per_s);
}

int64_t loop_thread_now_ns(const struct loop_thread *t)
{
    return loop_now_ns(t->loop);
}

int loop_thread_run(struct loop_thread *t, int64_t step, struct eddis_error *err)
{
    int rc;

    do
        rc = loop_thread_step(t, err);
    while (rc == 1);
    for (int i = 0; rc == 0 && i < t->n_ranks; i++)
        for (int b = 0; b < engine_n_buckets(t->engine[i]); b++)
            if (engine_done_step(t->engine[i], b) != step)
                return eddis_fail(err, -EDEADLK, "bucket %d of rank %d waits for rank %d", b, i,
                                  engine_waits_for(t->engine[i], b));
    return rc;
}

int64_t loop_thread_sent_bytes(const struct loop_thread *t, int rank)
{
    return t->end[rank]->sent_bytes;
}

void loop_thread_free(struct loop_thread *t)
{
    if (!t)
        return;
    for (int i = 0; t->end && i < t->n_ranks; i++)
        transport_close(t->end[i], false, NULL);
    free(t->end);
    outbox_fini(&t->out);
    loop_free(t->loop);
    free(t);
}
