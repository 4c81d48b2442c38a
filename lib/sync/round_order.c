/* SPDX-License-Identifier: Apache-2.0 */
/* round_order.c - encodes round names as numbers; all-reduces their minimum, maximum and weights */
#include "round_order.h"

#include <errno.h>
#include <stdlib.h>

/* A round's name is a number of 63 bits: the low bits of the step, the round, the set, the rank. */
enum { STEP_BITS = 22, ROUND_BITS = 16, SET_BITS = 8, RANK_BITS = 17 };

/* The agreement on rounds of one rank. */
struct round_order {
    int rank;     /* this rank's number in the transport */
    bool started; /* the all-reduce is under way */
    struct {
        int64_t most[2]; /* the greatest name, and the bitwise complement of the least name */
        double weight;   /* sum of the ranks' weights, which is the trailer of the all-reduce */
    } data;
    struct collective *all; /* all-reduce of `data` */
};

/* Add the double at `in` to the double at acc; the trailer_rule of the all-reduce. */
static void add_weight(void *acc, const void *in)
{
    *(double *)acc += *(const double *)in;
}

int round_order_new(const struct comm_place *p, struct round_order **ret, struct eddis_error *err)
{
    struct round_order *o = calloc(1, sizeof *o);
    int rc;

    if (!o)
        return eddis_fail(err, -ENOMEM, "no memory for the order of rounds");
    o->rank = p->peer ? p->peer[p->rank] : p->rank;
    rc = allreduce_new_kind("tree", p,
                            &(struct allreduce){ .data = &o->data,
                                                 .n = 2,
                                                 .type = COMM_INT64,
                                                 .rule = COMM_MAX,
                                                 .tail_bytes = sizeof o->data.weight,
                                                 .trailer_rule = add_weight },
                            &o->all, err);
    if (rc < 0)
        free(o);
    else
        *ret = o;
    return rc;
}

void round_order_free(struct round_order *o)
{
    if (!o)
        return;
    collective_free(o->all);
    free(o);
}

/* Remove the lowest `bits` bits from *x and return them. */
static int take(int64_t *x, int bits)
{
    int low = (int)(*x & ((INT64_C(1) << bits) - 1));

    *x >>= bits;
    return low;
}

/* Return x shifted left by `bits` bits, with the lowest `bits` bits of `low` in their place. */
static int64_t put(int64_t x, int64_t low, int bits)
{
    return x << bits | (low & ((INT64_C(1) << bits) - 1));
}

/* Return -EPROTO, and describe in err the ranks and rounds of the least and the greatest name,
 * which differ.
 */
static int order_mismatch(int64_t least, int64_t most, struct eddis_error *err)
{
    int rank[2], set[2], round[2];
    int64_t step[2] = { least, most };

    for (int i = 0; i < 2; i++) {
        rank[i] = take(&step[i], RANK_BITS);
        set[i] = take(&step[i], SET_BITS);
        round[i] = take(&step[i], ROUND_BITS) + 1;
    }
    return eddis_fail(err, -EPROTO,
                      "rank %d begins round %d of a step, of set %d, where rank %d begins round %d "
                      "of %s step, of set %d: all workers must make the same number of rounds in a "
                      "step, for the same sets in the same order",
                      rank[0], round[0], set[0], rank[1], round[1],
                      step[0] == step[1] ? "the same" : "another", set[1]);
}

/* If the all-reduce is over (rc, which it returned, is 1), compare the names.  Return rc if it is
 * not 1, else 1 if all ranks have the same name, -EPROTO if not.
 */
static int order_look(struct round_order *o, int rc, struct eddis_error *err)
{
    int64_t least = ~o->data.most[1], most = o->data.most[0];

    if (rc != 1)
        return rc;
    o->started = false;
    return least >> RANK_BITS == most >> RANK_BITS ? 1 : order_mismatch(least, most, err);
}

int round_order_start(struct round_order *o, const struct round_name *name, int tag,
                      struct outbox *out, struct eddis_error *err)
{
    int64_t x = put(0, name->step, STEP_BITS);

    x = put(x, name->round, ROUND_BITS);
    x = put(x, name->set, SET_BITS);
    x = put(x, o->rank, RANK_BITS);
    o->data.most[0] = x;
    o->data.most[1] = ~x;
    o->data.weight = name->weight;
    o->started = true;
    return order_look(o, collective_start(o->all, tag, out, err), err);
}

bool round_order_started(const struct round_order *o)
{
    return o->started;
}

bool round_order_owns(const struct round_order *o, const struct comm_op *op)
{
    return op->owner == o->all;
}

int round_order_receive(struct round_order *o, const struct comm_op *op, struct outbox *out,
                        struct eddis_error *err)
{
    return order_look(o, collective_done(o->all, op, out, err), err);
}

double round_order_weight(const struct round_order *o)
{
    return o->data.weight;
}

int round_order_waits_for(const struct round_order *o)
{
    return o->started ? collective_waits_for(o->all) : -1;
}
