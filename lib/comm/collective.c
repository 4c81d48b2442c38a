/* SPDX-License-Identifier: Apache-2.0 */
/* collective.c - common parts of all collectives: make, start, continue, free */
#include "collective_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGN = 64 }; /* alignment of instances */

int collective_make(const struct collective_ops *ops, size_t bytes, const struct comm_place *p,
                    struct collective **ret, struct eddis_error *err)
{
    /* The system zeroes the block lazily, so that scratch memory costs nothing until it is used. */
    void *memory = bytes > SIZE_MAX - ALIGN ? NULL : calloc(1, bytes + ALIGN);
    struct collective *c;

    if (!memory)
        return eddis_fail(err, -ENOMEM, "no memory for a collective call (%s) of %zu bytes",
                          ops->name, bytes);
    c = (struct collective *)(((uintptr_t)memory + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    c->ops = ops;
    c->memory = memory;
    c->place = *p;
    c->over = true;
    *ret = c;
    return 0;
}

/* Return the member's rank in the transport; a negative member as it is. */
static int collective_rank(const struct collective *c, int member)
{
    return c->place.peer && member >= 0 ? c->place.peer[member] : member;
}

void collective_post(struct collective *c, enum comm_kind kind, int member, void *data,
                     size_t bytes, int part, struct outbox *out)
{
    outbox_add(out, &(struct comm_op){ .kind = kind,
                                       .channel = c->place.channel,
                                       .peer = collective_rank(c, member),
                                       .tag = c->tag * COMM_LANES + c->lane,
                                       .data = data,
                                       .bytes = bytes,
                                       .owner = c,
                                       .member = member,
                                       .part = part });
}

/* Record in c whether it is over, where `over` is what its operation returned, and return that.  On
 * a failure of the operation or the send queue fill err and return the failure.
 */
static int collective_result(struct collective *c, int over, const struct outbox *out,
                             struct eddis_error *err)
{
    if (out->failed)
        return eddis_fail(err, -ENOMEM, "no memory for the messages of a %s", c->ops->name);
    if (over < 0)
        return err && err->code ? over : eddis_fail(err, over, "a %s has failed", c->ops->name);
    c->over = over;
    return over;
}

int collective_start(struct collective *c, int tag, struct outbox *out, struct eddis_error *err)
{
    assert(c->over);
    c->tag = tag;
    c->over = false;
    return collective_result(c, c->ops->start(c, out), out, err);
}

int collective_done(struct collective *c, const struct comm_op *op, struct outbox *out,
                    struct eddis_error *err)
{
    assert(!c->over && op->owner == c);
    return collective_result(c, c->ops->done(c, op, out), out, err);
}

bool collective_polls(const struct collective *c)
{
    return !c->over && c->ops->poll;
}

int collective_poll(struct collective *c, struct outbox *out, struct eddis_error *err)
{
    assert(collective_polls(c));
    return collective_result(c, c->ops->poll(c, out, err), out, err);
}

int collective_waits_for(const struct collective *c)
{
    return c->over ? -1 : collective_rank(c, c->ops->waits_for(c));
}

void collective_set_user(struct collective *c, void *user)
{
    c->user = user;
}

void *collective_user(const struct collective *c)
{
    return c->user;
}

void collective_free(struct collective *c)
{
    if (c && c->ops->fini)
        c->ops->fini(c);
    free(c ? c->memory : NULL);
}
