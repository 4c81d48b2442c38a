/* SPDX-License-Identifier: Apache-2.0 */
/* state_agent.c - nodes: which have registered, which are lost, and which are started again
 *
 *     starting -> registered -> profiled (usable) -> part of a generation -> ended
 *         ^                          |
 *         +------- ended, or lost ---+
 */
#include "state_input.h"

#include "agents/protocol/timing.h"

#include <stdio.h>
#include <string.h>

/* ---- registered ---- */

/* Record that an agent has registered, and return true.  Return false, with nothing changed, if it
 * had registered before: it repeats the request because the answer was lost.
 */
static bool came(struct state *s, const struct state_input *in)
{
    struct state_agent *a = &s->agent[in->agent];

    if (a->registered)
        return false;
    a->registered = true;
    a->starting = a->lost = false;
    a->measuring = STATE_MEASURES_LOOKS;
    a->heard_ns = in->now_ns;
    (void)snprintf(a->host, sizeof a->host, "%s", in->text);
    return true;
}

/* Record an agent's first registration.  After that of the last agent enter PROFILE. */
void state_agent_registered(struct state *s, const struct state_input *in)
{
    if (!came(s, in) ||
        state_first_without(s, offsetof(struct state_agent, registered), false) >= 0)
        return;
    s->gpus_ns = clock_after_ns(in->now_ns, s->o.gpus_ns);
    state_go(s, STATE_PHASE_PROFILE, in->now_ns);
}

/* Record that a node has locked its GPUs, and order the next node to profile, which locks its own.
 */
void state_agent_has_gpus(struct state *s, const struct state_input *in)
{
    int next;

    if (s->agent[in->agent].has_gpus)
        return;
    s->agent[in->agent].has_gpus = true;
    next = state_next_for_gpus(s);
    if (next >= 0 && !state_is_ending(s))
        state_push(s, ACTION_PROFILE)->agent = next;
    state_extend(s, in->now_ns);
}

/* Record the registration of an agent in a later phase, and order it to report its profile. */
void state_agent_is_back(struct state *s, const struct state_input *in)
{
    if (came(s, in))
        state_push(s, ACTION_PROFILE)->agent = in->agent;
}

/* Record the registration of an agent while all leave; nothing is ordered. */
void state_agent_is_late(struct state *s, const struct state_input *in)
{
    (void)came(s, in);
}

/* ---- measured ---- */

/* Check whether two agents are the same or known to run on one machine. */
static bool share_machine(const struct state_agent *a, const struct state_agent *b)
{
    return a == b || (a->machine[0] && strcmp(a->machine, b->machine) == 0);
}

/* Return the first agent on a's machine that waits for its time slot to measure, or, if waiting is
 * false, that reports its profile or measures, borrowed from s; NULL: none.
 */
static struct state_agent *first_of_machine(const struct state *s, const struct state_agent *a,
                                            bool waiting)
{
    for (int i = 0; i < s->o.n_agents; i++) {
        struct state_agent *b = &s->agent[i];

        if (b->measuring != STATE_MEASURES_NOTHING && !b->lost && !b->ended &&
            (b->measuring == STATE_MEASURES_WAITS) == waiting && share_machine(a, b))
            return b;
    }
    return NULL;
}

/* Order the next agent on this agent's machine that waits to measure, unless another agent there
 * still reports or measures.  Agents of one machine would slow each other, so they measure one
 * after another, once all stored profiles are in.  Each gets the full time limit of PROFILE.
 */
static void next_turn(struct state *s, int agent, int64_t now_ns)
{
    const struct state_agent *a = &s->agent[agent];
    struct state_agent *next = first_of_machine(s, a, true);

    if (!next || first_of_machine(s, a, false) || state_is_ending(s))
        return;
    next->measuring = STATE_MEASURES;
    state_push(s, ACTION_MEASURE)->agent = (int)(next - s->agent);
    if (s->phase == STATE_PHASE_PROFILE)
        state_extend(s, now_ns);
}

/* Record that an agent neither reports its profile nor measures any more, and let the next agent of
 * its machine measure.
 */
static void turn_over(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].measuring = STATE_MEASURES_NOTHING;
    next_turn(s, in->agent, in->now_ns);
}

/* Queue an agent without a stored profile for its time slot to measure. */
void state_agent_wants_turn(struct state *s, const struct state_input *in)
{
    struct state_agent *a = &s->agent[in->agent];

    if (a->measuring != STATE_MEASURES_LOOKS)
        return;
    a->measuring = STATE_MEASURES_WAITS;
    next_turn(s, in->agent, in->now_ns);
}

/* Record that an agent's profile is complete, and let the next agent of its machine measure.  In a
 * later phase than PROFILE it is usable for the next generation.
 */
void state_agent_measured_late(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].profiled = true;
    turn_over(s, in);
}

