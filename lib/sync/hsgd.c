/* SPDX-License-Identifier: Apache-2.0 */
/* hsgd.c - HSGD: each group trains one model; the groups' roots average the models by a centre
 *
 * Inside a group every step sums the weighted gradients, as sync_allreduce.c does among all ranks,
 * so the models of its members stay bit-identical.  Every `period` steps the root alone exchanges
 * with the centre in the Soft Memory Box (elastic.h).  Then it broadcasts its new parameters to the
 * group, through shared memory if members of a node share some.  Groups never wait for each other.
 *
 *     root      all-reduce ... all-reduce | settle, read, pull | broadcast | all-reduce
 *     member    all-reduce ... all-reduce |                    | broadcast | all-reduce
 */
#include "elastic.h"
#include "sync_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The algorithm's instance. */
struct hsgd {
    struct sync base;
    struct comm_place place;
    struct sync_models m;
    struct sync *gradients;  /* the algorithm that all-reduces gradients inside the group */
    struct elastic *elastic; /* only on the root, else NULL */
    /* data of the broadcast: all values in one block of `bytes`, then the int64 of hidden_ns */
    char *model;
    size_t bytes;
    int64_t hidden_ns, *ret_hidden_ns; /* of the exchange under way, see struct sync_turn */
    struct collective *broadcast;
    int tag;   /* tag of the exchange under way */
    bool tell; /* the exchange under way ends with a broadcast */
};

/* Check whether this rank is its group's root. */
static bool is_root(const struct hsgd *h)
{
    return h->place.rank == 0;
}

/* Close the algorithm and free s, also a half-built one. */
static void hsgd_close(struct sync *s)
{
    struct hsgd *h = (struct hsgd *)s;

    collective_free(h->broadcast);
    elastic_close(h->elastic);
    sync_close(h->gradients);
    free(h->model);
    free(h);
}

/* Allocate the broadcast, the all-reduce of gradients and, on the root, the averaging with the
 * centre.  Return 0 or a negative errno; hsgd_close frees them also after a failure.
 */
static int hsgd_build(struct hsgd *h, const struct sync_setup *o, struct eddis_error *err)
{
    size_t all;
    int rc;

    h->bytes = elastic_values_bytes(o->models->value, o->models->n_values);
    all = h->bytes + sizeof h->hidden_ns;
    h->model = malloc(all);
    if (!h->model)
        return eddis_fail(err, -ENOMEM, "no memory for a model of %zu bytes", h->bytes);
    /* The broadcast comes first because it never changes: in any layout the gradients use one
     * contiguous part of the node's memory.
     */
    rc = broadcast_shared_new(&o->place, h->model, all, &h->broadcast, err);
    if (rc == 0)
        rc = sync_allreduce.open(o, &h->gradients, err);
    if (rc == 0 && is_root(h))
        rc = elastic_open(o, h, &h->elastic, err);
    return rc;
}

/* Open the algorithm for one rank of a group that trains one model.  sync_close frees *ret.  Return
 * 0 or a negative errno; -EINVAL: o has no models.
 */
static int hsgd_open(const struct sync_setup *o, struct sync **ret, struct eddis_error *err)
{
    struct hsgd *h;
    int rc;

    if (!o->models)
        return eddis_fail(err, -EINVAL, "hsgd averages models but got none");
    h = calloc(1, sizeof *h);
    if (!h)
        return eddis_fail(err, -ENOMEM, "no memory for hsgd");
    h->base.ops = &sync_hsgd;
    h->place = o->place;
    h->m = *o->models;
    rc = hsgd_build(h, o, err);
    if (rc < 0)
        hsgd_close(&h->base);
    else
        *ret = &h->base;
    return rc;
}

/* Finish the exchange under way: if it had a broadcast, copy the new parameters to the values,
 * except on the root.  Return 1.
 */
static int hsgd_reported(struct hsgd *h)
{
    if (h->tell && !is_root(h)) {
        elastic_values_scatter(h->m.value, h->m.n_values, h->model);
        memcpy(&h->hidden_ns, h->model + h->bytes, sizeof h->hidden_ns);
    }
    if (h->ret_hidden_ns)
        *h->ret_hidden_ns = h->hidden_ns;
    return 1;
}

/* End the exchange, whose broadcast is done, and record that it is over.  Ranks except the root
 * first copy the new parameters to their values.
 */
static void hsgd_over(struct hsgd *h)
{
    hsgd_reported(h);
    sync_exchange_over(&h->base);
}

/* ---- gradients ---- */

/* Replace the buffers of the all-reduce inside the group.  Return 0 or a failure. */
static int hsgd_lay_out(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                        struct eddis_error *err)
{
    return sync_lay_out(((struct hsgd *)s)->gradients, buffer, n_buffers, err);
}

