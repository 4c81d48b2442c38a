/* SPDX-License-Identifier: Apache-2.0 */
/* state_stop.c - nodes that confirm a stop or do not, and the agents' leaving */
#include "state_input.h"

/* Record that a node has stopped its ranks, and the newest checkpoint that it found.  Generation 0,
 * the network's probe, writes none: one found then is from an earlier start.  After the phase has
 * ended it is the answer to a second stop order.
 */
void state_stop_confirmed_late(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].stopped = true;
    if (in->event->step == PROTOCOL_STEP_UNKNOWN || s->generation == 0)
        return;
    s->resume_known = true;
    if (in->event->step > s->resume_step)
        s->resume_step = in->event->step;
    state_note_checkpoint(s, in->event->step);
}

/* Record that a node has stopped its ranks.  After the last node, continue with s->next. */
void state_stop_confirmed(struct state *s, const struct state_input *in)
{
    state_stop_confirmed_late(s, in);
    state_stopped(s, in->now_ns);
}

/* Give up, as lost, a node that has sent requests since the stop order but has not confirmed the
 * stop in time: it never will.  A silent node keeps its full time, because its ranks may live until
 * its lease expires.  Continue with s->next after the last node, else set the time of the next
 * check.
 */
void state_stop_late(struct state *s, const struct state_input *in)
{
    s->deadline_ns = in->now_ns + STOP_LATE_S * CLOCK_S;
    for (int i = 0; i < s->o.n_agents; i++) {
        struct state_agent *a = &s->agent[i];

        if (!a->part || a->stopped || a->lost || a->ended || a->heard_ns <= s->stop_ns)
            continue;
        a->lost = true;
        state_say(s, "node %s did not confirm in time that everything is stopped",
                  state_host(s, i));
        s->deadline_ns = in->now_ns; /* the next tick handles another node: the queue is short */
        break;
    }
    state_stopped(s, in->now_ns);
}

/* Check in REGROUP whether the next generation can be planned. */
void state_stop_regroup(struct state *s, const struct state_input *in)
{
    state_regroup(s, in->now_ns);
}

/* Count the time limit of BYE from in->from_ns, when the agents get the order to leave. */
void state_stop_bye_from(struct state *s, const struct state_input *in)
{
    state_extend(s, in->from_ns);
}

/* Request ACTION_KILL for agents that have not left in time, and enter OVER. */
void state_stop_bye_late(struct state *s, const struct state_input *in)
{
    state_push(s, ACTION_KILL);
    state_go(s, STATE_PHASE_OVER, in->now_ns);
}
