/* SPDX-License-Identifier: Apache-2.0 */
/* state_phase.c - the table of phases, and the only function that changes the phase */
#include "state_impl.h"

#include "agents/protocol/timing.h"

/* Time limits of a phase, counted from its start. */
enum limit {
    LIMIT_NONE,
    LIMIT_LAUNCH, /* timeouts.launch */
    LIMIT_STOP,   /* duration of the stop ladder, and time to confirm */
    LIMIT_BYE,    /* end of all leases, and time to confirm */
};

/* Stages of the ranks in a phase. */
enum stage {
    STAGE_NONE,     /* there are no ranks */
    STAGE_LAUNCHED, /* nodes were asked to prepare */
    STAGE_UP,       /* mpirun was ordered */
    STAGE_STOPPING, /* nodes were asked to stop */
};

/* Subjects of a phase. */
enum about {
    ABOUT_NODES,   /* nodes and their plan: no ranks to train are launched */
    ABOUT_NETWORK, /* the choice of a network, with its probes */
    ABOUT_RANKS,   /* a generation that trains, or the job's end */
};

enum { NO_ACTION = -1 };

/* What agents have to do in the phases that wait for agents. */
static const struct state_awaited to_register = { "register",
                                                  offsetof(struct state_agent, registered), false };
static const struct state_awaited to_measure = { "measure its devices",
                                                 offsetof(struct state_agent, profiled), false };
static const struct state_awaited to_prepare = { "prepare the start",
                                                 offsetof(struct state_agent, prepared), true };
static const struct state_awaited to_check = { "check the shared checkpoint folder, or the program",
                                               offsetof(struct state_agent, checked), true };

/* The phases: name, what follows from entering them, time limit, stage of the ranks, subject, and
 * the job's state in status documents.
 */
static const struct phase_row {
    const char *name;
    int action; /* enum action_type, queued when the phase is entered; NO_ACTION: none */
    enum limit limit;
    enum stage stage;
    enum about about;
    enum job_state shown;
    const struct state_awaited *awaited; /* NULL: the phase waits for something other than agents */
} phase_table[STATE_PHASES] = {
    [STATE_PHASE_REGISTER] = { "register", NO_ACTION, LIMIT_LAUNCH, STAGE_NONE, ABOUT_NODES,
                               JOB_STARTING, &to_register },
    [STATE_PHASE_PROFILE] = { "profile", ACTION_PROFILE, LIMIT_LAUNCH, STAGE_NONE, ABOUT_NODES,
                              JOB_PROFILING, &to_measure },
    [STATE_PHASE_NETWORK] = { "network", ACTION_NETWORK, LIMIT_NONE, STAGE_NONE, ABOUT_NETWORK,
                              JOB_PROFILING, NULL },
    [STATE_PHASE_PROBE_PREPARE] = { "probe prepare", ACTION_PREPARE, LIMIT_LAUNCH, STAGE_LAUNCHED,
                                    ABOUT_NETWORK, JOB_PROFILING, &to_prepare },
    [STATE_PHASE_PROBE_START] = { "probe start", ACTION_START, LIMIT_LAUNCH, STAGE_UP,
                                  ABOUT_NETWORK, JOB_PROFILING, NULL },
    [STATE_PHASE_PROBE_RUN] = { "probe run", NO_ACTION, LIMIT_NONE, STAGE_UP, ABOUT_NETWORK,
                                JOB_PROFILING, NULL },
    [STATE_PHASE_PROBE_STOP] = { "probe stop", ACTION_STOP, LIMIT_STOP, STAGE_STOPPING,
                                 ABOUT_NETWORK, JOB_PROFILING, NULL },
    [STATE_PHASE_PLAN] = { "plan", ACTION_PLAN, LIMIT_NONE, STAGE_NONE, ABOUT_NODES, JOB_PLANNING,
                           NULL },
    [STATE_PHASE_PREPARE] = { "prepare", ACTION_PREPARE, LIMIT_LAUNCH, STAGE_LAUNCHED, ABOUT_RANKS,
                              JOB_LAUNCHING, &to_prepare },
    [STATE_PHASE_CHECK] = { "check", ACTION_CHECK, LIMIT_LAUNCH, STAGE_LAUNCHED, ABOUT_RANKS,
                            JOB_LAUNCHING, &to_check },
    [STATE_PHASE_START] = { "start", ACTION_START, LIMIT_LAUNCH, STAGE_UP, ABOUT_RANKS,
                            JOB_LAUNCHING, NULL },
    [STATE_PHASE_RUN] = { "run", NO_ACTION, LIMIT_NONE, STAGE_UP, ABOUT_RANKS, JOB_RUNNING, NULL },
    [STATE_PHASE_STOP] = { "stop", ACTION_STOP, LIMIT_STOP, STAGE_STOPPING, ABOUT_RANKS,
                           JOB_STOPPING, NULL },
    [STATE_PHASE_REGROUP] = { "regroup", NO_ACTION, LIMIT_LAUNCH, STAGE_NONE, ABOUT_RANKS,
                              JOB_LAUNCHING, NULL },
    [STATE_PHASE_BYE] = { "bye", ACTION_BYE, LIMIT_BYE, STAGE_NONE, ABOUT_RANKS, JOB_STOPPING,
                          NULL },
    [STATE_PHASE_OVER] = { "over", NO_ACTION, LIMIT_NONE, STAGE_NONE, ABOUT_RANKS, JOB_ENDED,
                           NULL },
};

/* Return the duration of a time limit; CLOCK_NEVER: no limit.  LIMIT_STOP depends on the present
 * ladder; LIMIT_LAUNCH begins when no node waits for GPUs, which the nodes limit themselves.
 */
static int64_t limit_ns(const struct state *s, enum limit l)
{
    switch (l) {
    case LIMIT_LAUNCH:
        return state_next_for_gpus(s) < 0 ? s->o.launch_ns : CLOCK_NEVER;
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

/* Return the name of a phase, a static string. */
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

bool state_all_up(const struct state *s)
{
    return s->phase == STATE_PHASE_RUN || s->phase == STATE_PHASE_PROBE_RUN;
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
    return phase_table[s->phase].about != ABOUT_RANKS;
}

bool state_is_probe(const struct state *s)
{
    return phase_table[s->phase].about == ABOUT_NETWORK;
}

const struct state_awaited *state_awaited(const struct state *s)
{
    return phase_table[s->phase].awaited;
}
