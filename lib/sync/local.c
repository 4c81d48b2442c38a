/* SPDX-License-Identifier: Apache-2.0 */
/* local.c - local SGD and DiLoCo: groups train models of their own, which all combine in rounds
 *
 * Inside a group every step sums the weighted gradients, as sync_allreduce.c does among all ranks.
 * At the end of a round all ranks of all groups sum up how far their models have come.  With t the
 * common model at the round's begin, x a rank's model at its end, s the rank's samples in the
 * round:
 *
 *     d = sum s (t - x) / sum s         by one all-reduce of all ranks
 *     b = momentum b + d                only DiLoCo
 *     t = t - rate (d + momentum b)     local SGD: t - d, the mean of the models
 *     x = t
 *
 * The first t is that of rank 0, which all get by a broadcast.  Each rank keeps t and b, which have
 * the same bits everywhere, since the sum has.  They change only once the whole sum has arrived, so
 * a round that fails leaves them as they were.  16-bit parameters have a float32 t; d is how far
 * they have come from the rounded t.
 *
 * A program that combines its gradients itself combines the models, too (EDDIS_ROUND_ENDED): they
 * are on GPUs, or each rank has a part.  Then there are no values here, and the sum is the trailer
 * alone.  eddis.torch does it by these equations in python/eddis/torch/_rounds.py.
 *
 * The trailer of the sum carries the agreement of all groups about plans and stops, as the trailer
 * of a step's gradients does in synchronous training.
 *
 * With the option overlap a rank makes steps while the sum is under way.  An all-reduce of only the
 * trailers, before the sum, then carries the agreement, so that plans, stops and checkpoints do not
 * wait for the sum.  With e the rank's model at the round's end, x its model now:
 *
 *     x = t + (x - e)               the steps since the end count in full, in the next round's d
 *
 * Source: Stich, Local SGD converges fast and communicates little, ICLR 2019; Douillard et al.,
 * DiLoCo, 2023; Sutskever et al. (Nesterov momentum as PyTorch's SGD has it).
 */
#include "round_equations.h"
#include "sync_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All values whose elements have one type in the common model. */
struct share {
    enum comm_type type;
    size_t n;                      /* elements */
    size_t sent;                   /* elements of `come`: n, and 0 that align the trailer */
    void *common;                  /* [n] the common model, t */
    void *momentum;                /* [n] b, borrowed; NULL: no momentum */
    void *come;                    /* [sent] d, then a struct sync_trailer */
    void *ended;                   /* [n] e, with overlap; else NULL */
    const void *sum;               /* [sent] the sum of `come`, then the combined trailer */
    struct collective *collective; /* the all-reduce of `come` */
    struct collective *start;      /* the broadcast of the first `common` */
};

/* The algorithm's instance. */
struct local {
    struct sync base;
    struct sync_models m;
    double rate, momentum;
    enum sync_wire wire;
    bool overlaps;          /* the option overlap is set */
    struct sync *gradients; /* the algorithm that all-reduces gradients inside the group */
    struct share share[SYNC_TYPES];
    bool starts;              /* the exchange under way is the start */
    int n_left;               /* shares whose sum is under way */
    struct collective *meet;  /* the all-reduce of `said`, with overlap; else NULL */
    struct sync_trailer said; /* what this rank reports */
    int tag[SYNC_TAGS];       /* of the round's sum, which begins when all ranks have met */
    bool lands, moved;        /* SYNC_LAND waits for the sum; steps were made since the end */
    double whole;             /* samples by which d of the present round is divided when sent */
    struct sync_trailer tail; /* combined trailer of the newest round */
};

/* Return the trailer behind the elements in `data` of a share. */
static struct sync_trailer *trailer_of(const struct share *p, const void *data)
{
    return (struct sync_trailer *)((char *)data + p->sent * comm_type_bytes(p->type));
}

/* ---- opening ---- */

static void local_close(struct sync *s)
{
    struct local *l = (struct local *)s;

    for (int i = 0; i < SYNC_TYPES; i++) {
        collective_free(l->share[i].collective);
        collective_free(l->share[i].start);
        free(l->share[i].common);
        free(l->share[i].come);
        free(l->share[i].ended);
    }
    collective_free(l->meet);
    sync_close(l->gradients);
    free(l);
}

