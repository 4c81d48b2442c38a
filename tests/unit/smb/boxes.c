/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.c - starts ranks in threads over the loop, each with its Soft Memory Box */
#include "boxes.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"

#include <check.h>

void boxes_open(struct boxes *w, int n, int per_node, int n_servers, uint64_t seed)
{
    struct eddis_error err = { 0 };

    *w = (struct boxes){ .n = n, .random = random_mix(seed, 7) };
    ck_assert_int_eq(loop_new(n, seed, &w->loop, NULL), 0);
    for (int i = 0; i < n; i++)
        w->node_of[i] = i / per_node;
    for (int i = 0; i < n; i++) {
        struct smb_options o = { .node_of = w->node_of, .n_servers = n_servers };

        o.place = (struct comm_place){ .rank = i, .n_ranks = n, .channel = COMM_BOX };
        ck_assert_int_eq(loop_open(w->loop, i, &w->end[i], NULL), 0);
        ck_assert_msg(smb_open(&o, &w->box[i], &err) == 0, "%s", err.text);
    }
}

int64_t boxes_now_ns(const struct boxes *w)
{
    return loop_now_ns(w->loop) + w->idle_ns;
}

/* What is in the outbox goes; a failure of the box fails the test. */
static void boxes_post(struct boxes *w, int rank, struct outbox *out, int rc,
                       const struct eddis_error *err)
{
    if (rc < 0) /* not an assertion, which is a system call, at every turn */
        ck_abort_msg("rank %d: %s", rank, err->text);
    if (transport_post(w->end[rank], out, NULL) < 0)
        ck_abort_msg("rank %d: the loop fails", rank);
    outbox_fini(out);
}

void boxes_start(struct boxes *w, int rank, struct smb_request *r)
{
    struct eddis_error err = { 0 };
    struct outbox out = { 0 };
    int rc;

    if (!r->deadline_ns)
        r->deadline_ns = boxes_now_ns(w) + 60 * CLOCK_S;
    rc = smb_start(w->box[rank], r, boxes_now_ns(w), &out, &err);
    ck_assert_int_eq(rc == 1, r->done);
    boxes_post(w, rank, &out, rc, &err);
}

static bool boxes_turn(struct boxes *w, int rank)
{
    struct eddis_error err = { 0 };
    struct outbox out = { 0 };
    struct comm_op op;
    int n = transport_poll(w->end[rank], &op, 1, &err), rc;

    if (n < 0)
        ck_abort_msg("%s", err.text);
    if (n) {
        rc = smb_receive(w->box[rank], &op, boxes_now_ns(w), &out, &err);
        boxes_post(w, rank, &out, rc, &err);
        return true;
    }
    if (!smb_polls(w->box[rank]))
        return false;
    rc = smb_poll(w->box[rank], boxes_now_ns(w), &out, &err);
    boxes_post(w, rank, &out, rc, &err);
    return rc > 0;
}

void boxes_step(struct boxes *w)
{
    int first = (int)random_below(&w->random, (uint64_t)w->n);

    for (int i = 0; i < w->n; i++)
        if (boxes_turn(w, (first + i) % w->n))
            return;
    if (!loop_advance(w->loop))
        w->idle_ns += CLOCK_MS;
}

void boxes_finish(struct boxes *w, struct smb_request *r)
{
    while (!r->done) {
        if (boxes_now_ns(w) >= r->deadline_ns + CLOCK_S)
            ck_abort_msg("a request of kind %d hangs", r->kind);
        boxes_step(w);
    }
    for (int i = 0; i < w->n; i++)
        while (smb_take_done(w->box[i]))
            ;
}

int boxes_do(struct boxes *w, int rank, struct smb_request *r)
{
    boxes_start(w, rank, r);
    boxes_finish(w, r);
    return r->rc;
}

static bool boxes_left(const struct boxes *w)
{
    for (int i = 0; i < w->n; i++)
        if (!smb_left(w->box[i]))
            return false;
    return true;
}

void boxes_close(struct boxes *w)
{
    int64_t deadline = boxes_now_ns(w) + 60 * CLOCK_S;

    for (int i = 0; i < w->n; i++)
        smb_leave(w->box[i]);
    while (!boxes_left(w)) {
        if (boxes_now_ns(w) >= deadline)
            ck_abort_msg("leaving hangs");
        boxes_step(w);
    }
    for (int i = 0; i < w->n; i++) {
        smb_close(w->box[i]);
        transport_close(w->end[i], true, NULL);
    }
    loop_free(w->loop);
}
