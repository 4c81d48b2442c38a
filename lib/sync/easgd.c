/* SPDX-License-Identifier: Apache-2.0 */
/* easgd.c - SEASGD: every worker trains a model of its own, drawn to a common centre
 *
 * Gradients are not sent: a worker's step uses the mean over its own samples.  The workers share
 * only the centre in the Soft Memory Box, see elastic.h.
 */
#include "elastic.h"
#include "sync_impl.h"

#include <errno.h>
#include <stdlib.h>

/* The algorithm's instance. */
struct easgd {
    struct sync base;
    struct sync_models m;
    struct elastic *elastic;
};

/* Close the algorithm and free it, also if half-built. */
static void easgd_close(struct sync *s)
{
    elastic_close(((struct easgd *)s)->elastic);
    free(s);
}

/* Open the algorithm for a worker with a model of its own.  sync_close frees *ret.  Return 0,
 * -ENOMEM, or -EINVAL: the place has several ranks, or there are no models to average.
 */
static int easgd_open(const struct sync_setup *o, struct sync **ret, struct eddis_error *err)
{
    struct easgd *g;
    int rc;

    if (o->place.n_ranks != 1 || !o->models)
        return eddis_fail(err, -EINVAL, "easgd averages the models of single workers");
    g = calloc(1, sizeof *g);
    if (!g)
        return eddis_fail(err, -ENOMEM, "no memory for easgd");
    g->base.ops = &sync_easgd;
    g->m = *o->models;
    rc = elastic_open(o, g, &g->elastic, err);
    if (rc < 0)
        easgd_close(&g->base);
    else
        *ret = &g->base;
    return rc;
}

/* Do nothing and return 1: the gradient is this worker's alone, so it is combined already. */
static int easgd_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
                       struct eddis_error *err)
{
    return 1;
}

/* Return -EPROTO always: easgd sends no messages, so none can arrive. */
static int easgd_receive(struct sync *s, const struct comm_op *op, int64_t now_ns,
                         struct outbox *out, struct eddis_error *err)
{
    return eddis_fail(err, -EPROTO, "easgd received a message that it did not request");
}

/* Return -1: a buffer waits for no rank, because easgd_begin completes it. */
static int easgd_waits_for(const struct sync *s, int buffer)
{
    return -1;
}

/* Begin an exchange with the centre.  Return 1 if it is over already, or if it is a SYNC_STEP that
 * is not due; otherwise 0, or a failure.
 */
static int easgd_exchange(struct sync *s, const struct sync_turn *t, int64_t now_ns,
                          struct outbox *out, struct eddis_error *err)
{
    struct easgd *g = (struct easgd *)s;
    int64_t since = s->since;

    if (t->what == SYNC_STEP && !elastic_due(&g->m, t, since))
        return elastic_pass(g->elastic, t, now_ns, out, err);
    s->since = 0;
    return elastic_begin(g->elastic, t, since, now_ns, out, err);
}

/* Continue the exchange after the finished request r to the box.  Return 1 if that ends an
 * exchange, else 0, or a failure.
 */
static int easgd_box(struct sync *s, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err)
{
    return elastic_done(((struct easgd *)s)->elastic, r, now_ns, out, err);
}

/* Return the rank that the exchange under way waits for in the box; -1: none. */
static int easgd_exchange_waits_for(const struct sync *s)
{
    return elastic_waits_for(((const struct easgd *)s)->elastic);
}

const struct sync_ops sync_easgd = {
    .name = "easgd",
    .open = easgd_open,
    .begin = easgd_begin,
    .receive = easgd_receive,
    .waits_for = easgd_waits_for,
    .exchange = easgd_exchange,
    .box = easgd_box,
    .exchange_waits_for = easgd_exchange_waits_for,
    .close = easgd_close,
};
