/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_walk.c - what holds in the driver's state machine whatever happens in whatever order
 */
#include "driver_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { REMOTE_WALKS = 400, LOCAL_WALKS = 300 };

/* A caller that takes no action for long loses none. */
START_TEST(many_actions)
{
    const struct state_options o = job_options(false);
    struct fixture f;
    struct action a;
    int n = 0;

    begin(&f, &o);
    ck_assert(go_to(&f, STATE_PHASE_RUN));
    for (int i = 0; i < 1000; i++) {
        struct event e = event(&f, EVENT_NOTE);
        char text[32];

        (void)snprintf(text, sizeof text, "note %d.", i);
        e.text = text;
        state_event(&f.s, 0, &e, f.now_ns);
    }
    for (; state_action(&f.s, &a); n++) {
        char text[32];

        (void)snprintf(text, sizeof text, "note %d.", n);
        ck_assert(a.type == ACTION_SAY && strstr(a.text, text));
    }
    ck_assert_int_eq(n, 1000);
    ck_assert(!state_lost_action(&f.s));
    state_fini(&f.s);
}
END_TEST

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed >> 11;
}

/* Answer what the machine asks for, or let it be refused; a local job comes farther. */
static void answer(struct fixture *f, uint64_t *seed)
{
    bool remote = f->s.o.share, none = state_count_usable(&f->s) == 0;

    if (f->s.phase == STATE_PHASE_NETWORK && remote && next(seed) % 3)
        ck_assert_int_eq(state_network_try(&f->s, f->now_ns, NULL), 0);
    else if (f->s.phase == STATE_PHASE_NETWORK)
        state_network_known(&f->s, next(seed) % 2, f->now_ns);
    else if (f->s.phase == STATE_PHASE_PLAN && (none || (remote && next(seed) % 16 == 0)))
        state_unplannable(&f->s, "it cannot be", f->now_ns);
    else if (f->s.phase == STATE_PHASE_PLAN)
        plan(f);
}

/* Report any event; of a local job one of the first few. */
static void random_event(struct fixture *f, uint64_t *seed, int agent)
{
    int types = f->s.o.share ? EVENT_LEFT + 1 : EVENT_RELAY + 1;
    struct event e = event(f, (enum event_type)(next(seed) % (unsigned)types));

    e.generation = f->s.generation - (next(seed) % 8 == 0);
    e.rank = (int)(next(seed) % (RANKS + 2)) - 1;
    e.code = next(seed) % 4 ? 0 : (int)(next(seed) % 4);
    e.signal = next(seed) % 12 ? 0 : 9;
    e.by_us = next(seed) % 4 == 0;
    e.age_ns = (int64_t)(next(seed) % 2) * CLOCK_S;
    e.step = (int64_t)(next(seed) % 100) - 1;
    if (state_is_known(&f->s, agent))
        state_event(&f->s, agent, &e, f->now_ns);
}

static void random_page(struct fixture *f, uint64_t *seed)
{
    struct progress page = { .rank = (int)(next(seed) % (unsigned)f->s.n_ranks),
                             .phase = (int)(next(seed) % 7),
                             .waits_for = -1,
                             .steps_done = (int64_t)(next(seed) % 50) };

    page.page_age_ns = page.phase_age_ns = (int64_t)(next(seed) % 40) * CLOCK_S;
    send_page(f, page);
}

static void random_move(struct fixture *f, uint64_t *seed)
{
    int agent = (int)(next(seed) % (unsigned)f->s.o.n_agents), what = (int)(next(seed) % 40);

    if (f->s.agent[agent].ended && !f->s.agent[agent].starting)
        return; /* nothing comes from there */
    if (what < 6)
        state_registered(&f->s, agent, "n", f->now_ns);
    else if (what < 26)
        random_event(f, seed, agent);
    else if (what < 30 && f->s.n_ranks)
        random_page(f, seed);
    else if (what == 30 && next(seed) % 16 == 0)
        state_signal(&f->s, next(seed) % 2 ? SIGINT : SIGTERM, f->now_ns);
    else if (what == 31 && (f->s.o.share || next(seed) % 8 == 0)) /* few local jobs end by it */
        state_ended(&f->s, agent, "agent exited 1", f->now_ns);
    else if (what == 32 && f->s.o.share)
        state_not_started(&f->s, agent, "n: no such host", f->now_ns);
    else
        state_heard(&f->s, agent, f->now_ns);
}