/* Allocate a share's memory and its all-reduce.  Return 0 or a negative errno; local_close frees
 * them in either case.
 */
static int share_open(struct local *l, int i, struct eddis_error *err)
{
    struct share *p = &l->share[i];
    size_t bytes;
    int rc;

    p->type = sync_type[i];
    p->n = sync_centre_size(l->m.value, l->m.n_values, p->type);
    p->momentum = l->m.momentum[i];
    bytes = p->n * comm_type_bytes(p->type);
    if (i > 0 && !p->n) /* the first one carries the trailer in any case */
        return 0;
    p->common = malloc(bytes + 1);
    p->sent = p->n + p->n % 2;
    p->come = calloc(1, p->sent * comm_type_bytes(p->type) + sizeof(struct sync_trailer));
    p->ended = l->overlaps ? malloc(bytes + 1) : NULL;
    if (!p->common || !p->come || (l->overlaps && !p->ended))
        return eddis_fail(err, -ENOMEM, "no memory for a copy of %zu parameters", p->n);
    rc = allreduce_new(&l->m.all,
                       &(struct allreduce){ .data = p->come,
                                            .n = p->sent,
                                            .type = p->type,
                                            .rule = COMM_SUM,
                                            .tail_bytes = sizeof(struct sync_trailer),
                                            .trailer_rule = sync_trailer_combine,
                                            .wire = sync_wire_type(&l->m.all, l->wire, p->type) },
                       &p->collective, err);
    return rc < 0 ? rc : broadcast_new(&l->m.all, p->common, bytes, 0, &p->start, err);
}

/* Make the all-reduce of the trailers alone, with overlap.  Return 0 or a negative errno. */
static int meet_open(struct local *l, struct eddis_error *err)
{
    if (!l->overlaps)
        return 0;
    return allreduce_new(&l->m.all,
                         &(struct allreduce){ .data = &l->said,
                                              .type = sync_type[0],
                                              .rule = COMM_SUM,
                                              .tail_bytes = sizeof l->said,
                                              .trailer_rule = sync_trailer_combine },
                         &l->meet, err);
}

/* Open the algorithm `ops` for one rank.  sync_close frees *ret.  Return 0 or a negative errno;
 * -EINVAL: o has no models.
 */
static int open_as(const struct sync_ops *ops, const struct sync_setup *o, struct sync **ret,
                   struct eddis_error *err)
{
    struct local *l;
    int rc;

    if (!o->models)
        return eddis_fail(err, -EINVAL, "%s combines models but got none", ops->name);
    l = calloc(1, sizeof *l);
    if (!l)
        return eddis_fail(err, -ENOMEM, "no memory for %s", ops->name);
    l->base.ops = ops;
    l->m = *o->models;
    l->m.all.channel = o->place.channel;
    l->rate = o->options.outer_rate > 0 ? o->options.outer_rate : 1;
    l->momentum = o->options.outer_momentum;
    l->wire = o->options.wire;
    l->overlaps = o->options.overlap > 0;
    rc = sync_allreduce.open(o, &l->gradients, err);
    for (int i = 0; rc == 0 && i < SYNC_TYPES; i++)
        rc = share_open(l, i, err);
    if (rc == 0)
        rc = meet_open(l, err);
    if (rc < 0)
        local_close(&l->base);
    else
        *ret = &l->base;
    return rc;
}

static int local_open(const struct sync_setup *o, struct sync **ret, struct eddis_error *err)
{
    return open_as(&sync_local, o, ret, err);
}

static int diloco_open(const struct sync_setup *o, struct sync **ret, struct eddis_error *err)
{
    return open_as(&sync_diloco, o, ret, err);
}

/* ---- the model ---- */

/* Borrow the momentum of a share; NULL: there is none. */
static void *momentum_of(const struct local *l, const struct share *p)
{
    return l->momentum > 0 ? p->momentum : NULL;
}

