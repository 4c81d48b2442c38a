/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.c - find the best all-reduces and buckets: measured, published on the board, and replayed
 * from a plan
 *
 * All groups measure at the same time, since they will train at the same time, and use the slowest
 * group's measurements.
 */
#include "tuning.h"

#include "lib/base/clock.h"
#include "lib/comm/node_groups.h"
#include "lib/comm/shm.h"
#include "lib/sync/engine.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- measuring ---- */

/* How all-reduces of one group of ranks are measured. */
struct measurement {
    struct collectives *all;
    struct comm_place place;
    enum request_level level; /* request level for the place's ranks */
    bool apart;  /* this rank takes part in no all-reduce, only in the collectives of all ranks */
    void *arena; /* [arena_bytes] in the node's shared memory; NULL: none */
    size_t arena_bytes;
};

/* Create in *ret an all-reduce of this kind that adds up `bytes` of float32 numbers: of x, or for
 * the kind "shared" of the arena if they fit.  The caller frees *ret by collective_free.  Return 0
 * or a negative errno.
 */
static int tuning_make(const struct measurement *m, const char *kind, void *x, size_t bytes,
                       struct collective **ret, struct eddis_error *err)
{
    struct allreduce a = {
        .data = x, .n = bytes / sizeof(float), .type = COMM_FLOAT32, .rule = COMM_SUM
    };

    if (strcmp(kind, "shared") != 0)
        return allreduce_new_kind(kind, &m->place, &a, ret, err);
    if (bytes <= m->arena_bytes)
        a.data = m->arena;
    return allreduce_new(&m->place, &a, ret, err);
}

/* Run each of the rung's kinds of all-reduce once, on x [rung->bytes].  If the run of kind k took
 * less than seconds[k], store its time there.  Collective.  Return 0 or a negative errno.
 */
static int tuning_kinds(const struct measurement *m, const struct tuner_rung *rung, void *x,
                        double *seconds, struct eddis_error *err)
{
    int rc = 0;

    for (int k = 0; rc == 0 && k < TUNER_KINDS; k++) {
        struct collective *c = NULL;
        int64_t began;

        if (!rung->kind[k])
            continue;
        rc = m->apart ? 0 : tuning_make(m, rung->kind[k], x, rung->bytes, &c, err);
        rc = collectives_agree(m->all, rc, err);
        if (rc < 0) {
            collective_free(c);
            break;
        }
        began = clock_now_ns();
        if (c)
            rc = collectives_run(m->all, "the measurement of the network", m->level, c, err);
        seconds[k] = fmin(seconds[k], (double)(clock_now_ns() - began) / (double)CLOCK_S);
    }
    return rc;
}

/* Replace each of x [n] by its maximum over all ranks.  Collective.  Return 0 or a negative errno.
 */
static int tuning_most(struct collectives *all, void *x, size_t n, enum comm_type type,
                       struct eddis_error *err)
{
    return collectives_allreduce(
        all, &(struct allreduce){ .data = x, .n = n, .type = type, .rule = COMM_MAX }, err);
}

/* Time a rung, which is one message size: store for each kind of all-reduce the minimum time in
 * seconds over its runs, and of that the maximum over all ranks.  Collective.  Return 0 or a
 * negative errno.
 */
static int tuning_rung(const struct measurement *m, const struct tuner_rung *rung, double *seconds,
                       struct eddis_error *err)
{
    void *x = calloc(1, rung->bytes);
    double ignored[TUNER_KINDS] = { 0 };
    int rc = x ? 0 : eddis_fail(err, -ENOMEM, "no memory to measure the network");

    rc = collectives_agree(m->all, rc, err);
    if (rc == 0 && rung->warm_up)
        rc = tuning_kinds(m, rung, x, ignored, err);
    for (int k = 0; k < TUNER_KINDS; k++)
        seconds[k] = INFINITY;
    for (int i = 0; rc == 0 && i < rung->runs; i++)
        rc = tuning_kinds(m, rung, x, seconds, err);
    free(x);
    return rc < 0 ? rc : tuning_most(m->all, seconds, TUNER_KINDS, COMM_FLOAT64, err);
}

/* Time all message sizes that an initialized tuner wants to know (its rungs), and store the kinds
 * of all-reduce that it chooses for them in *ret.  Collective: all ranks get the same result.
 * Return 0 or a negative errno, and then *ret is unchanged.
 */
static int tuning_run(const struct measurement *m, struct tuner *t, struct tuner_result *ret,
                      struct eddis_error *err)
{
    struct tuner_rung rung;

    while (tuner_next(t, &rung)) {
        double seconds[TUNER_KINDS];
        int rc = tuning_rung(m, &rung, seconds, err);

        if (rc < 0)
            return rc;
        tuner_note(t, seconds);
    }
    tuner_choose(t, ret);
    return 0;
}

/* Measure the best kinds of all-reduce among the first ranks of the nodes of each group, and store
 * the choice in *ret; n_nodes: the greatest number of nodes of a group.  Other ranks only take part
 * in the collectives of all ranks.  Collective.  Return 0 or a negative errno.
 */
static int tuning_between(const struct measurement *group, int n_nodes, bool hosts,
                          struct tuner_result *ret, struct eddis_error *err)
{
    const struct node_groups *nodes = group->place.nodes;
    struct measurement m = { .all = group->all, .level = REQUEST_FIRST };
    struct tuner t;

    m.apart = !nodes || nodes->here > 0;
    if (!m.apart)
        m.place = node_groups_firsts(nodes, group->place.channel);
    tuner_init(&t, &(struct comm_place){ .n_ranks = n_nodes, .hosts = hosts }, 0,
               TUNER_BUDGET_S / 2);
    t.few = true;
    return tuning_run(&m, &t, ret, err);
}

