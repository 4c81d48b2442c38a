/* SPDX-License-Identifier: Apache-2.0 */
/* driver_fixture.h - the driver's state machine with three nodes and five ranks, for its tests
 *
 * The first node is this machine, the others are reached by ssh.
 */
#ifndef EDDIS_TESTS_DRIVER_FIXTURE_H
#define EDDIS_TESTS_DRIVER_FIXTURE_H

#include "agents/driver/state/state.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3, RANKS = 5 };
static const int64_t second = CLOCK_S;
static const int rank_node[RANKS] = { 0, 0, 1, 2, 2 };

struct fixture {
    struct state s;
    int64_t now_ns;
    bool silent[NODES];             /* the node is frozen or cut off: not heard, and does nothing */
    int ordered[32], revive[NODES]; /* how often each action was, and that of each node */
    char said[8192];
};

static inline void drain(struct fixture *f)
{
    struct action a;

    while (state_action(&f->s, &a)) {
        size_t n = strlen(f->said);

        f->ordered[a.type]++;
        if (a.type == ACTION_SAY && n < sizeof f->said - 700)
            (void)snprintf(f->said + n, sizeof f->said - n, "%s\n", a.text);
        if (a.type == ACTION_REVIVE)
            f->revive[a.agent]++;
    }
}

static inline void begin(struct fixture *f, int restarts)
{
    const struct state_options o = {
        .n_agents = NODES,
        .share = true,
        .restarts = restarts,
        .launch_ns = 60 * second,
        .lease_ns = 10 * second,
        .node_lost_ns = 15 * second,
        .hang_ns = 30 * second,
        .grace_ns = 10 * second,
        .checkpoint_ns = 120 * second,
        .job_ns = CLOCK_NEVER,
    };

    memset(f, 0, sizeof *f);
    f->now_ns = 1000 * second;
    ck_assert_int_eq(state_init(&f->s, &o, f->now_ns, NULL), 0);
    for (int i = 1; i < NODES; i++)
        f->s.agent[i].remote = true; /* the first one is this machine */
}

static inline struct event event(struct fixture *f, enum event_type type)
{
    static char none[] = "";

    return (struct event){ .type = type,
                           .generation = f->s.generation,
                           .rank = -1,
                           .code = 0,
                           .step = -1,
                           .text = none,
                           .last_lines = none };
}

static inline void tell(struct fixture *f, int agent, enum event_type type)
{
    struct event e = event(f, type);

    if (f->silent[agent] || !state_is_known(&f->s, agent))
        return;
    state_heard(&f->s, agent, f->now_ns);
    state_event(&f->s, agent, &e, f->now_ns);
    drain(f);
}

static inline void tell_parts(struct fixture *f, enum event_type type)
{
    for (int i = 0; i < NODES; i++)
        if (f->s.agent[i].part)
            tell(f, i, type);
}

static inline void started(struct fixture *f, int rank)
{
    struct event e = event(f, EVENT_RANK_STARTED);

    e.rank = rank;
    e.pid = 100 + rank;
    state_event(&f->s, f->s.rank[rank].agent, &e, f->now_ns);
    drain(f);
}

static inline void exited(struct fixture *f, int rank, int code, int sig, bool by_us)
{
    struct event e = event(f, EVENT_RANK_EXIT);

    e.rank = rank;
    e.pid = 100 + rank;
    e.code = sig ? -1 : code;
    e.signal = sig;
    e.by_us = by_us;
    state_event(&f->s, f->s.rank[rank].agent, &e, f->now_ns);
    drain(f);
}

static inline void mpirun(struct fixture *f, int code, int sig)
{
    struct event e = event(f, EVENT_MPIRUN_EXIT);

    e.code = sig ? -1 : code;
    e.signal = sig;
    state_event(&f->s, f->s.first, &e, f->now_ns);
    drain(f);
}

