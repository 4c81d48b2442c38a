/* SPDX-License-Identifier: Apache-2.0 */
/* Which network the nodes use: the caller names candidates, best first, and each is tried by a
 * small MPI program on all nodes, generation 0, until one has worked.
 */
#include "state_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const int64_t probe_ns = 30 * CLOCK_S; /* more than three seconds it never takes itself */

void state_network(struct state *s, int64_t now_ns)
{
    s->network_works = false;
    if (state_count_usable(s) > 1) {
        s->generation = 0;
        state_enter(s, PHASE_NETWORK, ACTION_NETWORK, now_ns);
    } else {
        s->generation = 1;
        state_enter(s, PHASE_PLAN, ACTION_PLAN, now_ns);
    }
}

void state_network_known(struct state *s, bool cached, int64_t now_ns)
{
    if (s->phase != PHASE_NETWORK)
        return;
    s->network_cached = cached;
    s->generation = 1;
    state_enter(s, PHASE_PLAN, ACTION_PLAN, now_ns);
}

int state_network_try(struct state *s, int64_t now_ns, struct eddis_error *err)
{
    int n = 0, *node = calloc((size_t)s->o.n_agents, sizeof *node), rc;

    if (!node)
        return eddis_fail(err, -ENOMEM, "no memory for the network probe");
    for (int i = 0; i < s->o.n_agents; i++)
        if (state_is_usable(s, i))
            node[n++] = i;
    s->probe_trouble[0] = '\0';
    s->probe_ns = clock_after_ns(now_ns, probe_ns < s->o.launch_ns ? probe_ns : s->o.launch_ns);
    rc = state_planned(s, n, node, now_ns, err);
    free(node);
    return rc;
}

/* The next one is tried when nothing of this one is left. */
void state_probe_failed(struct state *s, const char *why, int64_t now_ns)
{
    if (s->phase >= PHASE_STOP)
        return;
    (void)snprintf(s->probe_trouble, sizeof s->probe_trouble, "%s", why);
    state_stop(s, STOP_FAILURE, NEXT_NETWORK, now_ns);
}

void state_network_failed(struct state *s, const char *why, int64_t now_ns)
{
    if (s->generation == 0)
        state_probe_failed(s, why, now_ns);
}

void state_probe_ended(struct state *s, int64_t now_ns)
{
    if (!s->network_works)
        state_probe_failed(s, "it ended without a result", now_ns);
    else
        state_stop(s, STOP_FAILURE, NEXT_PLAN, now_ns);
}
