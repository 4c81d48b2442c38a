/* SPDX-License-Identifier: Apache-2.0 */
/* state_count.c - questions about the nodes and ranks of the state machine */
#include "state_impl.h"

#include "agents/protocol/timing.h"

#include <string.h>

/* ---- nodes ---- */

const char *state_host(const struct state *s, int agent)
{
    return s->agent[agent].host[0] ? s->agent[agent].host : "this machine";
}

bool state_is_known(const struct state *s, int agent)
{
    return s->agent[agent].registered && !s->agent[agent].lost;
}

bool state_is_usable(const struct state *s, int agent)
{
    const struct state_agent *a = &s->agent[agent];

    return a->registered && a->profiled && !a->lost && !a->ended;
}

/* Compare two agents by machine, host and number, which depend on no job but the last. */
static int compare_places(const struct state *s, int a, int b)
{
    int order = strcmp(s->agent[a].machine, s->agent[b].machine);

    if (order == 0)
        order = strcmp(s->agent[a].host, s->agent[b].host);
    return order ? order : a - b;
}

int state_next_for_gpus(const struct state *s)
{
    int next = -1;

    for (int i = 0; i < s->o.n_agents && s->o.gpus_ns && s->phase == STATE_PHASE_PROFILE; i++)
        if (!s->agent[i].has_gpus && (next < 0 || compare_places(s, i, next) < 0))
            next = i;
    return next;
}

int state_count_usable(const struct state *s)
{
    int n = 0;

    for (int i = 0; i < s->o.n_agents; i++)
        n += state_is_usable(s, i);
    return n;
}

int state_count_parts(const struct state *s)
{
    int n = 0;

    for (int i = 0; i < s->o.n_agents; i++)
        n += s->agent[i].part;
    return n;
}

int state_first_without(const struct state *s, size_t member, bool parts)
{
    for (int i = 0; i < s->o.n_agents; i++) {
        const struct state_agent *a = &s->agent[i];

        if ((!parts || a->part) && !*(const bool *)((const char *)a + member))
            return i;
    }
    return -1;
}

bool state_is_echo(const struct state *s)
{
    return state_is_stopping(s) && s->failure.set && s->failure.cause == CAUSE_LAUNCH &&
           state_first_without(s, offsetof(struct state_agent, prepared), true) < 0;
}

int64_t state_silence_ns(const struct state *s)
{
    int64_t sure_ns = timing_surely_over_ns(s->o.lease_ns);

    return s->o.node_lost_ns > sure_ns ? s->o.node_lost_ns : sure_ns;
}

/* ---- ranks ---- */

bool state_has_rank(const struct state *s, int agent, int rank)
{
    return rank >= 0 && rank < s->n_ranks && s->rank[rank].agent == agent;
}

int state_ranks_left(const struct state *s)
{
    int n = 0;

    for (int r = 0; r < s->n_ranks; r++)
        n += !s->rank[r].exited;
    return n;
}

int state_first_not(const struct state *s, bool exited)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (exited ? !s->rank[r].exited : !s->rank[r].started)
            return r;
    return -1;
}

/* Check whether a rank has exited 0. */
static bool exited_zero(const struct state_rank *r)
{
    return r->exited && r->code == 0 && !r->signal;
}

bool state_all_zero(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (!exited_zero(&s->rank[r]))
            return false;
    return s->n_ranks > 0;
}

bool state_all_done(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].by_us && s->rank[r].phase != STATE_RANK_DONE)
            return false;
    return state_has_workers(s) && state_all_zero(s);
}

bool state_any_rank(const struct state *s, size_t member)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (*(const bool *)((const char *)&s->rank[r] + member))
            return true;
    return false;
}

bool state_any_step(const struct state *s)
{
    return state_any_rank(s, offsetof(struct state_rank, stepped));
}