/* What must hold between two looks. */
static void check_step(const struct fixture *f, const struct state *before,
                       const struct state_agent *was)
{
    bool left_stop = state_is_stopping(before) && !state_is_stopping(&f->s);

    ck_assert_int_le(f->s.restarts, f->s.o.restarts);
    ck_assert(f->s.restarts == before->restarts || f->s.restarts == 0 ||
              (f->s.restarts == before->restarts + 1 && f->s.generation == before->generation + 1));
    ck_assert(f->s.generation >= before->generation || f->s.generation == 0);
    ck_assert(!(f->s.generation == 0 && before->generation > 1));
    for (int i = 0; left_stop && i < f->s.o.n_agents; i++)
        ck_assert_msg(!was[i].part || f->s.agent[i].stopped || was[i].stopped ||
                          f->s.agent[i].lost || was[i].lost || f->s.agent[i].ended ||
                          was[i].ended || f->s.agent[i].starting,
                      "node %d had not confirmed: %s", i, f->said);
}

/* Move at random, or have the machine answered and its deadlines handled, and check what holds. */
static void walk(struct fixture *f, uint64_t *seed, bool move)
{
    struct state_agent was[NODES];
    struct state before = f->s;

    memcpy(was, f->s.agent, (size_t)f->s.o.n_agents * sizeof *was);
    if (move) {
        random_move(f, seed);
    } else {
        answer(f, seed);
        drain(f);
        state_tick(&f->s, f->now_ns);
    }
    drain(f);
    check_step(f, &before, was);
}

/* Silence ends everything, within bounds. */
static void fall_silent(struct fixture *f)
{
    while (f->s.phase != STATE_PHASE_OVER) {
        int64_t at = state_deadline(&f->s);

        ck_assert_int_lt(at, CLOCK_NEVER);
        f->now_ns = at > f->now_ns ? at : f->now_ns;
        state_tick(&f->s, f->now_ns);
        drain(f);
        ck_assert_int_lt(f->now_ns, 1000000 * CLOCK_S);
    }
}

/* Whatever is said in whatever order: the job ends with a reason, and with 0 only when every rank
 * said 0.
 */
static void check_end(const struct fixture *f)
{
    bool all_zero = f->s.n_ranks > 0;

    for (int r = 0; r < f->s.n_ranks; r++)
        all_zero = all_zero && f->s.rank[r].exited && f->s.rank[r].code == 0;
    ck_assert_ptr_nonnull(f->s.reason);
    ck_assert_int_ge(f->s.exit_code, 0);
    ck_assert(f->s.exit_code != 0 || all_zero);
    if ((f->s.outcome == STATE_OUTCOME_FAILED || f->s.outcome == STATE_OUTCOME_UNWANTED) &&
        f->s.failure.set && f->s.failure.rank >= 0)
        ck_assert_int_eq(f->s.exit_code, f->s.failure.exit_code);
}

START_TEST(any_order)
{
    uint64_t seed = UINT64_C(88172645463325252) + (uint64_t)_i * UINT64_C(2654435761);
    bool remote = _i < REMOTE_WALKS;
    struct state_options o = job_options(remote);
    struct fixture f;

    o.restarts = remote ? (int64_t)(next(&seed) % 4) : 0;
    begin(&f, &o);
    for (int i = 0; remote && i < o.n_agents; i++)
        f.s.agent[i].remote = next(&seed) % 2;
    for (int k = 0; k < (remote ? 3000 : 400) && f.s.phase != STATE_PHASE_OVER; k++) {
        f.now_ns += (int64_t)(next(&seed) % 3) * CLOCK_S / (remote ? 4 : 1);
        walk(&f, &seed, true);
        walk(&f, &seed, false);
        f.did[0] = f.said[0] = '\0';
    }
    if (!state_is_ending(&f.s) && remote)
        state_signal(&f.s, SIGINT, f.now_ns);
    drain(&f);
    fall_silent(&f);
    check_end(&f);
    state_fini(&f.s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, many_actions);
    tcase_add_loop_test(tc, any_order, 0, REMOTE_WALKS + LOCAL_WALKS);
}

SUITE_MAIN("driver_walk", add_tests)