/* What values_each does with the elements of a value and those of the share. */
enum pass {
    PASS_BEGIN, /* common = value; of 16 bits the given float32 numbers, if they round to value */
    PASS_COME,  /* come = factor (common - value) */
    PASS_ADOPT, /* value = common */
    PASS_END,   /* ended = value */
    PASS_MOVE,  /* value = common + (value - ended), the common of 16 bits rounded */
    PASS_SHOW,  /* the worker's float32 copy = common, only 16 bits */
};

enum { BLOCK = 512 }; /* 16-bit elements that are converted at a time */

/* Begin with the n float32 numbers `given` where they round to the 16-bit value, else with that. */
static void begin_half(enum comm_type type, float *common, const float *given,
                       const uint16_t *value, size_t n)
{
    uint16_t rounded[BLOCK];

    comm_from_half(type, common, value, n);
    for (size_t at = 0; given && at < n; at += BLOCK) {
        size_t m = n - at < BLOCK ? n - at : BLOCK;

        comm_to_half(type, rounded, given + at, m);
        for (size_t i = 0; i < m; i++)
            if (rounded[i] == value[at + i])
                common[at + i] = given[at + i];
    }
}

/* Do one pass over a 16-bit value, whose first element is element `half` of all 16-bit values and
 * element `at` of the share.
 */
static void pass_half(const struct local *l, const struct share *p, const struct sync_value *v,
                      size_t at, size_t half, enum pass what, double factor)
{
    const struct sync_halves *h = l->m.halves;
    float *common = (float *)p->common + at;

    if (what == PASS_BEGIN)
        begin_half(v->type, common, h && h->given ? h->centre + half : NULL, v->data, v->n);
    else if (what == PASS_COME)
        round_come(v->type, (float *)p->come + at, common, v->data, v->n, factor);
    else if (what == PASS_ADOPT)
        comm_to_half(v->type, v->data, common, v->n);
    else if (what == PASS_END)
        comm_from_half(v->type, (float *)p->ended + at, v->data, v->n);
    else if (what == PASS_MOVE)
        round_move(v->type, v->data, common, (float *)p->ended + at, v->n);
    else if (h && h->centre)
        memcpy(h->centre + half, common, v->n * sizeof *common);
}

/* Do one pass over a value of the share's own type, whose first element is element `at` of it. */
static void pass_whole(const struct share *p, const struct sync_value *v, size_t at, enum pass what,
                       double factor)
{
    size_t width = comm_type_bytes(p->type);
    void *common = (char *)p->common + at * width, *come = (char *)p->come + at * width;
    void *ended = p->ended ? (char *)p->ended + at * width : NULL;

    if (what == PASS_BEGIN)
        memcpy(common, v->data, v->n * width);
    else if (what == PASS_ADOPT)
        memcpy(v->data, common, v->n * width);
    else if (what == PASS_END)
        memcpy(ended, v->data, v->n * width);
    else if (what == PASS_MOVE)
        round_move(p->type, v->data, common, ended, v->n);
    else if (what == PASS_COME)
        round_come(p->type, come, common, v->data, v->n, factor);
}

/* Do one pass over all values. */
static void values_each(const struct local *l, enum pass what, double factor)
{
    size_t at[SYNC_TYPES] = { 0 }, half = 0;

    for (int i = 0; i < l->m.n_values; i++) {
        const struct sync_value *v = &l->m.value[i];
        int t = 0;

        if (!v->n)
            continue;
        while (sync_type[t] != sync_centre_type(v->type))
            t++;
        if (comm_type_half(v->type)) {
            pass_half(l, &l->share[t], v, at[t], half, what, factor);
            half += v->n;
        } else {
            pass_whole(&l->share[t], v, at[t], what, factor);
        }
        at[t] += v->n;
    }
}

/* ---- rounds ---- */

/* End the round, whose sums have arrived: take the outer step, and adopt the common model, with the
 * change by steps since then.  Without any samples the common model stays.
 */
