/* SPDX-License-Identifier: Apache-2.0 */
/* allgather.c - copies every rank's block to all ranks, around a ring
 *
 * The copying half of the ring all-reduce with blocks of equal size.  In step s rank r sends the
 * block of rank r - s to its right.  There are n - 1 steps; each link carries each block once at
 * most.
 */
#include "collective_impl.h"
#include "ring.h"

#include <string.h>

/* One rank's part of an allgather. */
struct allgather {
    struct collective base;
    const void *in;
    char *out;
    size_t bytes; /* of each block */
    int step;     /* present step, from 0 */
    int pending;  /* operations under way in this step */
};

/* Post the messages of this step. */
static void allgather_go(struct allgather *a, struct outbox *out)
{
    int rank = a->base.place.rank, size = a->base.place.n_ranks;
    int left = (rank + size - 1) % size;

    collective_post(&a->base, COMM_RECEIVE, left,
                    a->out + (size_t)ring_send(left, size, a->step) * a->bytes, a->bytes, 0, out);
    collective_post(&a->base, COMM_SEND, (rank + 1) % size,
                    a->out + (size_t)ring_send(rank, size, a->step) * a->bytes, a->bytes, 0, out);
    a->pending = 2;
}

/* Copy this rank's block to its place in the output and begin the first step.  Return 1 if the
 * allgather is over already (no bytes, or one rank), else 0.
 */
static int allgather_start(struct collective *c, struct outbox *out)
{
    struct allgather *a = (struct allgather *)c;

    if (!a->bytes)
        return 1;
    memcpy(a->out + (size_t)c->place.rank * a->bytes, a->in, a->bytes);
    if (c->place.n_ranks == 1)
        return 1;
    a->step = 0;
    allgather_go(a, out);
    return 0;
}

/* Begin the next step once both messages of this step are complete.  Return 1 after the last step,
 * else 0.
 */
static int allgather_done(struct collective *c, const struct comm_op *op, struct outbox *out)
{
    struct allgather *a = (struct allgather *)c;

    if (--a->pending)
        return 0;
    if (++a->step == c->place.n_ranks - 1)
        return 1;
    allgather_go(a, out);
    return 0;
}

/* Return the member that is missing: the one whose block is received in this step.  If a member has
 * not started, its right neighbour stops in step 0, the next one in step 1, ...
 */
static int allgather_waits_for(const struct collective *c)
{
    const struct allgather *a = (const struct allgather *)c;

    return (c->place.rank - 1 - a->step + c->place.n_ranks) % c->place.n_ranks;
}

static const struct collective_ops allgather_ops = {
    .name = "allgather",
    .start = allgather_start,
    .done = allgather_done,
    .waits_for = allgather_waits_for,
};

int allgather_new(const struct comm_place *p, const void *in, void *out, size_t bytes,
                  struct collective **ret, struct eddis_error *err)
{
    int rc = collective_make(&allgather_ops, sizeof(struct allgather), p, ret, err);
    struct allgather *a;

    if (rc < 0)
        return rc;
    a = (struct allgather *)*ret;
    a->in = in;
    a->out = out;
    a->bytes = bytes;
    return 0;
}
