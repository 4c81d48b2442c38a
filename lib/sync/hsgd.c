/* SPDX-License-Identifier: Apache-2.0 */
/* hsgd.c - HSGD: one model a group, drawn to the other groups' by its root
 *
 * Inside a group every step sums the weighted gradients, as sync_allreduce.c does among all ranks,
 * so its members' models stay the same bits.  Every `period` steps the root alone exchanges with
 * the centre in the Soft Memory Box (elastic.h) and tells the group its new parameters, through
 * memory where members of a node share some.  Groups never wait for each other.
 *
 *     root      all-reduce ... all-reduce | settle, read, pull | broadcast | all-reduce
 *     member    all-reduce ... all-reduce |                    | broadcast | all-reduce
 */
#include "elastic.h"
#include "sync_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern const struct sync_ops sync_hsgd; /* the row in sync.c */

struct hsgd {
    struct sync base;
    struct comm_place place;
    struct sync_models m;
    struct sync *gradients;  /* the all-reduce inside the group */
    struct elastic *elastic; /* of the root */
    void *model;             /* all values in one block: what is broadcast */
    struct collective *broadcast;
    int tag;   /* of the exchange under way */
    bool tell; /* it ends with a broadcast */
};

static struct hsgd *hsgd(struct sync *s)
{
    assert(s->ops == &sync_hsgd);
    return (struct hsgd *)s;
}

static bool is_root(const struct hsgd *h)
{
    return h->place.rank == 0;
}

static void hsgd_close(struct sync *s)
{
    struct hsgd *h = hsgd(s);

    collective_free(h->broadcast);
    elastic_close(h->elastic);
    sync_close(h->gradients);
    free(h->model);
    free(h);
}

static int hsgd_build(struct hsgd *h, const struct sync_setup *o, struct eddis_error *err)
{
    size_t bytes = elastic_values_bytes(o->models->value, o->models->n_values);
    int rc;

    h->model = malloc(bytes ? bytes : 1);
    if (!h->model)
        return eddis_fail(err, -ENOMEM, "no memory for a model of %zu bytes", bytes);
    /* First, since it stays: what gradients have of the node's memory is one piece in any layout.
     */
    rc = broadcast_shared_new(&o->place, h->model, bytes, &h->broadcast, err);
    if (rc == 0)
        rc = sync_allreduce.open(o, &h->gradients, err);
    if (rc == 0 && is_root(h))
        rc = elastic_open(o, h, &h->elastic, err);
    return rc;
}

static int hsgd_open(const struct sync_setup *o, struct sync **ret, struct eddis_error *err)
{
    struct hsgd *h;
    int rc;

    if (!o->models)
        return eddis_fail(err, -EINVAL, "hsgd averages models and got none");
    h = calloc(1, sizeof *h);
    if (!h)
        return eddis_fail(err, -ENOMEM, "no memory for hsgd");
    h->base.ops = &sync_hsgd;
    h->place = o->place;
    h->m = *o->models;
    rc = hsgd_build(h, o, err);
    if (rc < 0) {
        hsgd_close(&h->base);
        return rc;
    }
    *ret = &h->base;
    return 0;
}

/* The broadcast is over, or was not needed. */
static int hsgd_told(struct hsgd *h)
{
    if (h->tell && !is_root(h))
        elastic_values_scatter(h->m.value, h->m.n_values, h->model);
    return 1;
}

/* The broadcast is over, and with it the exchange. */
static void hsgd_over(struct hsgd *h)
{
    hsgd_told(h);
    sync_exchange_over(&h->base);
}

/* ---- gradients ---- */

static int hsgd_lay_out(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                        struct eddis_error *err)
{
    return sync_lay_out(hsgd(s)->gradients, buffer, n_buffers, err);
}

static int hsgd_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
                      struct eddis_error *err)
{
    return sync_begin(hsgd(s)->gradients, buffer, tag, now_ns, out, err);
}

static bool hsgd_polls(const struct sync *s)
{
    const struct hsgd *h = (const struct hsgd *)s;

    return sync_polls(h->gradients) || collective_polls(h->broadcast);
}

static int hsgd_poll(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    struct hsgd *h = hsgd(s);
    int rc;

    if (!collective_polls(h->broadcast))
        return sync_poll(h->gradients, now_ns, out, err);
    rc = collective_poll(h->broadcast, out, err);
    if (rc == 1)
        hsgd_over(h);
    return rc < 0 ? rc : 0;
}

static const void *hsgd_result(const struct sync *s, int buffer)
{
    return sync_result(((const struct hsgd *)s)->gradients, buffer);
}

static int hsgd_waits_for(const struct sync *s, int buffer)
{
    return sync_waits_for(((const struct hsgd *)s)->gradients, buffer);
}

/* ---- exchanges ---- */

static int hsgd_tell(struct hsgd *h, struct outbox *out, struct eddis_error *err)
{
    int rc;

    if (!h->tell)
        return 1;
    if (is_root(h))
        elastic_values_gather(h->m.value, h->m.n_values, h->model);
    rc = collective_start(h->broadcast, h->tag, out, err);
    return rc == 1 ? hsgd_told(h) : rc;
}

static int hsgd_exchange(struct sync *s, const struct sync_turn *t, int64_t now_ns,
                         struct outbox *out, struct eddis_error *err)
{
    struct hsgd *h = hsgd(s);
    int rc = 1;

    if (t->what == SYNC_STEP && !elastic_due(&h->m, t, s->since))
        return 1;
    s->since = 0;
    h->tag = t->tag;
    h->tell = t->what == SYNC_STEP || t->what == SYNC_LAST || t->what == SYNC_ADOPT;
    if (is_root(h))
        rc = elastic_begin(h->elastic, t->what, now_ns, out, err);
    return rc == 1 ? hsgd_tell(h, out, err) : rc;
}

static int hsgd_box(struct sync *s, struct smb_request *r, int64_t now_ns, struct outbox *out,
                    struct eddis_error *err)
{
    int rc = elastic_done(hsgd(s)->elastic, r, now_ns, out, err);

    return rc == 1 ? hsgd_tell(hsgd(s), out, err) : rc;
}

static int hsgd_receive(struct sync *s, const struct comm_op *op, int64_t now_ns,
                        struct outbox *out, struct eddis_error *err)
{
    struct hsgd *h = hsgd(s);
    int rc;

    if (op->owner != h->broadcast)
        return sync_receive(h->gradients, op, now_ns, out, err);
    rc = collective_done(h->broadcast, op, out, err);
    if (rc == 1)
        hsgd_over(h);
    return rc < 0 ? rc : 0;
}

static int hsgd_exchange_waits_for(const struct sync *s)
{
    const struct hsgd *h = (const struct hsgd *)s;
    int peer = h->elastic ? elastic_waits_for(h->elastic) : -1;

    return peer >= 0 ? peer : collective_waits_for(h->broadcast);
}

const struct sync_ops sync_hsgd = {
    .name = "hsgd",
    .open = hsgd_open,
    .lay_out = hsgd_lay_out,
    .begin = hsgd_begin,
    .receive = hsgd_receive,
    .polls = hsgd_polls,
    .poll = hsgd_poll,
    .waits_for = hsgd_waits_for,
    .result = hsgd_result,
    .exchange = hsgd_exchange,
    .box = hsgd_box,
    .exchange_waits_for = hsgd_exchange_waits_for,
    .close = hsgd_close,
};