/* Record an agent's profile in PROFILE, and choose a network after the last one. */
void state_agent_measured(struct state *s, const struct state_input *in)
{
    state_agent_measured_late(s, in);
    if (state_first_without(s, offsetof(struct state_agent, profiled), false) < 0)
        state_begin_network(s, in->now_ns);
}

/* Record an agent's profile in REGROUP, and continue if no other agent is worth waiting for. */
void state_agent_regrouped(struct state *s, const struct state_input *in)
{
    state_agent_measured_late(s, in);
    state_regroup(s, in->now_ns);
}

/* Report that a returned agent cannot be measured: the job continues without it. */
void state_agent_measure_failed(struct state *s, const struct state_input *in)
{
    state_say(s, "node %s: %.380s", state_host(s, in->agent), in->event->text);
    turn_over(s, in);
}

/* Print an agent's note for people. */
void state_agent_note(struct state *s, const struct state_input *in)
{
    state_say(s, "node %s: %.380s", state_host(s, in->agent), in->event->text);
}

/* ---- lost ---- */

/* Handle the loss of a node that was last alive at at_ns.  It is a failure with sentence text if
 * the node is part of a launched generation or probe, or the first generation is not planned yet;
 * else only print text, or nothing if the job ends.
 */
static void gone(struct state *s, int agent, int64_t at_ns, const char *text, int64_t now_ns)
{
    bool launch_orders = s->generation <= 1 && state_is_early(s);

    if (!launch_orders && !(state_is_launched(s) && s->agent[agent].part)) {
        if (!state_is_ending(s))
            state_say(s, "%s", text);
        return;
    }
    state_trouble(s,
                  &(struct state_trouble){ .cause = CAUSE_NODE,
                                           .reason = "node_lost",
                                           .exit_code = launch_orders ? EXIT_START : EXIT_FAULT,
                                           .agent = agent,
                                           .at_ns = at_ns,
                                           .text = text },
                  now_ns);
}

/* Mark a silent agent as lost, and handle the loss of its node. in->text NULL: its lease has
 * expired; else Slurm has set the node down.
 */
void state_agent_silent(struct state *s, const struct state_input *in)
{
    struct state_agent *a = &s->agent[in->agent];
    const char *limit =
        state_silence_ns(s) == s->o.node_lost_ns ? "timeouts.node_lost" : "timeouts.lease";
    char text[512];

    a->lost = true;
    (void)snprintf(text, sizeof text, "node %.200s: no report from its agent for %.1f s (%s)",
                   state_host(s, in->agent), (double)(in->now_ns - a->heard_ns) / CLOCK_S,
                   in->text ? "Slurm reports the node as down" : limit);
    gone(s, in->agent, a->heard_ns, text, in->now_ns);
    turn_over(s, in);
    state_stopped(s, in->now_ns);
}

/* ---- ended ---- */

/* Delay the next start of an agent that ended without getting ranks; the delay grows with each such
 * start, which is counted here.
 */
static void wait_longer(struct state_agent *a, int64_t now_ns)
{
    a->revive_ns = now_ns + recovery_pause_s(a->failed_starts) * CLOCK_S;
    a->failed_starts++;
}

/* Continue from REGROUP if no agent is worth waiting for any more. */
static void may_regroup(struct state *s, int64_t now_ns)
{
    if (s->phase == STATE_PHASE_REGROUP)
        state_regroup(s, now_ns);
}

/* Record that a repeated start of an agent failed, and when to try again.  In REGROUP, continue if
 * no agent is worth waiting for.
 */
static void start_failed(struct state *s, int agent, int64_t now_ns)
{
    struct state_agent *a = &s->agent[agent];

    a->starting = false;
    a->ended = true;
    wait_longer(a, now_ns);
    may_regroup(s, now_ns);
}

/* Check whether a registered agent was silent before the driver was stopped, for longer than the
 * interval between an idle agent's requests.
 */
static bool was_silent(const struct state *s, const struct state_agent *a)
{
    return a->registered &&
           s->paused_ns - s->pause_ns > a->heard_ns + timing_poll_request_ns(s->o.lease_ns);
}

/* Return how long the driver itself was stopped, if the stop is so recent that it may have ended
 * this agent; else 0.
 */
static int64_t recent_pause_ns(const struct state *s, int agent, int64_t now_ns)
{
    const struct state_agent *a = &s->agent[agent];
    bool recent = now_ns < s->paused_ns + timing_pause_blamed_ns(s->o.lease_ns);

    return recent && !a->waits && !was_silent(s, a) ? s->pause_ns : 0;
}

/* Check whether this agent ended because the driver itself was stopped, and write that sentence to
 * ret if so.  Only a pause as long as the lease ends agents. what: "the workers" or "before they
 * registered".
 */
