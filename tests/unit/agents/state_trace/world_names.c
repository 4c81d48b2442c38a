/* SPDX-License-Identifier: Apache-2.0 */
/* world_names.c - what the trace asks of the state machine, by today's names */
#include "tests/unit/agents/state_trace/world.h"

enum world_phase world_phase(const struct state *s)
{
    static const enum world_phase phase[STATE_PHASES] = {
        [STATE_PHASE_REGISTER] = WORLD_REGISTER, [STATE_PHASE_PROFILE] = WORLD_PROFILE,
        [STATE_PHASE_NETWORK] = WORLD_NETWORK,   [STATE_PHASE_PROBE_PREPARE] = WORLD_PREPARE,
        [STATE_PHASE_PROBE_START] = WORLD_START, [STATE_PHASE_PROBE_RUN] = WORLD_RUN,
        [STATE_PHASE_PROBE_STOP] = WORLD_STOP,   [STATE_PHASE_PLAN] = WORLD_PLAN,
        [STATE_PHASE_PREPARE] = WORLD_PREPARE,   [STATE_PHASE_CHECK] = WORLD_CHECK,
        [STATE_PHASE_START] = WORLD_START,       [STATE_PHASE_RUN] = WORLD_RUN,
        [STATE_PHASE_STOP] = WORLD_STOP,         [STATE_PHASE_REGROUP] = WORLD_REGROUP,
        [STATE_PHASE_BYE] = WORLD_BYE,           [STATE_PHASE_OVER] = WORLD_OVER,
    };

    return phase[s->phase];
}

bool world_checkpointed(const struct state *s)
{
    return s->checkpoint == STATE_CHECKPOINT_SEEN;
}

bool world_network_cached(const struct state *s)
{
    return s->network == STATE_NETWORK_CACHED;
}

int world_impossible(const struct state *s)
{
    return s->impossible;
}