static void round_end(struct local *l)
{
    double sum;

    l->tail = *trailer_of(&l->share[0], l->share[0].sum);
    sum = l->tail.weight;
    for (int i = 0; sum > 0 && i < SYNC_TYPES; i++) {
        struct share *p = &l->share[i];

        round_outer(p->type, p->common, momentum_of(l, p), p->sum, p->n,
                    (struct round_outer){ l->whole / sum, l->rate, l->momentum });
    }
    values_each(l, l->moved ? PASS_MOVE : PASS_ADOPT, 0);
    l->lands = l->moved = false;
}

/* Return the collective that the exchange under way uses for a share; NULL: there is none. */
static struct collective *collective_of(const struct local *l, const struct share *p)
{
    return l->starts ? p->start : p->collective;
}

/* Note that the collective of a share is over.  Return whether the exchange is over. */
static bool share_arrived(struct local *l, struct share *p)
{
    if (!l->starts)
        p->sum = allreduce_result(p->collective);
    if (--l->n_left)
        return false;
    if (!l->starts && l->meet && !l->lands)
        return false;
    if (l->starts)
        values_each(l, PASS_ADOPT, 0);
    else
        round_end(l);
    return true;
}

/* Start the collectives of all shares.  Return 1 if they are over already, else 0, or a failure. */
static int shares_start(struct local *l, const int *tag, struct outbox *out,
                        struct eddis_error *err)
{
    bool over = false;

    for (int i = 0; i < SYNC_TYPES; i++)
        l->n_left += collective_of(l, &l->share[i]) != NULL;
    for (int i = 0; i < SYNC_TYPES; i++) {
        struct collective *c = collective_of(l, &l->share[i]);
        int rc = c ? collective_start(c, tag[i], out, err) : 0;

        if (rc < 0)
            return rc;
        if (rc == 1)
            over = share_arrived(l, &l->share[i]);
    }
    return over;
}

/* Compute d of this rank, times `factor`: 0 also if the model holds NaN and the factor is 0. */
static void come_begin(const struct local *l, double factor)
{
    for (int i = 0; i < SYNC_TYPES && factor == 0; i++)
        if (l->share[i].come)
            memset(l->share[i].come, 0, l->share[i].sent * comm_type_bytes(l->share[i].type));
    if (factor != 0)
        values_each(l, PASS_COME, factor);
}

/* Note what all ranks have agreed on, and start the sum.  Return 1, or a failure. */
static int round_met(struct local *l, struct outbox *out, struct eddis_error *err)
{
    int rc;

    l->tail = *(const struct sync_trailer *)allreduce_result(l->meet);
    rc = shares_start(l, l->tag, out, err);
    return rc < 0 ? rc : 1;
}

/* Begin to meet all ranks at the round's end.  Return 1 if all are there already, else 0, or a
 * failure.
 */
static int round_meet(struct local *l, const struct sync_turn *t, struct outbox *out,
                      struct eddis_error *err)
{
    int rc;

    values_each(l, PASS_END, 0);
    l->said = t->tail;
    l->said.weight = t->weight;
    memcpy(l->tag, t->tag, sizeof l->tag);
    rc = collective_start(l->meet, l->tag[SYNC_TYPES], out, err);
    return rc == 1 ? round_met(l, out, err) : rc;
}

/* Apply the result of the round's end, or begin to wait for it.  Return 1 if it is applied, or 0.
 */
static int round_land(struct local *l, bool moved)
{
    l->moved = moved;
    l->lands = true;
    if (l->n_left)
        return 0;
    round_end(l);
    return 1;
}

/* Begin the round's end: send how far this rank has come.  Return as shares_start; with overlap, 1
 * means that all ranks are there.
 */
static int round_begin(struct local *l, const struct sync_turn *t, struct outbox *out,
                       struct eddis_error *err)
{
    struct share *first = &l->share[0];

    /* All ranks have the same sum of the round before, which is near that of this one.  Powers of 2
     * round nothing, so the result is the same without a round before.
     */
    l->whole = exp2(ceil(log2(l->tail.weight > 0 ? l->tail.weight : t->whole)));
    come_begin(l, t->weight / l->whole);
    *trailer_of(first, first->come) = t->tail;
    trailer_of(first, first->come)->weight = t->weight;
    return l->meet ? round_meet(l, t, out, err) : shares_start(l, t->tag, out, err);
}

