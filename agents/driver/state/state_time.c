/* SPDX-License-Identifier: Apache-2.0 */
/* state_time.c - deadlines of the state machine, and the inputs that they cause */
#include "state_input.h"

/* Check whether the present phase has a handler for an input from the clock. */
static bool takes(const struct state *s, enum input_type type)
{
    return state_cell(type, s->phase) == CELL_HANDLER;
}

/* ---- deadlines of nodes ---- */

/* Return when an agent counts as lost if no request of it comes until then.  Return CLOCK_NEVER if
 * the agent has not registered, is lost or has ended, or if the phase does not handle silence.
 * Time in which the driver itself was stopped does not count.
 */
static int64_t silent_ns(const struct state *s, int agent)
{
    const struct state_agent *a = &s->agent[agent];

    if (!takes(s, INPUT_SILENT) || !a->registered || a->lost || a->ended)
        return CLOCK_NEVER;
    return clock_after_ns(a->heard_ns > s->paused_ns ? a->heard_ns : s->paused_ns,
                          state_silence_ns(s));
}

/* Return the time from which an agent may be started again; CLOCK_NEVER: it may not, or need not.
 * A local agent that is only silent may still run: its supervisor ends it first.
 */
static int64_t revive_ns(const struct state *s, int agent)
{
    const struct state_agent *a = &s->agent[agent];
    bool gone = a->ended || (a->lost && a->remote);

    if (!takes(s, INPUT_REVIVE) || state_is_ending(s) || s->gone[0] || a->starting || !gone)
        return CLOCK_NEVER;
    return a->revive_ns;
}

/* Handle, as an input of this type, the first agent whose deadline at_ns(s, agent) has passed.
 * Handle only one agent a call, because the queue of actions is short; deadlines of other agents
 * that have passed too make the caller call again immediately.
 */
static void first_due(struct state *s, enum input_type type,
                      int64_t (*at_ns)(const struct state *s, int agent), int64_t now_ns)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if (now_ns >= at_ns(s, i)) {
            state_take(s, &(struct state_input){ .type = type, .agent = i, .now_ns = now_ns });
            return;
        }
}

/* ---- deadlines of the job ---- */

/* Inputs from the clock that concern the whole job. */
static const enum input_type timers[] = {
    INPUT_LATE,    INPUT_PROBE_LATE,      INPUT_REGROUPED,
    INPUT_SETTLED, INPUT_CHECKPOINT_LATE, INPUT_JOB_LATE,
};

/* Return the deadline of an input of timers; CLOCK_NEVER: the present phase does not handle the
 * input, or no such deadline is set.
 */
static int64_t timer_ns(const struct state *s, enum input_type type)
{
    if (!takes(s, type))
        return CLOCK_NEVER;
    switch (type) {
    case INPUT_LATE:
        return s->deadline_ns;
    case INPUT_PROBE_LATE:
        return s->probe_ns;
    case INPUT_REGROUPED:
        return s->again_ns ? s->again_ns : s->regroup_ns;
    case INPUT_SETTLED:
        return s->settle_ns ? s->settle_ns : CLOCK_NEVER;
    case INPUT_CHECKPOINT_LATE:
        return s->outcome == STATE_OUTCOME_SAVING ? s->preempt_ns : CLOCK_NEVER;
    case INPUT_JOB_LATE:
        return s->outcome == STATE_OUTCOME_SAVING || state_is_ending(s)
                   ? CLOCK_NEVER
                   : clock_after_ns(s->begun_ns, s->o.job_ns);
    default:
        return CLOCK_NEVER;
    }
}

void state_node_down(struct state *s, int agent, int64_t now_ns)
{
    if (silent_ns(s, agent) != CLOCK_NEVER)
        state_take(s, &(struct state_input){
                          .type = INPUT_SILENT, .agent = agent, .text = "down", .now_ns = now_ns });
}

/* Move a time ns later.  A time of 0 or less is unset and is left so. */
static void later(int64_t *at_ns, int64_t ns)
{
    if (*at_ns > 0)
        *at_ns = clock_after_ns(*at_ns, ns);
}

void state_put_off(struct state *s, int64_t ns)
{
    int64_t *times[] = { &s->begun_ns,   &s->started_ns, &s->alive_ns,      &s->deadline_ns,
                         &s->look_ns,    &s->settle_ns,  &s->preempt_ns,    &s->asked_ns,
                         &s->stop_ns,    &s->probe_ns,   &s->regroup_ns,    &s->again_ns,
                         &s->counted_ns, &s->mpirun_ns,  &s->failure.at_ns, &s->before.at_ns,
                         &s->gpus_ns };

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (*times[i] != CLOCK_NEVER)
            later(times[i], ns);
    for (int i = 0; i < s->o.n_agents; i++)
        later(&s->agent[i].revive_ns, ns);
    for (int r = 0; r < s->n_ranks; r++) {
        later(&s->rank[r].quiet_ns, ns);
        later(&s->rank[r].moved_ns, ns);
        later(&s->rank[r].ended_ns, ns);
        later(&s->rank[r].page_ns, ns);
    }
}

void state_tick(struct state *s, int64_t now_ns)
{
    state_forget_failures(s, now_ns);
    first_due(s, INPUT_SILENT, silent_ns, now_ns);
    state_take(s, &(struct state_input){ .type = INPUT_LOOK_FOR_HANG, .now_ns = now_ns });
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
        if (now_ns >= timer_ns(s, timers[i]))
            state_take(s, &(struct state_input){ .type = timers[i], .now_ns = now_ns });
    first_due(s, INPUT_REVIVE, revive_ns, now_ns);
}

/* Set *at to the other time if that is earlier. */
static void sooner(int64_t *at, int64_t other)
{
    if (other < *at)
        *at = other;
}

int64_t state_deadline(const struct state *s)
{
    int64_t at = CLOCK_NEVER;

    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
        sooner(&at, timer_ns(s, timers[i]));
    for (int i = 0; i < s->o.n_agents; i++) {
        sooner(&at, silent_ns(s, i));
        sooner(&at, revive_ns(s, i));
    }
    return at;
}
