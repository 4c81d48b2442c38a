/* SPDX-License-Identifier: Apache-2.0 */
/* state_probe.c - which network the nodes use: the machine of the probe
 *
 *     NETWORK -try-> PROBE_PREPARE -> PROBE_START -> PROBE_RUN -> PROBE_STOP -> NETWORK
 *        |                                                            |
 *        +--------------------------known------------------------> PLAN
 *
 * The caller names candidates, best first, and each is tried by a small MPI program on all nodes,
 * generation 0, until one has worked.
 */
#include "state_input.h"

void state_probe_known(struct state *s, const struct state_input *in)
{
    s->network = in->cached ? STATE_NETWORK_CACHED : STATE_NETWORK_WORKS;
    s->generation = 1;
    state_go(s, STATE_PHASE_PLAN, in->now_ns);
}

void state_probe_try(struct state *s, const struct state_input *in)
{
    int64_t most_ns = PROBE_S * CLOCK_S;

    s->probe_ns = clock_after_ns(in->now_ns, most_ns < s->o.launch_ns ? most_ns : s->o.launch_ns);
    state_place(s, in, STATE_PHASE_PROBE_PREPARE);
}

void state_probe_fails(struct state *s, const struct state_input *in)
{
    state_probe_failed(s, in->text, in->now_ns);
}

void state_probe_prepared(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].prepared = true;
    if (state_first_without(s, offsetof(struct state_agent, prepared), true) >= 0)
        return;
    s->started_ns = in->now_ns;
    state_go(s, STATE_PHASE_PROBE_START, in->now_ns);
}

void state_probe_result(struct state *s, const struct state_input *in)
{
    (void)in;
    s->network = STATE_NETWORK_WORKS;
}

void state_probe_late(struct state *s, const struct state_input *in)
{
    state_probe_failed(s, "it took too long", in->now_ns);
}
