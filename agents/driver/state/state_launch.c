/* SPDX-License-Identifier: Apache-2.0 */
/* state_launch.c - from the plan to mpirun, and orders that could not be carried out */
#include "state_input.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- from the plan to RUN ---- */

void state_place(struct state *s, const struct state_input *in, enum state_phase next)
{
    free(s->rank);
    s->rank = in->rank;
    s->n_ranks = in->n_ranks;
    s->first = in->n_ranks ? in->rank[0].agent : 0;
    for (int i = 0; i < s->o.n_agents; i++) {
        struct state_agent *a = &s->agent[i];

        a->part = a->prepared = a->checked = a->stopped = false;
    }
    for (int r = 0; r < s->n_ranks; r++) {
        s->agent[s->rank[r].agent].part = true;
        s->agent[s->rank[r].agent].failed_starts = 0;
    }
    s->mpirun_over = false;
    s->mpirun_code = s->mpirun_signal = 0;
    s->settle_ns = s->started_ns = s->alive_ns = s->look_ns = 0;
    s->failure = (struct state_failure){ .rank = -1 };
    state_go(s, next, in->now_ns);
}

/* Take over the planned ranks and have their nodes prepare. */
void state_launch_planned(struct state *s, const struct state_input *in)
{
    state_place(s, in, STATE_PHASE_PREPARE);
}

/* Enter START, where mpirun is ordered; with o.check_only end the job with success instead. */
static void start(struct state *s, int64_t now_ns)
{
    if (s->o.check_only) {
        state_end(s, STATE_OUTCOME_OK, STOP_FAILURE, now_ns);
        return;
    }
    s->started_ns = now_ns;
    state_go(s, STATE_PHASE_START, now_ns);
}

/* Record that a node is prepared.  After the last one, have the nodes check the shared checkpoint
 * folder and, with o.check_only, the program, or start mpirun if they need not.
 */
void state_launch_prepared(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].prepared = true;
    if (state_first_without(s, offsetof(struct state_agent, prepared), true) >= 0)
        return;
    if (s->o.check_only || (s->o.share && state_count_parts(s) > 1))
        state_go(s, STATE_PHASE_CHECK, in->now_ns);
    else
        start(s, in->now_ns);
}

/* Record a prepared node while the launch is already being stopped. */
void state_launch_prepared_late(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].prepared = true;
}

/* Record that a node has checked what STATE_PHASE_CHECK is for.  After the last one, start mpirun.
 */
void state_launch_checked(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].checked = true;
    if (state_first_without(s, offsetof(struct state_agent, checked), true) < 0)
        start(s, in->now_ns);
}

/* ---- orders that failed ---- */

/* Handle an order that an agent could not carry out: the launch has failed. */
void state_launch_order_failed(struct state *s, const struct state_input *in)
{
    char text[512];

    (void)snprintf(text, sizeof text, "node %.120s: %.380s", state_host(s, in->agent),
                   in->event->text);
    state_launch_failed(s, in->agent, in->now_ns - in->event->age_ns, text, in->now_ns);
}

/* Handle an order that an agent could not carry out while the driver stops the generation: print
 * why, unless it is a consequence of the failure that caused the stop, and count the agent's node
 * as stopped.
 */
void state_launch_stop_failed(struct state *s, const struct state_input *in)
{
    if (!state_is_echo(s))
        state_agent_note(s, in);
    s->agent[in->agent].stopped = true;
    state_stopped(s, in->now_ns);
}

/* ---- late ---- */

/* Return the first agent that has not done what the present phase waits for; -1: none.  In PROFILE
 * prefer the agent that measures to those that wait for their time slot.
 */
static int late_agent(const struct state *s)
{
    const struct state_awaited *a = state_awaited(s);
    int agent = state_first_without(s, a->member, a->parts);

    for (int i = agent; i >= 0 && i < s->o.n_agents; i++)
        if (s->phase == STATE_PHASE_PROFILE && s->agent[i].measuring == STATE_MEASURES)
            return i;
    return agent;
}

/* Fail the launch because an agent did not do its part within timeouts.launch.  The sentence names
 * the late agent, the first if there are several.  See state_launch_failed for what follows.
 */
void state_launch_agent_late(struct state *s, const struct state_input *in)
{
    const struct state_awaited *a = state_awaited(s);
    int agent = late_agent(s);
    char text[512];

    if (agent < 0) /* no agent is late; a node has to be named */
        agent = 0;
    (void)snprintf(text, sizeof text,
                   "the agent of %.200s took longer than %g s to %s (timeouts.launch)",
                   state_host(s, agent), (double)s->o.launch_ns / CLOCK_S, a->what);
    state_launch_failed(s, agent, in->now_ns, text, in->now_ns);
}

/* Fail the launch because a rank was not up in time after mpirun was started. */
void state_launch_rank_late(struct state *s, const struct state_input *in)
{
    int r = state_first_not(s, false), agent = s->rank[r].agent;
    char text[512];

    (void)snprintf(text, sizeof text,
                   "rank %d (node %.200s) was not up %g s after mpirun was started "
                   "(timeouts.launch)",
                   r, state_host(s, agent), (double)s->o.launch_ns / CLOCK_S);
    state_launch_failed(s, agent, in->now_ns, text, in->now_ns);
}