int tuning_measure(struct collectives *all, const struct comm_place *group, size_t arena_bytes,
                   struct tuner_result *ret, struct eddis_error *err)
{
    const struct node_groups *nodes = group->nodes;
    struct measurement m = { .all = all, .place = *group, .level = REQUEST_GROUP };
    /* The maximum over all groups is used on all ranks: if ranks measured different kinds, they
     * would wait for each other forever in the collectives of all ranks.
     */
    int64_t most[] = { m.place.n_ranks, nodes ? (int64_t)arena_bytes : 0, nodes ? nodes->n : 1,
                       m.place.hosts };
    struct tuner_result between;
    struct tuner t;
    int rc;

    if (nodes && nodes->shm) {
        m.arena = comm_shm_arena(nodes->shm);
        m.arena_bytes = arena_bytes;
    }
    rc = tuning_most(all, most, sizeof most / sizeof *most, COMM_INT64, err);
    if (rc == 0 && most[2] > 1)
        rc = tuning_between(&m, (int)most[2], most[3] != 0, &between, err);
    if (rc < 0)
        return rc;
    tuner_init(&t, &(struct comm_place){ .n_ranks = (int)most[0], .hosts = most[3] != 0 },
               (size_t)most[1], most[2] > 1 ? TUNER_BUDGET_S / 2 : TUNER_BUDGET_S);
    if (most[2] > 1) {
        t.between = &between;
        m.place.limits = &between.limits;
    }
    return tuning_run(&m, &t, ret, err);
}

/* ---- to and from the choice that the board and a plan hold ---- */

/* Return the parameter at position k of the choice's order of n parameters; without an order the
 * one registered last is first.
 */
static int tuning_parameter(const struct comm_choice *c, int n, int k)
{
    return c->n_order ? c->order[k] : n - 1 - k;
}

int tuning_layout(const struct comm_choice *c, int n, struct bucket_layout *ret,
                  struct eddis_error *err)
{
    struct bucket_layout l = { .n = c->n_buckets };
    int at = 0;

    if (!c->n_buckets)
        return 0;
    for (int b = 0; b < l.n && b < BUCKET_MAX; b++) {
        int first = n, last = -1, end = at + c->bucket[b];

        for (; at < end && at < n && (!c->n_order || at < c->n_order); at++) {
            int item = n - 1 - tuning_parameter(c, n, at);

            first = item < first ? item : first;
            last = item > last ? item : last;
        }
        if (at != end || last - first + 1 != c->bucket[b])
            return eddis_fail(err, -EINVAL, "the plan's bucket %d does not fit these %d parameters",
                              b, n);
        l.run[b] = (struct bucket_run){ first, last + 1 };
    }
    *ret = l; /* the engine checks that every parameter occurs once */
    return 1;
}

void tuning_set_layout(struct comm_choice *c, int n, const struct bucket_layout *l)
{
    c->n_order = 0;
    c->n_buckets = l->n;
    for (int b = 0; b < l->n; b++) {
        c->bucket[b] = (uint16_t)(l->run[b].end - l->run[b].first);
        for (int i = l->run[b].first; i < l->run[b].end; i++)
            c->order[c->n_order++] = (uint16_t)(n - 1 - i);
    }
}

void tuning_set_limits(struct comm_choice *c, const struct tuner_result *r)
{
    c->shared = r->shared;
    c->direct_bytes = (int64_t)r->limits.direct_bytes;
    c->tree_bytes = (int64_t)r->limits.tree_bytes;
    c->halving_bytes = (int64_t)r->limits.halving_bytes;
    c->piece_bytes = (int64_t)r->limits.piece_bytes;
    c->latency_s = r->cost.latency_s;
    c->bytes_per_s = r->cost.bytes_per_s;
    (void)snprintf(c->reason, sizeof c->reason, "%s", r->reason);
}

struct comm_limits tuning_limits(const struct comm_choice *c, int n_nodes)
{
    const struct comm_cost cost = { c->latency_s, c->bytes_per_s };

    struct comm_limits l = { (size_t)c->direct_bytes, (size_t)c->tree_bytes,
                             (size_t)c->halving_bytes, (size_t)c->piece_bytes };

    l.stage_bytes = tuner_stage_bytes(&cost, &l, n_nodes);
    return l;
}

void tuning_add_reason(struct comm_choice *c, const char *fmt, ...)
{
    size_t used = strlen(c->reason);
    va_list ap;

    if (used) {
        (void)snprintf(c->reason + used, sizeof c->reason - used, "; ");
        used = strlen(c->reason);
    }
    va_start(ap, fmt);
    (void)vsnprintf(c->reason + used, sizeof c->reason - used, fmt, ap);
    va_end(ap);
}

/* Publish the layout, on rank 0.  In hybrid mode every group lays out its own buckets, and a
 * replayed plan gives all groups the layout of the first.  That changes speed and order of
 * rounding, not what is added.  Such replays are not bitwise equal anyway, since groups reach the
 * centre in varying order.
 */
void tuning_laid_out(const struct tuning *t, const struct bucket_layout *l)
{
    struct board *b = t->rank ? NULL : phase_lock_board(t->phase);
    int n = engine_n_buckets(t->engine);
    struct comm_choice c;

    if (!b)
        return;
    c = board_own(b)->choice;
    tuning_set_layout(&c, t->n_parameters, l);
    tuning_add_reason(&c, "%d bucket%s by when gradients were ready", n, n == 1 ? "" : "s");
    board_choose(b, &c);
    phase_unlock_board(t->phase);
}