/* Begin an exchange.  Return 1 if it is over already, else 0, or a failure. */
static int local_exchange(struct sync *s, const struct sync_turn *t, int64_t now_ns,
                          struct outbox *out, struct eddis_error *err)
{
    struct local *l = (struct local *)s;

    l->starts = t->what == SYNC_START;
    switch (t->what) {
    case SYNC_START:
        values_each(l, PASS_BEGIN, 0);
        return shares_start(l, t->tag, out, err);
    case SYNC_ADOPT:
        values_each(l, PASS_SHOW, 0);
        return 1;
    case SYNC_STEP:
        s->since = 0;
        return round_begin(l, t, out, err);
    case SYNC_LAND:
        return round_land(l, t->moved);
    default:
        return 1;
    }
}

static const struct sync_trailer *local_agreed(const struct sync *s)
{
    return &((const struct local *)s)->tail;
}

/* Return the share whose collective `c` is; NULL: none, so the collective is one of gradients. */
static struct share *share_of(struct local *l, const void *c)
{
    for (int i = 0; i < SYNC_TYPES; i++)
        if (c == collective_of(l, &l->share[i]))
            return &l->share[i];
    return NULL;
}

/* ---- the operations ---- */

static int local_lay_out(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                         struct eddis_error *err)
{
    return sync_lay_out(((struct local *)s)->gradients, buffer, n_buffers, err);
}

static int local_begin(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
                       struct eddis_error *err)
{
    return sync_begin(((struct local *)s)->gradients, buffer, tag, now_ns, out, err);
}

/* Continue after a completed operation of a round's sum or of the gradients.  Return as
 * sync_receive.
 */
static int local_receive(struct sync *s, const struct comm_op *op, int64_t now_ns,
                         struct outbox *out, struct eddis_error *err)
{
    struct local *l = (struct local *)s;
    struct share *p = share_of(l, op->owner);
    int rc;

    if (l->meet && op->owner == l->meet) {
        rc = collective_done(l->meet, op, out, err);
        if (rc == 1)
            rc = round_met(l, out, err);
        if (rc == 1)
            sync_exchange_over(s);
        return rc < 0 ? rc : 0;
    }
    if (!p)
        return sync_receive(l->gradients, op, now_ns, out, err);
    rc = collective_done(collective_of(l, p), op, out, err);
    if (rc == 1 && share_arrived(l, p))
        sync_exchange_over(s);
    return rc < 0 ? rc : 0;
}

static bool local_polls(const struct sync *s)
{
    return sync_polls(((const struct local *)s)->gradients);
}

static int local_poll(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    return sync_poll(((struct local *)s)->gradients, now_ns, out, err);
}

static const void *local_result(const struct sync *s, int buffer)
{
    return sync_result(((const struct local *)s)->gradients, buffer);
}

static int local_waits_for(const struct sync *s, int buffer)
{
    return sync_waits_for(((const struct local *)s)->gradients, buffer);
}

/* Return the rank for which the round's sum waits; -1: none. */
static int local_exchange_waits_for(const struct sync *s)
{
    const struct local *l = (const struct local *)s;
    int peer = l->meet ? collective_waits_for(l->meet) : -1;

    if (peer >= 0)
        return peer;
    for (int i = 0; i < SYNC_TYPES && l->n_left; i++) {
        const struct collective *c = collective_of(l, &l->share[i]);

        peer = c ? collective_waits_for(c) : -1;

        if (peer >= 0)
            return peer;
    }
    return -1;
}

#define LOCAL_OPS(is, open_it)                                                                     \
    {                                                                                              \
        .name = is, .open = open_it, .lay_out = local_lay_out, .begin = local_begin,               \
        .receive = local_receive, .polls = local_polls, .poll = local_poll,                        \
        .waits_for = local_waits_for, .result = local_result, .exchange = local_exchange,          \
        .agreed = local_agreed, .exchange_waits_for = local_exchange_waits_for,                    \
        .close = local_close,                                                                      \
    }

const struct sync_ops sync_local = LOCAL_OPS("local", local_open);
const struct sync_ops sync_diloco = LOCAL_OPS("diloco", diloco_open);