/* Start to all-reduce a buffer inside the group.  Return 1 if the buffer is already combined, else
 * 0, or a failure.
 */
static int hsgd_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
                      struct eddis_error *err)
{
    return sync_begin(((struct hsgd *)s)->gradients, buffer, tag, now_ns, out, err);
}

/* Check whether the gradients or the broadcast wait for shared memory. */
static bool hsgd_polls(const struct sync *s)
{
    const struct hsgd *h = (const struct hsgd *)s;

    return sync_polls(h->gradients) || collective_polls(h->broadcast);
}

/* Inspect shared memory for the broadcast if it waits for shared memory, else for the gradients.
 * Return the number of a buffer that is combined now plus 1, 0 if there is none, or a failure.  The
 * end of the broadcast ends the exchange.
 */
static int hsgd_poll(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    struct hsgd *h = (struct hsgd *)s;
    int rc;

    if (!collective_polls(h->broadcast))
        return sync_poll(h->gradients, now_ns, out, err);
    rc = collective_poll(h->broadcast, out, err);
    if (rc == 1)
        hsgd_over(h);
    return rc < 0 ? rc : 0;
}

/* Borrow the combined data of a buffer; NULL: they are in the buffer itself. */
static const void *hsgd_result(const struct sync *s, int buffer)
{
    return sync_result(((const struct hsgd *)s)->gradients, buffer);
}

/* Return the rank that a buffer under way waits for; -1: none. */
static int hsgd_waits_for(const struct sync *s, int buffer)
{
    return sync_waits_for(((const struct hsgd *)s)->gradients, buffer);
}

/* ---- exchanges ---- */

/* If the exchange under way ends with a broadcast, start to broadcast the root's parameters to the
 * group.  Return 1 if the exchange is over, else 0, or a failure.
 */
static int hsgd_report(struct hsgd *h, struct outbox *out, struct eddis_error *err)
{
    int rc;

    if (!h->tell)
        return 1;
    if (is_root(h)) {
        elastic_values_gather(h->m.value, h->m.n_values, h->model);
        memcpy(h->model + h->bytes, &h->hidden_ns, sizeof h->hidden_ns);
    }
    rc = collective_start(h->broadcast, h->tag, out, err);
    return rc == 1 ? hsgd_reported(h) : rc;
}

/* Begin an exchange: the root first exchanges with the centre, then the group has a broadcast.
 * Return 1 if the exchange is over already, or if it is a SYNC_STEP that is not due; otherwise 0,
 * or a failure.
 */
static int hsgd_exchange(struct sync *s, const struct sync_turn *t, int64_t now_ns,
                         struct outbox *out, struct eddis_error *err)
{
    struct hsgd *h = (struct hsgd *)s;
    struct sync_turn own = *t;
    int64_t since = s->since;
    int rc = 1;

    if (t->what == SYNC_STEP && !elastic_due(&h->m, t, since))
        return is_root(h) ? elastic_pass(h->elastic, t, now_ns, out, err) : 1;
    s->since = 0;
    h->tag = t->tag[0];
    h->tell = t->what == SYNC_STEP || t->what == SYNC_LAST || t->what == SYNC_ADOPT;
    h->hidden_ns = 0;
    h->ret_hidden_ns = t->hidden_ns;
    own.hidden_ns = &h->hidden_ns;
    if (is_root(h))
        rc = elastic_begin(h->elastic, &own, since, now_ns, out, err);
    return rc == 1 ? hsgd_report(h, out, err) : rc;
}

/* Continue after the root's finished request r to the box.  If it ends the exchange with the
 * centre, start the broadcast.  Return 1 if the whole exchange is over, else 0, or a failure.
 */
static int hsgd_box(struct sync *s, struct smb_request *r, int64_t now_ns, struct outbox *out,
                    struct eddis_error *err)
{
    struct hsgd *h = (struct hsgd *)s;
    int rc = elastic_done(h->elastic, r, now_ns, out, err);

    return rc == 1 ? hsgd_report(h, out, err) : rc;
}

/* Continue after a completed operation of the broadcast or of the gradients.  Return the number of
 * the buffer that it completes plus 1, 0 if it completes none, or a failure.  The end of the
 * broadcast ends the exchange.
 */
static int hsgd_receive(struct sync *s, const struct comm_op *op, int64_t now_ns,
                        struct outbox *out, struct eddis_error *err)
{
    struct hsgd *h = (struct hsgd *)s;
    int rc;

    if (op->owner != h->broadcast)
        return sync_receive(h->gradients, op, now_ns, out, err);
    rc = collective_done(h->broadcast, op, out, err);
    if (rc == 1)
        hsgd_over(h);
    return rc < 0 ? rc : 0;
}

/* Return the rank that the exchange waits for, in the box or in the broadcast; -1: none. */
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
