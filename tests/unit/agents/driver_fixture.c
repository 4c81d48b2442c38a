/* SPDX-License-Identifier: Apache-2.0 */
/* driver_fixture.c - drives the driver's state machine in tests */
#include "driver_fixture.h"

#include <stdio.h>
#include <string.h>

struct state_options job_options(bool remote)
{
    return (struct state_options){
        .n_agents = remote ? 3 : 2,
        .share = remote,
        .launch_ns = 60 * CLOCK_S,
        .lease_ns = 10 * CLOCK_S,
        .node_lost_ns = remote ? 15 * CLOCK_S : 0,
        .hang_ns = remote ? 30 * CLOCK_S : 0,
        .first_step_ns = remote ? 1800 * CLOCK_S : 0,
        .grace_ns = 10 * CLOCK_S,
        .checkpoint_ns = 120 * CLOCK_S,
        .job_ns = remote ? CLOCK_NEVER : 3600 * CLOCK_S,
    };
}

void begin(struct fixture *f, const struct state_options *o)
{
    memset(f, 0, sizeof *f);
    f->now_ns = 1000 * CLOCK_S;
    ck_assert_int_eq(state_init(&f->s, o, f->now_ns, NULL), 0);
    for (int i = 1; o->share && i < o->n_agents; i++)
        f->s.agent[i].remote = true;
}

/* ---- actions ---- */

const char *action_name(enum action_type type)
{
    static const char *const names[ACTIONS] = {
        [ACTION_PROFILE] = "profile",  [ACTION_PLAN] = "plan",
        [ACTION_PREPARE] = "prepare",  [ACTION_START] = "start",
        [ACTION_SIGNAL] = "signal",    [ACTION_CHECKPOINT] = "checkpoint",
        [ACTION_BYE] = "bye",          [ACTION_KILL] = "kill",
        [ACTION_LAST_LINES] = "lines", [ACTION_NETWORK] = "network",
        [ACTION_FORGET] = "forget",    [ACTION_CHECK] = "check",
        [ACTION_REVIVE] = "revive",    [ACTION_RECOVERED] = "recovered",
        [ACTION_MEASURE] = "measure",  [ACTION_LOOK] = "look",
        [ACTION_STOP] = "stop",        [ACTION_SAY] = "say",
    };

    return names[type];
}

/* Append an action to did. */
static void note(struct fixture *f, const struct action *a)
{
    static const char *const ladder[] = { "orderly", "failure", "kill" };
    char operand[sizeof a->text] = "";
    size_t n = strlen(f->did);

    if (a->type == ACTION_MEASURE || a->type == ACTION_REVIVE)
        (void)snprintf(operand, sizeof operand, "%d", a->agent);
    else if (a->type == ACTION_STOP || a->type == ACTION_RECOVERED)
        (void)snprintf(operand, sizeof operand, "%s",
                       a->type == ACTION_STOP ? ladder[a->ladder] : a->text);
    (void)snprintf(f->did + n, sizeof f->did - n, "%s%s%s%s", n ? "; " : "", action_name(a->type),
                   *operand ? " " : "", operand);
}

/* Report from the agents that are there where their ranks stand. */
static void answer_look(struct fixture *f)
{
    for (int r = 0; r < f->s.n_ranks; r++) {
        struct event e = event(f, EVENT_PLACE);

        e.rank = r;
        e.code = f->place[r];
        e.text = f->where[r];
        if (!f->silent[f->s.rank[r].agent] && !f->s.rank[r].exited)
            state_event(&f->s, f->s.rank[r].agent, &e, f->now_ns);
    }
}

void drain(struct fixture *f)
{
    struct action a;

    while (state_action(&f->s, &a)) {
        size_t n = strlen(f->said);

        f->ordered[a.type]++;
        if (a.type == ACTION_SAY)
            (void)snprintf(f->said + n, sizeof f->said - n, "%s\n", a.text);
        else
            note(f, &a);
        if (a.type == ACTION_LOOK)
            answer_look(f);
    }
}

/* ---- events ---- */

struct event event(const struct fixture *f, enum event_type type)
{
    static char none[] = "";

    return (struct event){ .type = type,
                           .generation = f->s.generation,
                           .rank = -1,
                           .step = -1,
                           .text = none,
                           .last_lines = none };
}

void report(struct fixture *f, int agent, const struct event *e)
{
    state_heard(&f->s, agent, f->now_ns);
    state_event(&f->s, agent, e, f->now_ns);
    drain(f);
}

