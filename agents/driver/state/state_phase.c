/* SPDX-License-Identifier: Apache-2.0 */
/* state_phase.c - the table of phases, and the one function that changes the phase */
#include "state_impl.h"

#include "agents/protocol/timing.h"

/* Until when a phase may last, from when it is entered. */
enum limit {
    LIMIT_NONE,
    LIMIT_LAUNCH, /* timeouts.launch */
    LIMIT_STOP,   /* the ladder, and time to confirm */
    LIMIT_BYE,    /* the lease, and time to confirm */
};

/* How far the ranks of a generation may be. */
enum stage {
    STAGE_NONE,     /* nothing of one is there */
    STAGE_LAUNCHED, /* nodes were asked to prepare, */
    STAGE_UP,       /* mpirun was ordered, */
    STAGE_STOPPING, /* they were asked to stop */
};

enum { NO_ACTION = -1 };

static const struct phase_row {
    const char *name;
    int action; /* enum action_type: pushed when it is entered; NO_ACTION */
    enum limit limit;
    enum stage stage;
    bool probe; /* it is about the network, not about a generation that trains */
    bool early; /* no part of a training generation was launched since the last one */
    enum job_state shown;
    /* What an agent has to do, "took longer than 60 s to ...", the bool of struct state_agent that
     * says it has, and whether only parts have to; NULL: others than agents are waited for.
     */
    const char *awaited;
    size_t member;
    bool parts;
} phase_table[STATE_PHASES] = {
    [STATE_PHASE_REGISTER] = { "register", NO_ACTION, LIMIT_LAUNCH, STAGE_NONE, false, true,
                               JOB_STARTING, "register", offsetof(struct state_agent, registered),
                               false },
    [STATE_PHASE_PROFILE] = { "profile", ACTION_PROFILE, LIMIT_LAUNCH, STAGE_NONE, false, true,
                              JOB_PROFILING, "measure its devices",
                              offsetof(struct state_agent, profiled), false },
    [STATE_PHASE_NETWORK] = { "network", ACTION_NETWORK, LIMIT_NONE, STAGE_NONE, true, true,
                              JOB_PROFILING, NULL, 0, false },
    [STATE_PHASE_PROBE_PREPARE] = { "probe prepare", ACTION_PREPARE, LIMIT_LAUNCH, STAGE_LAUNCHED,
                                    true, true, JOB_PROFILING, "prepare the start",
                                    offsetof(struct state_agent, prepared), true },
    [STATE_PHASE_PROBE_START] = { "probe start", ACTION_START, LIMIT_LAUNCH, STAGE_UP, true, true,
                                  JOB_PROFILING, NULL, 0, false },
    [STATE_PHASE_PROBE_RUN] = { "probe run", NO_ACTION, LIMIT_NONE, STAGE_UP, true, true,
                                JOB_PROFILING, NULL, 0, false },
    [STATE_PHASE_PROBE_STOP] = { "probe stop", ACTION_STOP, LIMIT_STOP, STAGE_STOPPING, true, true,
                                 JOB_PROFILING, NULL, 0, false },
    [STATE_PHASE_PLAN] = { "plan", ACTION_PLAN, LIMIT_NONE, STAGE_NONE, false, true, JOB_PLANNING,
                           NULL, 0, false },
    [STATE_PHASE_PREPARE] = { "prepare", ACTION_PREPARE, LIMIT_LAUNCH, STAGE_LAUNCHED, false, false,
                              JOB_LAUNCHING, "prepare the start",
                              offsetof(struct state_agent, prepared), true },
    [STATE_PHASE_CHECK] = { "check", ACTION_CHECK, LIMIT_LAUNCH, STAGE_LAUNCHED, false, false,
                            JOB_LAUNCHING, "look for what all nodes share",
                            offsetof(struct state_agent, checked), true },
    [STATE_PHASE_START] = { "start", ACTION_START, LIMIT_LAUNCH, STAGE_UP, false, false,
                            JOB_LAUNCHING, NULL, 0, false },
    [STATE_PHASE_RUN] = { "run", NO_ACTION, LIMIT_NONE, STAGE_UP, false, false, JOB_RUNNING, NULL,
                          0, false },
    [STATE_PHASE_STOP] = { "stop", ACTION_STOP, LIMIT_STOP, STAGE_STOPPING, false, false,
                           JOB_STOPPING, NULL, 0, false },
    [STATE_PHASE_REGROUP] = { "regroup", NO_ACTION, LIMIT_LAUNCH, STAGE_NONE, false, false,
                              JOB_LAUNCHING, NULL, 0, false },
    [STATE_PHASE_BYE] = { "bye", ACTION_BYE, LIMIT_BYE, STAGE_NONE, false, false, JOB_STOPPING,
                          NULL, 0, false },
    [STATE_PHASE_OVER] = { "over", NO_ACTION, LIMIT_NONE, STAGE_NONE, false, false, JOB_ENDED, NULL,
                           0, false },
};

static int64_t limit_ns(const struct state *s, enum limit l)
{
    switch (l) {
    case LIMIT_LAUNCH:
        return s->o.launch_ns;
    case LIMIT_STOP:
        return clock_after_ns(LADDER_S * CLOCK_S + CONFIRM_S * CLOCK_S,
                              s->ladder == STOP_ORDERLY ? s->o.grace_ns : 0);
    case LIMIT_BYE:
        return timing_all_over_ns(s->o.lease_ns, CONFIRM_S * CLOCK_S);
    case LIMIT_NONE:
        break;
    }
    return CLOCK_NEVER;
}

void state_extend(struct state *s, int64_t from_ns)
{
    s->deadline_ns = clock_after_ns(from_ns, limit_ns(s, phase_table[s->phase].limit));
}

void state_go(struct state *s, enum state_phase to, int64_t now_ns)
{
    const struct phase_row *r = &phase_table[to];

    s->phase = to;
    state_extend(s, now_ns);
    if (r->action != NO_ACTION)
        state_push(s, (enum action_type)r->action)->ladder =
            r->stage == STAGE_STOPPING ? s->ladder : STOP_ORDERLY;
}

const char *state_phase_name(enum state_phase p)
{
    return phase_table[p].name;
}

enum job_state state_shown(const struct state *s)
{
    return phase_table[s->phase].shown;
}

bool state_is_ending(const struct state *s)
{
    return s->outcome != STATE_OUTCOME_OPEN && s->outcome != STATE_OUTCOME_SAVING;
}

bool state_is_launched(const struct state *s)
{
    return phase_table[s->phase].stage != STAGE_NONE;
}

bool state_is_up(const struct state *s)
{
    return phase_table[s->phase].stage == STAGE_UP;
}

bool state_is_stopping(const struct state *s)
{
    return phase_table[s->phase].stage == STAGE_STOPPING;
}

bool state_has_workers(const struct state *s)
{
    return !state_is_probe(s) && (state_is_up(s) || state_is_stopping(s));
}

bool state_is_early(const struct state *s)
{
    return phase_table[s->phase].early;
}

bool state_is_probe(const struct state *s)
{
    return phase_table[s->phase].probe;
}

const char *state_awaited(const struct state *s, size_t *ret_member, bool *ret_parts)
{
    const struct phase_row *r = &phase_table[s->phase];

    *ret_member = r->member;
    *ret_parts = r->parts;
    return r->awaited;
}
