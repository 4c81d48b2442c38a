/* SPDX-License-Identifier: Apache-2.0 */
/* sync_allreduce.c - AR-SGD: sums every buffer over all ranks in every step
 *
 * Gradients are weighted already, so the sum is the mean over all samples of the step.  If the
 * program combines its gradients itself ("external"), the engine has no parameters, so that the one
 * buffer is a trailer.
 */
#include "sync_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The algorithm's instance. */
struct reducer {
    struct sync base;
    struct comm_place place;
    enum sync_wire wire;
    int n;                   /* number of buffers */
    struct collective **sum; /* [n] all-reduce of each buffer, started again in every step */
    int *active;             /* [n_active] numbers of the buffers under way */
    int n_active;
};

/* Free the collectives of all buffers. */
static void allreduce_clear(struct reducer *r)
{
    for (int i = 0; i < r->n; i++)
        collective_free(r->sum[i]);
    free(r->sum);
    free(r->active);
    r->sum = NULL;
    r->active = NULL;
    r->n = r->n_active = 0;
}

/* Close the algorithm and free s, also a half-built one. */
static void allreduce_close(struct sync *s)
{
    allreduce_clear((struct reducer *)s);
    free(s);
}

/* Replace all collectives by one all-reduce for each buffer.  Return 0 or a negative errno.  After
 * a failure only some exist, and allreduce_close must follow.
 */
static int allreduce_lay_out(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                             struct eddis_error *err)
{
    struct reducer *r = (struct reducer *)s;

    allreduce_clear(r);
    r->sum = calloc((size_t)n_buffers, sizeof(struct collective *));
    r->active = calloc((size_t)n_buffers, sizeof *r->active);
    if (!r->sum || !r->active)
        return eddis_fail(err, -ENOMEM, "no memory for %d buffers", n_buffers);
    for (; r->n < n_buffers; r->n++) {
        const struct sync_buffer *b = &buffer[r->n];
        struct allreduce a = { .data = b->data,
                               .n = b->n,
                               .type = b->type,
                               .rule = COMM_SUM,
                               .tail_bytes = sizeof(struct sync_trailer),
                               .trailer_rule = sync_trailer_combine,
                               .wire = sync_wire_type(&r->place, r->wire, b->type) };
        int rc = allreduce_new(&r->place, &a, &r->sum[r->n], err);

        if (rc < 0)
            return rc;
        collective_set_user(r->sum[r->n], (void *)(intptr_t)r->n);
    }
    return 0;
}

/* Open the algorithm `ops` with an all-reduce for each buffer.  sync_close frees *ret.  Return 0 or
 * a negative errno.
 */
static int open_as(const struct sync_ops *ops, const struct sync_setup *o, struct sync **ret,
                   struct eddis_error *err)
{
    struct reducer *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for %d buffers", o->n_buffers);
    r->base.ops = ops;
    r->place = o->place;
    r->wire = o->options.wire;
    rc = allreduce_lay_out(&r->base, o->buffer, o->n_buffers, err);
    if (rc < 0)
        allreduce_close(&r->base);
    else
        *ret = &r->base;
    return rc;
}

/* Open the algorithm that sums gradients. */
static int allreduce_open(const struct sync_setup *o, struct sync **ret, struct eddis_error *err)
{
    return open_as(&sync_allreduce, o, ret, err);
}

/* Open the algorithm for a program that combines its gradients itself. */
static int external_open(const struct sync_setup *o, struct sync **ret, struct eddis_error *err)
{
    return open_as(&sync_external, o, ret, err);
}

/* Start to sum a buffer over all ranks.  Return 1 if the sum is done already, else 0, or a failure.
 */
static int allreduce_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
                           struct eddis_error *err)
{
    struct reducer *r = (struct reducer *)s;
    int rc = collective_start(r->sum[buffer], tag, out, err);

    if (rc == 0)
        r->active[r->n_active++] = buffer;
    return rc;
}

/* Remove a buffer from the list of buffers under way; the search is linear because the list is
 * short.
 */
static void allreduce_over(struct reducer *r, int buffer)
{
    int i = 0;

    while (r->active[i] != buffer)
        i++;
    r->n_active--;
    memmove(r->active + i, r->active + i + 1, (size_t)(r->n_active - i) * sizeof *r->active);
}

/* Continue a sum after its completed operation op.  Return the number of the buffer that op
 * completes plus 1, 0 if it completes none, or a failure.
 */
static int allreduce_receive(struct sync *s, const struct comm_op *op, int64_t now_ns,
                             struct outbox *out, struct eddis_error *err)
{
    int rc = collective_done(op->owner, op, out, err), buffer;

    if (rc != 1)
        return rc;
    buffer = (int)(intptr_t)collective_user(op->owner);
    allreduce_over((struct reducer *)s, buffer);
    return buffer + 1;
}

/* Check whether a buffer under way waits for shared memory. */
static bool allreduce_polls(const struct sync *s)
{
    const struct reducer *r = (const struct reducer *)s;

    for (int i = 0; i < r->n_active; i++)
        if (collective_polls(r->sum[r->active[i]]))
            return true;
    return false;
}

/* Advance each active buffer whose all-reduce uses shared memory once; stop at the first that is
 * completely combined.  Return the number of that buffer plus 1, 0 if there is none, or a negative
 * errno.  Appends messages to out.
 */
static int allreduce_poll(struct sync *s, int64_t now_ns, struct outbox *out,
                          struct eddis_error *err)
{
    struct reducer *r = (struct reducer *)s;

    for (int i = 0; i < r->n_active; i++) {
        int buffer = r->active[i];
        struct collective *c = r->sum[buffer];
        int rc = collective_polls(c) ? collective_poll(c, out, err) : 0;

        if (rc < 0)
            return rc;
        if (rc) {
            allreduce_over(r, buffer);
            return buffer + 1;
        }
    }
    return 0;
}

/* Return the rank that the sum of a buffer waits for; -1: none. */
static int allreduce_waits_for(const struct sync *s, int buffer)
{
    return collective_waits_for(((const struct reducer *)s)->sum[buffer]);
}

/* Borrow the sum of a buffer from where it was computed; NULL: in the buffer itself. */
static const void *allreduce_sum(const struct sync *s, int buffer)
{
    return allreduce_result(((const struct reducer *)s)->sum[buffer]);
}

const struct sync_ops sync_allreduce = {
    .name = "allreduce",
    .open = allreduce_open,
    .lay_out = allreduce_lay_out,
    .begin = allreduce_begin,
    .receive = allreduce_receive,
    .polls = allreduce_polls,
    .poll = allreduce_poll,
    .waits_for = allreduce_waits_for,
    .result = allreduce_sum,
    .close = allreduce_close,
};

const struct sync_ops sync_external = {
    .name = "external",
    .open = external_open,
    .begin = allreduce_begin,
    .receive = allreduce_receive,
    .polls = allreduce_polls,
    .poll = allreduce_poll,
    .waits_for = allreduce_waits_for,
    .result = allreduce_sum,
    .close = allreduce_close,
};