void report_all(struct fixture *f, const struct event *e)
{
    bool parts = e->type != EVENT_PROFILE && e->type != EVENT_UNMEASURED;
    enum state_phase phase = f->s.phase;

    for (int i = 0; i < f->s.o.n_agents && f->s.phase == phase; i++)
        if (!f->silent[i] && state_is_known(&f->s, i) && (f->s.agent[i].part || !parts))
            report(f, i, e);
}

/* Report an event without any operands from all agents that are there. */
static void tell_all(struct fixture *f, enum event_type type)
{
    struct event e = event(f, type);

    report_all(f, &e);
}

void send_page(struct fixture *f, struct progress page)
{
    int64_t n = page.steps_done;

    page.pid = 100 + page.rank;
    page.steps_here = page.steps_only ? 0 : n;
    page.sum.total_ns = page.steps_here * CLOCK_MS;
    state_progress(&f->s, &page, f->now_ns);
    for (int r = 0; r < f->s.n_ranks; r++)
        n = f->s.rank[r].steps < n ? f->s.rank[r].steps : n;
    state_steps(&f->s, n);
    drain(f);
}

/* ---- from phase to phase ---- */

void enroll(struct fixture *f, int agent)
{
    static const char *const name[NODES] = { "a", "b", "c", "d" };

    f->silent[agent] = false;
    state_registered(&f->s, agent, name[agent], f->now_ns);
    drain(f);
}

void start_rank(struct fixture *f, int rank)
{
    struct event e = event(f, EVENT_RANK_STARTED);

    e.rank = rank;
    e.pid = 100 + rank;
    report(f, f->s.rank[rank].agent, &e);
}

void plan(struct fixture *f)
{
    static const int local[RANKS] = { 0, 0, 1, 1, NODES }, remote[RANKS] = { 0, 0, 1, 2, 2 };
    int node[RANKS], n = 0;

    for (int r = 0; r < RANKS; r++) {
        int i = f->s.o.share ? remote[r] : local[r];

        if (i < f->s.o.n_agents && state_is_usable(&f->s, i))
            node[n++] = i;
    }
    ck_assert_int_eq(state_planned(&f->s, n, node, f->now_ns, NULL), 0);
}

/* Let happen what the present phase waits for. */
static void answer_phase(struct fixture *f)
{
    switch (f->s.phase) {
    case STATE_PHASE_REGISTER:
        for (int i = 0; i < f->s.o.n_agents; i++)
            enroll(f, i);
        break;
    case STATE_PHASE_PROFILE:
        tell_all(f, EVENT_PROFILE);
        break;
    case STATE_PHASE_NETWORK:
        state_network_known(&f->s, f->cached, f->now_ns);
        break;
    case STATE_PHASE_PLAN:
        plan(f);
        break;
    case STATE_PHASE_PROBE_PREPARE:
    case STATE_PHASE_PREPARE:
        tell_all(f, EVENT_PREPARED);
        break;
    case STATE_PHASE_CHECK:
        tell_all(f, EVENT_CHECKED);
        break;
    default:
        for (int r = 0; r < f->s.n_ranks; r++)
            start_rank(f, r);
        break;
    }
    drain(f);
}

bool go_to(struct fixture *f, enum state_phase to)
{
    while (f->s.phase != to) {
        enum state_phase from = f->s.phase;

        answer_phase(f);
        if (f->s.phase == from)
            return false;
    }
    return true;
}

/* ---- time ---- */

void pass(struct fixture *f, int64_t ns)
{
    int64_t until = f->now_ns + ns;

    while (f->now_ns < until && f->s.phase != STATE_PHASE_OVER) {
        int64_t at = state_deadline(&f->s), before = f->now_ns;

        f->now_ns = until < before + CLOCK_S / 2 ? until : before + CLOCK_S / 2;
        if (at > before && at < f->now_ns)
            f->now_ns = at;
        for (int i = 0; i < f->s.o.n_agents; i++)
            if (!f->silent[i])
                state_heard(&f->s, i, f->now_ns);
        state_tick(&f->s, f->now_ns);
        drain(f);
    }
}

bool leave(struct fixture *f)
{
    for (int i = 0; i < 80 && state_is_stopping(&f->s); i++) {
        tell_all(f, EVENT_STOPPED);
        pass(f, CLOCK_S / 2);
    }
    for (int i = 0; i < f->s.o.n_agents && f->s.phase == STATE_PHASE_BYE; i++) {
        if (!f->silent[i])
            state_ended(&f->s, i, "agent exited 0", f->now_ns);
        drain(f);
    }
    pass(f, 40 * CLOCK_S);
    return f->s.phase == STATE_PHASE_OVER && f->s.reason;
}