static bool paused_text(const struct state *s, int agent, const char *what, int64_t now_ns,
                        char ret[512])
{
    bool blamed = recent_pause_ns(s, agent, now_ns) >= s->o.lease_ns;

    if (blamed)
        (void)snprintf(ret, 512,
                       "eddis-run itself was suspended for %.1f s, longer than timeouts.lease (%g "
                       "s): its agents have ended %s",
                       (double)s->pause_ns / CLOCK_S, (double)s->o.lease_ns / CLOCK_S, what);
    return blamed;
}

/* Write "; eddis-run itself was suspended for 4.0 s, ..." after a recent pause, else "": a hint,
 * not a cause.
 */
static void beside_text(const struct state *s, int agent, int64_t now_ns, char *ret, size_t size)
{
    int64_t pause_ns = recent_pause_ns(s, agent, now_ns);

    ret[0] = '\0';
    if (pause_ns)
        (void)snprintf(ret, size,
                       "; eddis-run itself was suspended for %.1f s until %.1f s before this "
                       "(timeouts.lease is %g s)",
                       (double)pause_ns / CLOCK_S, (double)(now_ns - s->paused_ns) / CLOCK_S,
                       (double)s->o.lease_ns / CLOCK_S);
}

/* Write the sentence for a registered agent that has ended to ret; how: "agent exited 3". */
static void ended_text(const struct state *s, int agent, const char *how, int64_t now_ns,
                       char ret[512])
{
    char beside[160];

    if (paused_text(s, agent, "the workers", now_ns, ret))
        return;
    beside_text(s, agent, now_ns, beside, sizeof beside);
    (void)snprintf(ret, 512, "node %.200s: its %.128s%s", state_host(s, agent), how, beside);
}

/* Record that an agent ended without registering, and fail the launch with this sentence. */
static void never_came(struct state *s, int agent, const char *sentence, int64_t now_ns)
{
    s->agent[agent].ended = true;
    state_launch_failed(s, agent, now_ns, sentence, now_ns);
    state_stopped(s, now_ns);
}

/* Handle an agent's end before it registered: fail the launch, with a sentence made of how, "agent
 * exited 3: LAST OUTPUT".
 */
static void ended_before(struct state *s, int agent, const char *how, int64_t now_ns)
{
    const char *why = strstr(how, ": "); /* its last output */
    char text[512], beside[160];

    beside_text(s, agent, now_ns, beside, sizeof beside);
    if (!paused_text(s, agent, "before they registered", now_ns, text))
        (void)snprintf(text, sizeof text, "%.150s: its %.*s before it registered%.250s%s",
                       state_host(s, agent), (int)(why ? why - how : (ptrdiff_t)strlen(how)), how,
                       why ? why : "", beside);
    never_came(s, agent, text, now_ns);
}

/* Handle the end of a registered agent's process: a failure if gone() says so.  Delay the agent's
 * next start if its process ended twice in a row without ranks.  If a stop or REGROUP waited for
 * it, continue.
 */
static void ended_later(struct state *s, int agent, const char *how, int64_t now_ns)
{
    struct state_agent *a = &s->agent[agent];
    char text[512];

    a->ended = true;
    if (!a->part && a->idle_end)
        wait_longer(a, now_ns);
    a->idle_end = !a->part;
    ended_text(s, agent, how, now_ns, text);
    if (!a->lost)
        gone(s, agent, now_ns, text, now_ns);
    state_stopped(s, now_ns);
    may_regroup(s, now_ns);
}

/* Handle the end of an agent's process: a failed repeated start, an end before it registered, or
 * one after.
 */
void state_agent_ended(struct state *s, const struct state_input *in)
{
    const struct state_agent *a = &s->agent[in->agent];

    if (a->ended)
        return;
    if (a->starting)
        start_failed(s, in->agent, in->now_ns);
    else if (!a->registered)
        ended_before(s, in->agent, in->text, in->now_ns);
    else
        ended_later(s, in->agent, in->text, in->now_ns);
    turn_over(s, in);
}

/* Handle an agent that could not be started: try again later if this was a repeated start, else
 * fail the launch.
 */
void state_agent_not_started(struct state *s, const struct state_input *in)
{
    if (s->agent[in->agent].starting)
        start_failed(s, in->agent, in->now_ns);
    else
        never_came(s, in->agent, in->text, in->now_ns);
}

/* Record that an agent has left, and enter OVER after the last one. */
void state_agent_left(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].ended = true;
    if (s->phase == STATE_PHASE_BYE)
        state_over(s);
}

/* ---- started again ---- */

/* Reset an agent's record, mark it as starting, and queue ACTION_REVIVE. */
void state_agent_revive(struct state *s, const struct state_input *in)
{
    struct state_agent *a = &s->agent[in->agent];

    a->starting = true;
    a->registered = a->profiled = a->part = a->ended = false;
    a->measuring = STATE_MEASURES_NOTHING;
    state_push(s, ACTION_REVIVE)->agent = in->agent;
}
