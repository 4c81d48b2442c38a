/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - a small cluster around the driver's state machine; see world.h */
#include "tests/unit/agents/world/world.h"

#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

const struct world_set world_sets[] = {
    { "two nodes", 2, 3, { 0, 0, 1 }, 3, 30, 0, 15, true, false },
    { "two nodes, once", 2, 2, { 0, 1 }, 0, 30, 0, 15, false, false },
    { "one node", 1, 2, { 0, 0 }, 1, 30, 0, 15, true, false },
    { "three nodes", 3, 4, { 0, 1, 1, 2 }, 2, 30, 0, 0, true, false },
    { "three nodes, one spare", 3, 2, { 0, 1 }, 2, 0, 3600, 15, false, false },
    { "second node first", 2, 2, { 1, 0 }, 1, 30, 300, 15, true, false },
    { "check only", 2, 2, { 0, 1 }, 0, 30, 0, 15, true, true },
    { "alone", 1, 1, { 0 }, 1, 0, 100, 0, false, false },
};
const int world_n_sets = sizeof world_sets / sizeof *world_sets;

enum world_phase world_phase(const struct state *s)
{
    static const enum world_phase phase[STATE_PHASES] = {
        [STATE_PHASE_REGISTER] = WORLD_REGISTER, [STATE_PHASE_PROFILE] = WORLD_PROFILE,
        [STATE_PHASE_NETWORK] = WORLD_NETWORK,   [STATE_PHASE_PROBE_PREPARE] = WORLD_PREPARE,
        [STATE_PHASE_PROBE_START] = WORLD_START, [STATE_PHASE_PROBE_RUN] = WORLD_RUN,
        [STATE_PHASE_PROBE_STOP] = WORLD_STOP,   [STATE_PHASE_PLAN] = WORLD_PLAN,
        [STATE_PHASE_PREPARE] = WORLD_PREPARE,   [STATE_PHASE_CHECK] = WORLD_CHECK,
        [STATE_PHASE_START] = WORLD_START,       [STATE_PHASE_RUN] = WORLD_RUN,
        [STATE_PHASE_STOP] = WORLD_STOP,         [STATE_PHASE_REGROUP] = WORLD_REGROUP,
        [STATE_PHASE_BYE] = WORLD_BYE,           [STATE_PHASE_OVER] = WORLD_OVER,
    };

    return phase[s->phase];
}

/* ---- the machine and its copies ---- */

void world_init(struct world *w, const struct world_set *set)
{
    const struct state_options o = {
        .n_agents = set->n_agents,
        .share = set->share,
        .check_only = set->check_only,
        .restarts = set->restarts,
        .launch_ns = 60 * CLOCK_S,
        .lease_ns = 10 * CLOCK_S,
        .node_lost_ns = set->node_lost_s * CLOCK_S,
        .hang_ns = set->hang_s * CLOCK_S,
        .grace_ns = 10 * CLOCK_S,
        .checkpoint_ns = 20 * CLOCK_S,
        .job_ns = set->job_s ? set->job_s * CLOCK_S : CLOCK_NEVER,
    };

    memset(w, 0, sizeof *w);
    w->set = set;
    w->now_ns = 1000 * CLOCK_S;
    if (state_init(&w->s, &o, w->now_ns, NULL) < 0)
        abort();
    for (int a = 1; a < set->n_agents; a++)
        w->s.agent[a].remote = true; /* the first is this machine */
}

void world_fini(struct world *w)
{
    state_fini(&w->s);
}

static void *twin(const void *p, size_t n)
{
    void *t = p ? malloc(n) : NULL;

    if (p && !t)
        abort();
    return t ? memcpy(t, p, n) : NULL;
}

void world_copy(struct world *to, const struct world *from)
{
    *to = *from;
    to->s.agent = twin(from->s.agent, (size_t)from->set->n_agents * sizeof *from->s.agent);
    to->s.rank = twin(from->s.rank, (size_t)from->s.n_ranks * sizeof *from->s.rank);
    to->s.queue.at =
        twin(from->s.queue.at, ((size_t)from->s.queue.room + 1) * sizeof *from->s.queue.at);
}

bool world_same(const struct world *a, const struct world *b)
{
    struct state x = a->s, y = b->s;

    x.agent = y.agent = NULL;
    x.rank = y.rank = NULL;
    x.queue.at = y.queue.at = NULL;
    x.queue.room = y.queue.room = 0;
    return a->now_ns == b->now_ns && memcmp(&x, &y, sizeof x) == 0 &&
           memcmp(a->s.agent, b->s.agent, (size_t)a->set->n_agents * sizeof *a->s.agent) == 0 &&
           (a->s.n_ranks == 0 ||
            memcmp(a->s.rank, b->s.rank, (size_t)a->s.n_ranks * sizeof *a->s.rank) == 0);
}

/* ---- its actions ---- */

static void start(struct world *w)
{
    w->starts++;
    w->late_starts += state_is_ending(&w->s);
    w->double_starts += w->start_ordered && !w->stop_ordered;
    w->start_ordered = true;
    w->stop_ordered = false;
}

static void prepare(struct world *w)
{
    w->double_starts += w->start_ordered && !w->stop_ordered;
    w->prepare_ordered = true;
    w->check_ordered = w->start_ordered = w->stop_ordered = false;
}

static void take(struct world *w, const struct action *a)
{
    switch (a->type) {
    case ACTION_PROFILE:
        for (int i = 0; i < w->set->n_agents; i++)
            if (a->agent < 0 || a->agent == i)
                w->profile_ordered[i] = true;
        break;
    case ACTION_PREPARE:
        prepare(w);
        break;
    case ACTION_CHECK:
        w->check_ordered = true;
        break;
    case ACTION_START:
        start(w);
        break;
    case ACTION_STOP:
        w->stop_ordered = true;
        break;
    case ACTION_REVIVE:
        w->profile_ordered[a->agent] = false;
        break;
    default:
        break;
    }
}

/* Agents that are there answer at once that nothing is known. */
static void answer_look(struct world *w)
{
    for (int r = 0; r < w->s.n_ranks; r++) {
        const struct event e = { .type = EVENT_PLACE, .generation = w->s.generation, .rank = r };

        if (!w->s.rank[r].exited)
            state_event(&w->s, w->s.rank[r].agent, &e, w->now_ns);
    }
}

void world_act(struct world *w)
{
    struct action a;

    while (state_action(&w->s, &a))
        if (a.type == ACTION_LOOK)
            answer_look(w);
        else
            take(w, &a);
}
