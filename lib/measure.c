/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - the measurement that lib/comm/choose.h is about, over the workers' own transport
 *
 * All groups measure at the same time, since they will train at the same time, and take the
 * slowest's figures.
 */
#include "handle.h"

#include "lib/base/clock.h"
#include "lib/comm/node.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct measurement {
    struct eddis *e;
    struct comm_place place;
    void *arena; /* [arena_bytes] in the memory of the node */
    size_t arena_bytes;
};

/* One kind's all-reduce of x; through the memory of the node where there is some. */
static int measure_make(const struct measurement *m, const char *kind, void *x, size_t bytes,
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

/* One run of each of the rung's kinds; their seconds where they are the quickest so far. */
static int measure_kinds(const struct measurement *m, const struct choose_rung *rung, void *x,
                         double *seconds, struct eddis_error *err)
{
    int rc = 0;

    for (int k = 0; rc == 0 && k < CHOOSE_KINDS; k++) {
        struct collective *c = NULL;
        int64_t began;

        if (!rung->kind[k])
            continue;
        rc = handle_agree(m->e, measure_make(m, rung->kind[k], x, rung->bytes, &c, err), err);
        if (rc < 0) {
            collective_free(c);
            break;
        }
        began = clock_now_ns();
        rc = request_run(m->e, "the measurement of the network", c, err);
        seconds[k] = fmin(seconds[k], (double)(clock_now_ns() - began) / (double)CLOCK_S);
    }
    return rc;
}

/* A rung's figures, the same on all ranks. */
static int measure_rung(const struct measurement *m, const struct choose_rung *rung,
                        double *seconds, struct eddis_error *err)
{
    void *x = calloc(1, rung->bytes);
    double ignored[CHOOSE_KINDS] = { 0 };
    int rc = x ? 0 : eddis_fail(err, -ENOMEM, "no memory to measure the network");

    rc = handle_agree(m->e, rc, err);
    if (rc == 0 && rung->warm_up)
        rc = measure_kinds(m, rung, x, ignored, err);
    for (int k = 0; k < CHOOSE_KINDS; k++)
        seconds[k] = INFINITY;
    for (int i = 0; rc == 0 && i < rung->runs; i++)
        rc = measure_kinds(m, rung, x, seconds, err);
    free(x);
    return rc < 0 ? rc
                  : handle_allreduce(m->e, seconds, CHOOSE_KINDS, EDDIS_FLOAT64, EDDIS_MAX, err);
}

int measure_allreduce(struct eddis *e, size_t arena_bytes, struct choose_result *ret,
                      struct eddis_error *err)
{
    const struct comm_nodes *nodes = e->group.place.nodes;
    struct measurement m = { .e = e, .place = e->group.place };
    int64_t most[2] = { m.place.n_ranks, nodes ? (int64_t)arena_bytes : 0 };
    struct choose_rung rung;
    struct chooser c;
    int rc;

    if (nodes && nodes->node) {
        m.arena = comm_node_arena(nodes->node);
        m.arena_bytes = arena_bytes;
    }
    rc = handle_allreduce(e, most, 2, EDDIS_INT64, EDDIS_MAX, err);
    if (rc < 0)
        return rc;
    chooser_init(&c, &(struct comm_place){ .n_ranks = (int)most[0], .hosts = m.place.hosts },
                 (size_t)most[1]);
    while (chooser_next(&c, &rung)) {
        double seconds[CHOOSE_KINDS];

        rc = measure_rung(&m, &rung, seconds, err);
        if (rc < 0)
            return rc;
        chooser_note(&c, seconds);
    }
    chooser_choose(&c, ret);
    return 0;
}
