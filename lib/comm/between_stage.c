/* SPDX-License-Identifier: Apache-2.0 */
/* between_stage.c - sums pieces between nodes, several at a time, by all-reduces over messages */
#include "between_stage.h"

#include "collective_impl.h"

#include <assert.h>

/* Make in *ret the all-reduce of a piece of n elements; the last piece (`tail`) has the trailer.
 * Return 0 or a failure of allreduce_new.
 */
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
    uint64_t before = o->n_pieces - 1;
    int rc = 0;

    *s = (struct between_stage){ .o = *o };
    for (uint64_t i = 0; rc == 0 && i < before && i < COMM_LANES; i++)
        rc = stage_make(s, o->piece_n, false, &s->lane[i].sum, err);
    return rc < 0 ? rc
                  : stage_make(s, o->what->n - (size_t)before * o->piece_n, true, &s->last, err);
}

void between_stage_fini(struct between_stage *s)
{
    for (int i = 0; i < COMM_LANES; i++)
        collective_free(s->lane[i].sum);
    collective_free(s->last);
}

/* Finish a call that continued the lane's all-reduce with result rc.  The messages that it has
 * added, out->op[before] and later ones, become those of the stage's owner.  If rc is 1 the
 * all-reduce is over and the lane free.  Return rc.
 */
static int stage_result(struct between_stage *s, struct between_lane *l, int rc, size_t before,
                        struct outbox *out)
{
    for (size_t i = before; i < out->n; i++)
        out->op[i].owner = s->o.owner;
    if (rc == 1)
        l->busy = NULL;
    return rc;
}

bool between_stage_free(const struct between_stage *s, uint64_t i)
{
    return !s->lane[i % COMM_LANES].busy;
}

int between_stage_start(struct between_stage *s, uint64_t i, void *data, struct outbox *out,
                        struct eddis_error *err)
{
    struct between_lane *l = &s->lane[i % COMM_LANES];
    size_t before = out->n;

    assert(!l->busy);
    l->busy = i + 1 == s->o.n_pieces ? s->last : l->sum;
    l->busy->lane = (int)(i % COMM_LANES);
    l->piece = i;
    allreduce_redirect(l->busy, data);
    return stage_result(s, l, collective_start(l->busy, s->o.owner->tag, out, err), before, out);
}

int between_stage_done(struct between_stage *s, const struct comm_op *op, uint64_t *ret,
                       struct outbox *out, struct eddis_error *err)
{
    struct between_lane *l = &s->lane[op->tag % COMM_LANES];
    struct comm_op inner = *op;
    size_t before = out->n;

    inner.owner = l->busy;
    *ret = l->piece;
    return stage_result(s, l, collective_done(l->busy, &inner, out, err), before, out);
}

/* Borrow the busy lane whose piece was started first; NULL: none is busy. */
static const struct between_lane *stage_first(const struct between_stage *s)
{
    const struct between_lane *first = NULL;

    for (const struct between_lane *l = s->lane; l < s->lane + COMM_LANES; l++)
        if (l->busy && (!first || l->piece < first->piece))
            first = l;
    return first;
}

bool between_stage_busy(const struct between_stage *s)
{
    return stage_first(s) != NULL;
}

int between_stage_waits_for(const struct between_stage *s)
{
    const struct collective *busy = stage_first(s)->busy;

    return busy->ops->waits_for(busy);
}
