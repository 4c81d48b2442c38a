/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce.c - AR-SGD: every buffer is summed over all ranks at every step
 *
 * Gradients come weighted already, so the sum is the mean over all samples of the step.
 */
#include "sync_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct reducer {
    struct sync base;
    int n;
    struct collective *sum[]; /* [n], one a buffer, started again at every step */
};

static struct reducer *reducer(struct sync *s)
{
    assert(s->ops == &sync_allreduce);
    return (struct reducer *)s;
}

static void allreduce_close(struct sync *s)
{
    struct reducer *r = reducer(s);

    for (int i = 0; i < r->n; i++)
        collective_free(r->sum[i]);
    free(r);
}

static int allreduce_open(const struct sync_setup *o, struct sync **ret, struct eddis_error *err)
{
    struct reducer *r = calloc(1, sizeof *r + (size_t)o->n_buffers * sizeof(struct collective *));

    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for %d buffers", o->n_buffers);
    r->base.ops = &sync_allreduce;
    r->n = o->n_buffers;
    for (int i = 0; i < r->n; i++) {
        const struct sync_buffer *b = &o->buffer[i];
        struct allreduce a = { .data = b->data,
                               .n = b->n,
                               .type = b->type,
                               .rule = COMM_SUM,
                               .tail_bytes = sizeof(struct sync_tail),
                               .tail_rule = sync_tail_combine };
        int rc = allreduce_new(&o->place, &a, &r->sum[i], err);

        if (rc < 0) {
            allreduce_close(&r->base);
            return rc;
        }
        collective_set_user(r->sum[i], (void *)(intptr_t)i);
    }
    *ret = &r->base;
    return 0;
}

static int allreduce_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
                           struct eddis_error *err)
{
    (void)now_ns;
    return collective_start(reducer(s)->sum[buffer], tag, out, err);
}

static int allreduce_receive(struct sync *s, const struct comm_op *op, int64_t now_ns,
                             struct outbox *out, struct eddis_error *err)
{
    int rc = collective_done(op->owner, op, out, err);

    (void)s;
    (void)now_ns;
    return rc == 1 ? (int)(intptr_t)collective_user(op->owner) + 1 : rc;
}

static bool allreduce_polls(const struct sync *s)
{
    const struct reducer *r = (const struct reducer *)s;

    for (int i = 0; i < r->n; i++)
        if (collective_polls(r->sum[i]))
            return true;
    return false;
}

static int allreduce_poll(struct sync *s, int64_t now_ns, struct outbox *out,
                          struct eddis_error *err)
{
    struct reducer *r = reducer(s);

    (void)now_ns;
    for (int i = 0; i < r->n; i++) {
        int rc = collective_polls(r->sum[i]) ? collective_poll(r->sum[i], out, err) : 0;

        if (rc)
            return rc < 0 ? rc : i + 1;
    }
    return 0;
}

static int allreduce_waits_for(const struct sync *s, int buffer)
{
    return collective_waits_for(((const struct reducer *)s)->sum[buffer]);
}

const struct sync_ops sync_allreduce = {
    .name = "allreduce",
    .open = allreduce_open,
    .begin = allreduce_begin,
    .receive = allreduce_receive,
    .polls = allreduce_polls,
    .poll = allreduce_poll,
    .waits_for = allreduce_waits_for,
    .close = allreduce_close,
};
