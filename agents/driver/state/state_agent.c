/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: which are there, which are lost, and which are started again.
 *
 *     starting -> registered -> profiled (usable) -> part of a generation -> ended
 *         ^                          |
 *         +------- ended, or lost ---+
 */
#include "state_impl.h"

#include "agents/protocol/timing.h"

#include <stdio.h>
#include <string.h>

static const int64_t first_wait_ns = CLOCK_S; /* before a start that failed is tried again ... */
static const int64_t most_wait_ns = 30 * CLOCK_S; /* ... doubled each time up to this */

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

int state_count_usable(const struct state *s)
{
    int n = 0;

    for (int i = 0; i < s->o.n_agents; i++)
        n += state_is_usable(s, i);
    return n;
}

bool state_all_parts(const struct state *s, size_t member)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if (s->agent[i].part && !*((const bool *)((const char *)&s->agent[i] + member)))
            return false;
    return true;
}

bool state_is_echo(const struct state *s)
{
    return s->phase == PHASE_STOP && s->failure.set && s->failure.cause == CAUSE_LAUNCH &&
           state_all_parts(s, offsetof(struct state_agent, prepared));
}

void state_heard(struct state *s, int agent, int64_t now_ns)
{
    if (state_is_known(s, agent))
        s->agent[agent].heard_ns = now_ns;
}

/* ---- lost ---- */

/* A node is gone that was there at at_ns: a failure when the job needs it, else worth a word. */
static void gone(struct state *s, int agent, int64_t at_ns, const char *text, int64_t now_ns)
{
    bool launching = s->restarts == 0 && (s->phase < PHASE_PREPARE || s->generation == 0);

    if (!launching && !(s->launched && s->agent[agent].part)) {
        if (!s->ending)
            state_say(s, "%s", text);
        return;
    }
    state_trouble(s,
                  &(struct state_trouble){ CAUSE_NODE, "node_lost",
                                           launching ? EXIT_START : EXIT_FAULT, agent, at_ns,
                                           text },
                  now_ns);
}

int64_t state_silence_ns(const struct state *s)
{
    int64_t sure_ns = timing_surely_over_ns(s->o.lease_ns);

    return s->o.node_lost_ns > sure_ns ? s->o.node_lost_ns : sure_ns;
}

/* One a call, since the queue is short; the others' time has come, too, so that the next call is
 * not far.
 */
void state_find_lost(struct state *s, int64_t now_ns)
{
    for (int i = 0; i < s->o.n_agents && s->phase < PHASE_BYE; i++) {
        struct state_agent *a = &s->agent[i];
        char text[512];

        if (!a->registered || a->lost || a->ended || a->starting ||
            now_ns < clock_after_ns(a->heard_ns, state_silence_ns(s)))
            continue;
        a->lost = true;
        (void)snprintf(text, sizeof text,
                       "node %.200s: nothing heard of its agent for %.1f s (timeouts.%s)",
                       state_host(s, i), (double)(now_ns - a->heard_ns) / CLOCK_S,
                       state_silence_ns(s) == s->o.node_lost_ns ? "node_lost" : "lease");
        gone(s, i, a->heard_ns, text, now_ns);
        state_stopped(s, now_ns);
        return;
    }
}

/* ---- ended ---- */

/* It did not come to having ranks: later once more, and later each time. */
static void wait_longer(struct state_agent *a, int64_t now_ns)
{
    int64_t wait_ns = first_wait_ns;

    for (int i = 0; i < a->failed_starts && wait_ns < most_wait_ns; i++)
        wait_ns *= 2;
    a->failed_starts++;
    a->revive_ns = now_ns + (wait_ns < most_wait_ns ? wait_ns : most_wait_ns);
}

static void start_failed(struct state *s, int agent, int64_t now_ns)
{
    struct state_agent *a = &s->agent[agent];

    a->starting = false;
    a->ended = true;
    wait_longer(a, now_ns);
    state_regroup(s, now_ns);
}

static void ended_text(const struct state *s, int agent, const char *how, int64_t now_ns,
                       char ret[512])
{
    if (s->pause_ns && now_ns < s->paused_ns + s->o.lease_ns)
        (void)snprintf(ret, 512,
                       "eddis-run itself was stopped for %.1f s, too long for timeouts.lease "
                       "(%g s): its agents have ended the workers",
                       (double)s->pause_ns / CLOCK_S, (double)s->o.lease_ns / CLOCK_S);
    else
        (void)snprintf(ret, 512, "node %.200s: its %.128s", state_host(s, agent), how);
}

void state_ended(struct state *s, int agent, const char *how, int64_t now_ns)
{
    struct state_agent *a = &s->agent[agent];
    bool was_lost = a->lost;
    const char *why;
    char text[512];

    if (a->ended)
        return;
    if (a->starting && s->phase < PHASE_BYE) {
        start_failed(s, agent, now_ns);
        return;
    }
    a->ended = true;
    if (s->phase >= PHASE_BYE) {
        state_over(s);
        return;
    }
    if (!a->registered) {
        why = strstr(how, ": "); /* its last words */
        (void)snprintf(text, sizeof text, "%.150s: its %.*s before it registered%.250s",
                       state_host(s, agent), (int)(why ? why - how : (ptrdiff_t)strlen(how)), how,
                       why ? why : "");
        state_not_started(s, agent, text, now_ns);
        return;
    }
    if (!a->part && a->idle_end)
        wait_longer(a, now_ns);
    a->idle_end = !a->part;
    ended_text(s, agent, how, now_ns, text);
    if (!was_lost)
        gone(s, agent, now_ns, text, now_ns);
    state_stopped(s, now_ns);
    state_regroup(s, now_ns);
}

void state_not_started(struct state *s, int agent, const char *sentence, int64_t now_ns)
{
    struct state_agent *a = &s->agent[agent];

    if (a->starting && s->phase < PHASE_BYE) {
        start_failed(s, agent, now_ns);
        return;
    }
    a->ended = true;
    state_trouble(
        s, &(struct state_trouble){ CAUSE_LAUNCH, "start", EXIT_START, agent, now_ns, sentence },
        now_ns);
    state_stopped(s, now_ns);
    state_over(s);
}

/* ---- started again ---- */

/* A node that is only silent may have an agent yet: on this machine its keeper sees to its end. */
bool state_may_revive(const struct state *s, int agent)
{
    const struct state_agent *a = &s->agent[agent];

    return !s->ending && s->generation > 0 && s->phase > PHASE_PLAN && s->phase < PHASE_BYE &&
           !a->starting && (a->ended || (a->lost && a->remote));
}

void state_revive_due(struct state *s, int64_t now_ns)
{
    for (int i = 0; i < s->o.n_agents; i++) {
        struct state_agent *a = &s->agent[i];

        if (!state_may_revive(s, i) || now_ns < a->revive_ns)
            continue;
        a->starting = true;
        a->registered = a->profiled = a->part = a->ended = false;
        state_push(s, ACTION_REVIVE)->agent = i;
        return; /* the others at the next tick, whose time has come */
    }
}
