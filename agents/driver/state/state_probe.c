/* SPDX-License-Identifier: Apache-2.0 */
/* state_probe.c - the choice of a network between the nodes: the phases of its probe
 *
 *     NETWORK -try-> PROBE_PREPARE -> PROBE_START -> PROBE_RUN -> PROBE_STOP -> NETWORK
 *        |                                                            |
 *        +--------------------------known------------------------> PLAN
 *
 * The caller names candidates, best first.  A small MPI program on all nodes, generation 0, tries
 * each, until one works.
 */
#include "state_input.h"

/* Record that the network is known, from the cache if in->cached, and enter PLAN for generation 1.
 */
void state_probe_known(struct state *s, const struct state_input *in)
{
    s->network = in->cached ? STATE_NETWORK_CACHED : STATE_NETWORK_WORKS;
    s->generation = 1;
    state_go(s, STATE_PHASE_PLAN, in->now_ns);
}

/* Return the time limit of a probe: PROBE_S, but at most timeouts.launch. */
static int64_t most_ns(const struct state *s)
{
    return PROBE_S * CLOCK_S < s->o.launch_ns ? PROBE_S * CLOCK_S : s->o.launch_ns;
}

/* Begin a probe of the network that the caller has chosen, with one rank on each usable node. */
void state_probe_try(struct state *s, const struct state_input *in)
{
    s->probe_ns = clock_after_ns(in->now_ns, most_ns(s));
    s->probe_slow = false;
    state_place(s, in, STATE_PHASE_PROBE_PREPARE);
}

/* Record in->text as the reason why this network failed, and stop its probe if one is under way;
 * the next network is then chosen.
 */
void state_probe_fails(struct state *s, const struct state_input *in)
{
    state_probe_failed(s, in->text, in->now_ns);
}

/* Record a prepared node, and start the probe's mpirun after the last one. */
void state_probe_prepared(struct state *s, const struct state_input *in)
{
    s->agent[in->agent].prepared = true;
    if (state_first_without(s, offsetof(struct state_agent, prepared), true) >= 0)
        return;
    s->started_ns = in->now_ns;
    state_go(s, STATE_PHASE_PROBE_START, in->now_ns);
}

/* Record that the probe has measured the network. */
void state_probe_result(struct state *s, const struct state_input *in)
{
    (void)in;
    s->network = STATE_NETWORK_WORKS;
}

/* Handle the time limit of a probe: fail the probe.  But if mpirun has reached all nodes, there is
 * a slow network: extend the limit the first time.  Many pairs are measured one after another; a
 * probe without answers fails by itself in seconds.
 */
void state_probe_late(struct state *s, const struct state_input *in)
{
    if (s->phase != STATE_PHASE_PROBE_RUN) {
        state_probe_failed(s, "its measurement took too long", in->now_ns);
    } else if (!s->probe_slow) {
        s->probe_slow = true;
        s->probe_ns = clock_after_ns(in->now_ns, PROBE_SLOW * most_ns(s));
        state_say(s, "the network between the nodes is slow: it is still being measured");
    } else {
        state_probe_failed(s, "it is too slow to be measured, though its nodes answer", in->now_ns);
    }
}
