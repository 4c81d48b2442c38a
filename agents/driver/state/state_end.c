/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping a generation, and what comes after it: the next one, or the job's end. */
#include "state_impl.h"

#include "agents/protocol/timing.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const int64_t confirm_ns = 5 * CLOCK_S; /* beyond what a stop ladder takes itself */
static const int64_t regroup_ns = 5 * CLOCK_S; /* an agent is up again in a second or two */

/* ---- the job's end ---- */

/* Whether nothing is expected of an agent any more. */
static bool is_over(const struct state_agent *a)
{
    return a->ended || (a->remote && a->lost);
}

void state_over(struct state *s)
{
    if (s->phase != PHASE_BYE)
        return;
    for (int i = 0; i < s->o.n_agents; i++)
        if (!is_over(&s->agent[i]))
            return;
    s->phase = PHASE_OVER;
    s->deadline_ns = CLOCK_NEVER;
}

void state_bye_from(struct state *s, int64_t from_ns)
{
    if (s->phase == PHASE_BYE)
        s->deadline_ns = clock_after_ns(from_ns, timing_all_over_ns(s->o.lease_ns, confirm_ns));
}

static void enter_bye(struct state *s, int64_t now_ns)
{
    s->phase = PHASE_BYE;
    s->deadline_ns = clock_after_ns(now_ns, timing_all_over_ns(s->o.lease_ns, confirm_ns));
    state_push(s, ACTION_BYE);
    state_over(s);
}

/* The job ends for this reason; the first one counts. */
void state_end(struct state *s, const char *reason, int exit_code, enum stop_ladder l,
               int64_t now_ns)
{
    if (s->ending)
        return;
    s->ending = true;
    s->reason = reason;
    s->exit_code = exit_code;
    if (s->phase == PHASE_STOP)
        s->next = NEXT_BYE;
    else
        state_stop(s, l, NEXT_BYE, now_ns);
}

void state_finish(struct state *s, int64_t now_ns)
{
    state_end(s, "ok", 0, STOP_FAILURE, now_ns);
}

/* ---- stopping ---- */

static void enter_regroup(struct state *s, int64_t now_ns)
{
    s->restarts++;
    s->generation++;
    s->before = s->failure;
    s->regroup_ns = now_ns + regroup_ns;
    s->deadline_ns = clock_after_ns(now_ns, s->o.launch_ns);
    s->phase = PHASE_REGROUP;
    state_regroup(s, now_ns);
}

static void go_on(struct state *s, int64_t now_ns)
{
    s->launched = false;
    s->probe_ns = 0;
    switch (s->next) {
    case NEXT_BYE:
        enter_bye(s, now_ns);
        break;
    case NEXT_REGROUP:
        enter_regroup(s, now_ns);
        break;
    case NEXT_NETWORK:
        state_network(s, now_ns);
        break;
    case NEXT_PLAN:
        s->generation = 1;
        state_enter(s, PHASE_PLAN, ACTION_PLAN, now_ns);
        break;
    }
}

void state_stopped(struct state *s, int64_t now_ns)
{
    if (s->phase != PHASE_STOP)
        return;
    for (int i = 0; i < s->o.n_agents; i++) {
        const struct state_agent *a = &s->agent[i];

        if (a->part && !a->stopped && !a->lost && !a->ended)
            return;
    }
    go_on(s, now_ns);
}

static int64_t ladder_ns(const struct state *s, enum stop_ladder l)
{
    return l == STOP_ORDERLY ? clock_after_ns(s->o.grace_ns, 3 * CLOCK_S) : 3 * CLOCK_S;
}

void state_stop(struct state *s, enum stop_ladder l, enum state_next next, int64_t now_ns)
{
    s->next = next;
    s->settle_ns = 0;
    if (!s->launched) {
        go_on(s, now_ns);
        return;
    }
    if (s->phase != PHASE_STOP)
        s->resume_known = false;
    s->phase = PHASE_STOP;
    s->ladder = l;
    s->stop_ns = now_ns;
    s->deadline_ns = clock_after_ns(now_ns, clock_after_ns(ladder_ns(s, l), confirm_ns));
    state_push(s, ACTION_STOP)->ladder = l;
    state_stopped(s, now_ns);
}

/* Whoever has been heard since and has not confirmed never will.  A silent node is given up when
 * its time has come, no sooner: until then its lease may keep its ranks alive.
 */
void state_stop_late(struct state *s, int64_t now_ns)
{
    s->deadline_ns = now_ns + CLOCK_S;
    for (int i = 0; i < s->o.n_agents; i++) {
        struct state_agent *a = &s->agent[i];

        if (!a->part || a->stopped || a->lost || a->ended || a->heard_ns <= s->stop_ns)
            continue;
        a->lost = true;
        state_say(s, "node %s did not confirm in time that everything is stopped",
                  state_host(s, i));
        s->deadline_ns = now_ns; /* the others at the next tick: the queue is short */
        break;
    }
    state_stopped(s, now_ns);
}

/* ---- another generation ---- */

/* Somebody who may be there in a moment: it has ended and its first new start has not failed. */
static bool is_coming(const struct state_agent *a)
{
    bool back = a->registered && !a->profiled;

    return !a->lost && a->failed_starts == 0 && (a->ended || a->starting || back);
}

static bool wait_more(const struct state *s, int usable, int64_t now_ns)
{
    bool coming = false;

    if (usable == 0)
        return now_ns < s->deadline_ns;
    for (int i = 0; i < s->o.n_agents; i++)
        coming = coming || is_coming(&s->agent[i]);
    return coming && now_ns < s->regroup_ns;
}

void state_restart_text(const struct state *s, int n_nodes, char *ret, size_t size)
{
    char from[64] = "the newest checkpoint";

    if (s->resume_step >= 0)
        (void)snprintf(from, sizeof from, "step %" PRId64, s->resume_step);
    else if (s->resume_known)
        (void)snprintf(from, sizeof from, "the beginning, for there is no checkpoint,");
    (void)snprintf(ret, size,
                   "restarting from %s on %d node%s (generation %" PRId64 " of at most %" PRId64
                   ")",
                   from, n_nodes, n_nodes == 1 ? "" : "s", s->generation, s->o.restarts + 1);
}

/* Nothing more can be done: the job ends by the failure that it could not recover from. */
static void give_up(struct state *s, const char *why, int64_t now_ns)
{
    state_say(s, "the job cannot go on: %s", why);
    (void)snprintf(s->message, sizeof s->message, "%s", s->before.what);
    s->by_failure = true;
    state_end(s, s->before.reason, s->before.exit_code, STOP_FAILURE, now_ns);
}

void state_regroup(struct state *s, int64_t now_ns)
{
    int usable;

    if (s->phase != PHASE_REGROUP)
        return;
    usable = state_count_usable(s);
    if (wait_more(s, usable, now_ns)) {
        if (now_ns >= s->regroup_ns)
            s->regroup_ns = s->deadline_ns;
        return;
    }
    if (usable == 0) {
        give_up(s, "no node is left", now_ns);
        return;
    }
    state_enter(s, PHASE_PLAN, ACTION_PLAN, now_ns);
}

void state_unplannable(struct state *s, const char *why, int64_t now_ns)
{
    if (s->generation > 1)
        give_up(s, why, now_ns);
    else /* the job asks for what these nodes cannot give */
        state_fail(s, "usage", 2, why, now_ns);
}
