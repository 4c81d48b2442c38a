/* SPDX-License-Identifier: Apache-2.0 */
/* world_1a7d9a2.c - what the trace asks of the state machine, by the names of commit 1a7d9a2 */
#include "tests/unit/agents/state_trace/world.h"

enum world_phase world_phase(const struct state *s)
{
    return (enum world_phase)s->phase;
}

bool world_checkpointed(const struct state *s)
{
    return s->checkpointed;
}

bool world_network_cached(const struct state *s)
{
    return s->network_cached;
}

int world_impossible(const struct state *s)
{
    (void)s;
    return 0;
}
