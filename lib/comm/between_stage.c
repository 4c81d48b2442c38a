/* SPDX-License-Identifier: Apache-2.0 */
/* between_stage.c - sums of pieces between nodes, one after the other, by the collectives of
 * messages
 */
#include "between_stage.h"

#include "collective_impl.h"

#include <assert.h>

/* The sum of n elements, and of the tail if tail. */
static int stage_make(struct between_stage *s, size_t n, bool tail, struct collective **ret,
                      struct eddis_error *err)
{
    struct allreduce sum = *s->o.what;

    sum.n = n;
    sum.tail_bytes = tail ? sum.tail_bytes : 0;
    return allreduce_new(&s->o.place, &sum, ret, err);
}

int between_stage_init(struct between_stage *s, const struct between_stage_options *o,
                       struct eddis_error *err)
{
    size_t n = o->what->n, before = 0;
    int rc = 0;

    *s = (struct between_stage){ .o = *o };
    if (n > o->piece_n) {
        before = (n - 1) / o->piece_n * o->piece_n;
        rc = stage_make(s, o->piece_n, false, &s->piece, err);
    }
    return rc < 0 ? rc : stage_make(s, n - before, true, &s->last, err);
}

void between_stage_fini(struct between_stage *s)
{
    collective_free(s->piece);
    collective_free(s->last);
}

/* The collective's messages come back to the owner. */
static int stage_result(struct between_stage *s, int rc, size_t before, struct outbox *out)
{
    for (size_t i = before; i < out->n; i++)
        out->op[i].owner = s->o.owner;
    if (rc == 1)
        s->busy = NULL;
    return rc;
}

int between_stage_start(struct between_stage *s, void *data, bool last, struct outbox *out,
                        struct eddis_error *err)
{
    size_t before = out->n;

    assert(!s->busy);
    s->busy = last ? s->last : s->piece;
    allreduce_redirect(s->busy, data);
    return stage_result(s, collective_start(s->busy, s->o.owner->tag, out, err), before, out);
}

int between_stage_done(struct between_stage *s, const struct comm_op *op, struct outbox *out,
                       struct eddis_error *err)
{
    struct comm_op inner = *op;
    size_t before = out->n;

    inner.owner = s->busy;
    return stage_result(s, collective_done(s->busy, &inner, out, err), before, out);
}

bool between_stage_busy(const struct between_stage *s)
{
    return s->busy != NULL;
}

int between_stage_waits_for(const struct between_stage *s)
{
    return s->busy->ops->waits_for(s->busy);
}
