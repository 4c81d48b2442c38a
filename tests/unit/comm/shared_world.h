/* SPDX-License-Identifier: Apache-2.0 */
/* shared_world.h - ranks of this process that share memory by nodes, over the loop */
#ifndef EDDIS_TESTS_SHARED_WORLD_H
#define EDDIS_TESTS_SHARED_WORLD_H

#include "bench/loop.h"
#include "lib/base/random.h"
#include "lib/comm/node_groups.h"
#include "lib/comm/shm_impl.h"
#include "suite.h"

#include <stdint.h>

enum { MAX_RANKS = 8, ARENA = 1 << 20 };

struct world {
    int n;
    struct loop *loop;
    struct transport *end[MAX_RANKS];
    struct node_groups *nodes[MAX_RANKS];
    struct comm_shm *node[MAX_RANKS];
    struct comm_place place[MAX_RANKS];
    struct collective *c[MAX_RANKS]; /* under way, or NULL */
    int failed[MAX_RANKS];           /* code of a failure */
    struct eddis_error error[MAX_RANKS];
};

static void world_after(struct world *w, int r, int rc, struct outbox *out)
{
    if (rc < 0)
        w->failed[r] = rc;
    if (rc)
        w->c[r] = NULL;
    ck_assert_int_eq(transport_post(w->end[r], out, NULL), 0);
    outbox_fini(out);
}

static void world_start(struct world *w, int r, struct collective *c)
{
    struct outbox out = { 0 };

    w->c[r] = c;
    world_after(w, r, collective_start(c, 3, &out, &w->error[r]), &out);
}

/* Returns whether rank r had something to do. */
static bool world_turn(struct world *w, int r)
{
    struct outbox out = { 0 };
    struct comm_op op;
    int n = transport_poll(w->end[r], &op, 1, NULL), rc;

    ck_assert_int_ge(n, 0);
    if (n) {
        rc = collective_done(op.owner, &op, &out, &w->error[r]);
        world_after(w, r, rc, &out);
        return true;
    }
    if (!w->c[r] || !collective_polls(w->c[r]))
        return false;
    rc = collective_poll(w->c[r], &out, &w->error[r]);
    world_after(w, r, rc, &out);
    return rc != 0;
}

static bool world_busy(const struct world *w)
{
    for (int r = 0; r < w->n; r++)
        if (w->c[r])
            return true;
    return false;
}

/* Until all are over, or so many turns were in vain. */
static void world_run(struct world *w, uint64_t seed, int vain)
{
    for (int idle = 0; world_busy(w) && idle < vain;) {
        int r = (int)random_below(&seed, (uint64_t)w->n);

        idle = world_turn(w, r) || loop_advance(w->loop) ? 0 : idle + 1;
    }
}

static void world_share(struct world *w, const struct comm_shm_size *size, uint64_t seed)
{
    struct collective *share[MAX_RANKS];

    for (int r = 0; r < w->n; r++) {
        struct comm_place here = node_groups_here(w->nodes[r], COMM_REQUESTS);

        ck_assert_int_eq(comm_shm_share(&here, size, &share[r], NULL), 0);
        world_start(w, r, share[r]);
    }
    world_run(w, seed, 1000);
    for (int r = 0; r < w->n; r++) {
        struct eddis_error err = { 0 };

        ck_assert_msg(comm_shm_take(share[r], &w->node[r], &err) == 0, "%s", err.text);
        collective_free(share[r]);
        w->nodes[r]->shm = w->node[r];
        w->place[r].nodes = w->nodes[r];
    }
}

/* n ranks, dealt to so many nodes in turn. */
static void world_open(struct world *w, int n, int n_nodes, size_t arena, uint64_t seed)
{
    int node_of[MAX_RANKS];

    *w = (struct world){ .n = n };
    ck_assert_int_eq(loop_new(n, seed, &w->loop, NULL), 0);
    for (int r = 0; r < n; r++)
        node_of[r] = 7 * (r % n_nodes);
    for (int r = 0; r < n; r++) {
        ck_assert_int_eq(loop_open(w->loop, r, &w->end[r], NULL), 0);
        w->place[r] = (struct comm_place){ .rank = r, .n_ranks = n, .hosts = n_nodes > 1 };
        ck_assert_int_eq(node_groups_new(&w->place[r], node_of, &w->nodes[r], NULL), 0);
    }
    world_share(w, &(struct comm_shm_size){ .arena_bytes = arena, .slots = 12, .pool = true },
                seed);
}

static void world_close(struct world *w)
{
    for (int r = 0; r < w->n; r++) {
        comm_shm_close(w->node[r]);
        node_groups_free(w->nodes[r]);
        transport_close(w->end[r], true, NULL);
    }
    loop_free(w->loop);
}

#endif