static inline void progress(struct fixture *f, int rank, int phase, int64_t steps, int64_t still_ns)
{
    const struct progress p = { .rank = rank,
                                .pid = 100 + rank,
                                .phase = phase,
                                .waits_for = -1,
                                .steps_done = steps,
                                .steps_here = steps,
                                .sum.total_ns = steps * CLOCK_MS,
                                .page_age_ns = still_ns,
                                .phase_age_ns = still_ns };

    if (f->silent[f->s.rank[rank].agent])
        return;
    state_progress(&f->s, &p, f->now_ns);
    drain(f);
}

/* Time passes, and whoever is not silent is heard every half second. */
static inline void pass(struct fixture *f, int64_t ns)
{
    int64_t until = f->now_ns + ns;

    while (f->now_ns < until && f->s.phase != PHASE_OVER) {
        int64_t at = state_deadline(&f->s);

        f->now_ns += second / 2;
        if (at > f->now_ns - second / 2 && at < f->now_ns)
            f->now_ns = at;
        for (int i = 0; i < NODES; i++)
            if (!f->silent[i])
                state_heard(&f->s, i, f->now_ns);
        state_tick(&f->s, f->now_ns);
        drain(f);
    }
}

/* A node's agent dials in, again or for the first time. */
static inline void comes(struct fixture *f, int agent)
{
    static const char *const name[NODES] = { "a", "b", "c" };

    f->silent[agent] = false;
    state_registered(&f->s, agent, name[agent], f->now_ns);
    drain(f);
    tell(f, agent, EVENT_PROFILE);
}

/* From PLAN as far as this phase, on the nodes that are there. */
static inline void launch(struct fixture *f, enum driver_phase to)
{
    int node[RANKS], n = 0;

    ck_assert_int_eq(f->s.phase, PHASE_PLAN);
    for (int r = 0; r < RANKS; r++)
        if (state_is_usable(&f->s, rank_node[r]))
            node[n++] = rank_node[r];
    ck_assert_int_eq(state_planned(&f->s, n, node, f->now_ns, NULL), 0);
    drain(f);
    if (to > PHASE_PREPARE) {
        tell_parts(f, EVENT_PREPARED);
        tell_parts(f, EVENT_CHECKED);
    }
    for (int r = 0; to > PHASE_START && r < n; r++)
        started(f, r);
    ck_assert_int_eq(f->s.phase, to);
}

static inline void steps(struct fixture *f, int64_t n)
{
    for (int r = 0; r < f->s.n_ranks; r++)
        progress(f, r, 2, n, 0);
}

static inline void arrive(struct fixture *f)
{
    for (int i = 0; i < NODES; i++)
        comes(f, i);
    ck_assert_int_eq(f->s.phase, PHASE_NETWORK);
    state_network_known(&f->s, false, f->now_ns);
    drain(f);
}

static inline void run(struct fixture *f, int restarts)
{
    begin(f, restarts);
    arrive(f);
    launch(f, PHASE_RUN);
    steps(f, 10);
}

/* Nodes that are there confirm the stop, having seen this checkpoint. */
static inline void confirm(struct fixture *f, int64_t checkpoint)
{
    for (int i = 0; i < NODES; i++) {
        struct event e = event(f, EVENT_STOPPED);

        e.step = checkpoint;
        if (f->silent[i] || !f->s.agent[i].part || f->s.phase != PHASE_STOP)
            continue;
        state_event(&f->s, i, &e, f->now_ns);
        drain(f);
    }
}

/* In good order: who is there confirms and goes. */
static inline void wind_up(struct fixture *f)
{
    confirm(f, -1);
    pass(f, 40 * second);
    for (int i = 0; i < NODES; i++) {
        state_ended(&f->s, i, "agent exited 0", f->now_ns);
        drain(f);
    }
    pass(f, 40 * second);
    ck_assert_int_eq(f->s.phase, PHASE_OVER);
}

#define said(f, text) ck_assert_msg(strstr((f)->said, text), "said: %s", (f)->said)

#endif
