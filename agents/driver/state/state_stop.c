/* SPDX-License-Identifier: Apache-2.0 */
/* state_stop.c - what is heard and not heard while things are being stopped, and when all leave */
#include "state_input.h"

#include <stdio.h>

/* The probe of the network, generation 0, writes no checkpoint: one that a node finds behind it is
 * of an earlier start.
 */
static void note_stopped(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].stopped = true;
    if (in->event->step == PROTOCOL_STEP_UNKNOWN || s->generation == 0)
        return;
    s->resume_known = true;
    if (in->event->step > s->resume_step)
        s->resume_step = in->event->step;
    state_note_checkpoint(s, in->event->step);
}

void state_stop_confirmed(struct state *s, const struct state_input *in)
{
    note_stopped(s, in);
    state_stopped(s, in->now_ns);
}

/* A second stop was ordered, and its answer comes when the first one's has been enough. */
void state_stop_confirmed_late(struct state *s, const struct state_input *in)
{
    note_stopped(s, in);
}

/* Whoever has been heard since and has not confirmed never will.  A silent node is given up when
 * its time has come, no sooner: until then its lease may keep its ranks alive.
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
        s->deadline_ns = in->now_ns; /* the others at the next tick: the queue is short */
        break;
    }
    state_stopped(s, in->now_ns);
}

void state_stop_regroup(struct state *s, const struct state_input *in)
{
    state_regroup(s, in->now_ns);
}

void state_stop_bye_from(struct state *s, const struct state_input *in)
{
    state_extend(s, in->from_ns);
}

void state_stop_bye_late(struct state *s, const struct state_input *in)
{
    state_push(s, ACTION_KILL);
    state_go(s, STATE_PHASE_OVER, in->now_ns);
}
