/* SPDX-License-Identifier: Apache-2.0 */
/* driver_run.h - a job of three nodes and five ranks in the driver's fixture, for its tests
 *
 * The first node is this machine, the others are reached by ssh.
 */
#ifndef EDDIS_TESTS_DRIVER_RUN_H
#define EDDIS_TESTS_DRIVER_RUN_H

#include "driver_fixture.h"

static const int rank_node[RANKS] = { 0, 0, 1, 2, 2 };

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
        .first_step_ns = 1800 * second,
        .grace_ns = 10 * second,
        .checkpoint_ns = 120 * second,
        .job_ns = CLOCK_NEVER,
    };

    begin_with(f, &o);
    for (int i = 1; i < NODES; i++)
        f->s.agent[i].remote = true;
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

static inline void report_parts(struct fixture *f, enum event_type type)
{
    for (int i = 0; i < NODES; i++)
        if (f->s.agent[i].part)
            tell(f, i, type);
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

/* Time passes, and whoever is not silent is heard every half second. */
static inline void pass(struct fixture *f, int64_t ns)
{
    int64_t until = f->now_ns + ns;

    while (f->now_ns < until && f->s.phase != STATE_PHASE_OVER) {
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

/* Of the probe, too. */
static inline bool is_stopping(const struct state *s)
{
    return s->phase == STATE_PHASE_STOP || s->phase == STATE_PHASE_PROBE_STOP;
}

/* From PLAN as far as this phase, on the nodes that are there. */
static inline void launch(struct fixture *f, enum state_phase to)
{
    int node[RANKS], n = 0;

    ck_assert_int_eq(f->s.phase, STATE_PHASE_PLAN);
    for (int r = 0; r < RANKS; r++)
        if (state_is_usable(&f->s, rank_node[r]))
            node[n++] = rank_node[r];
    ck_assert_int_eq(state_planned(&f->s, n, node, f->now_ns, NULL), 0);
    drain(f);
    if (to > STATE_PHASE_PREPARE) {
        report_parts(f, EVENT_PREPARED);
        report_parts(f, EVENT_CHECKED);
    }
    for (int r = 0; to > STATE_PHASE_START && r < n; r++)
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
    ck_assert_int_eq(f->s.phase, STATE_PHASE_NETWORK);
    state_network_known(&f->s, false, f->now_ns);
    drain(f);
}

static inline void run(struct fixture *f, int restarts)
{
    begin(f, restarts);
    arrive(f);
    launch(f, STATE_PHASE_RUN);
    steps(f, 10);
}

/* Nodes that are there confirm the stop, having seen this checkpoint. */
static inline void confirm(struct fixture *f, int64_t checkpoint)
{
    for (int i = 0; i < NODES; i++) {
        struct event e = event(f, EVENT_STOPPED);

        e.step = checkpoint;
        if (f->silent[i] || !f->s.agent[i].part || !is_stopping(&f->s))
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
    ck_assert_int_eq(f->s.phase, STATE_PHASE_OVER);
}

#endif
