/* SPDX-License-Identifier: Apache-2.0 */
/* driver_four.h - a job of two nodes and four ranks in the driver's fixture, for its tests
 *
 * Both nodes are this machine, and nothing is started again.
 */
#ifndef EDDIS_TESTS_DRIVER_FOUR_H
#define EDDIS_TESTS_DRIVER_FOUR_H

#include "driver_fixture.h"

static inline void begin_here(struct fixture *f, int n_agents)
{
    const struct state_options o = {
        .n_agents = n_agents,
        .launch_ns = 60 * second,
        .lease_ns = 10 * second,
        .grace_ns = 10 * second,
        .checkpoint_ns = 120 * second,
        .job_ns = 3600 * second,
    };

    begin_with(f, &o);
}

static inline struct event event_why(struct fixture *f, enum event_type type)
{
    struct event e = event(f, type);

    e.generation = 1;
    e.step = 0;
    e.text = (char *)(uintptr_t) "why";
    return e;
}

static inline void report_why(struct fixture *f, int agent, enum event_type type)
{
    struct event e = event_why(f, type);

    state_event(&f->s, agent, &e, f->now_ns);
}

static inline void exited_before(struct fixture *f, int rank, int code, int sig, int64_t age_ns,
                                 bool by_us)
{
    struct event e = event_why(f, EVENT_RANK_EXIT);

    e.rank = rank;
    e.pid = 100 + rank;
    e.code = sig ? -1 : code;
    e.signal = sig;
    e.age_ns = age_ns;
    e.by_us = by_us;
    state_event(&f->s, f->s.rank[rank].agent, &e, f->now_ns);
}

/* Two nodes with two ranks each, all up. */
static inline void run_four(struct fixture *f)
{
    static const int node[] = { 0, 0, 1, 1 };

    begin_here(f, 2);
    state_registered(&f->s, 0, "a", f->now_ns);
    did(f, "");
    state_registered(&f->s, 1, "b", f->now_ns);
    did(f, "profile;");
    report_why(f, 1, EVENT_PROFILE);
    did(f, "");
    report_why(f, 0, EVENT_PROFILE);
    did(f, "network;");
    state_network_known(&f->s, false, f->now_ns);
    did(f, "plan;");
    ck_assert_int_eq(state_planned(&f->s, 4, node, f->now_ns, NULL), 0);
    did(f, "prepare;");
    report_why(f, 0, EVENT_PREPARED);
    report_why(f, 1, EVENT_PREPARED);
    did(f, "start;");
    for (int r = 0; r < 4; r++)
        started(f, r);
    ck_assert_int_eq(f->s.phase, STATE_PHASE_RUN);
    did(f, "");
}

/* Everybody confirms and goes. */
static inline void end_two(struct fixture *f)
{
    report_why(f, 0, EVENT_STOPPED);
    ck_assert_int_eq(f->s.phase, STATE_PHASE_STOP);
    report_why(f, 1, EVENT_STOPPED);
    did(f, "bye;");
    state_ended(&f->s, 0, "exited 0", f->now_ns);
    ck_assert_int_eq(f->s.phase, STATE_PHASE_BYE);
    state_ended(&f->s, 1, "exited 0", f->now_ns);
    ck_assert_int_eq(f->s.phase, STATE_PHASE_OVER);
}

#define ended(f, why, code)                                                                        \
    do {                                                                                           \
        ck_assert_str_eq((f)->s.reason, why);                                                      \
        ck_assert_int_eq((f)->s.exit_code, code);                                                  \
    } while (0)

#endif
