/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks and mpirun: how they start and how they end. */
#include "state_impl.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const int64_t settle_ns = 2 * CLOCK_S; /* events of one moment may travel apart */

bool state_has_rank(const struct state *s, int agent, int rank)
{
    return rank >= 0 && rank < s->n_ranks && s->rank[rank].agent == agent;
}

/* Those included that are about to start. */
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

static bool any_started(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].started)
            return true;
    return false;
}

static bool all_exited_zero(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (!s->rank[r].exited || s->rank[r].code != 0 || s->rank[r].signal)
            return false;
    return s->n_ranks > 0;
}

static void ended_well(struct state *s, int64_t now_ns)
{
    if (s->generation == 0)
        state_probe_ended(s, now_ns);
    else if (s->preempt_ns)
        state_end(s, "preempted", state_preempted_code(s), STOP_FAILURE, now_ns);
    else
        state_end(s, "ok", 0, STOP_FAILURE, now_ns);
}

static void mpirun_text(const struct state *s, char *ret, size_t size)
{
    char stopping[48] = "";

    if (s->phase < PHASE_STOP)
        (void)snprintf(stopping, sizeof stopping, "; stopping %d ranks", state_ranks_left(s));
    if (s->mpirun_signal)
        (void)snprintf(ret, size, "mpirun died of signal %d (%s)%s", s->mpirun_signal,
                       strsignal(s->mpirun_signal), stopping);
    else if (s->mpirun_code == 0)
        (void)snprintf(ret, size, "mpirun has ended, but rank %d was not heard of",
                       state_first_not(s, true));
    else
        (void)snprintf(ret, size, "mpirun exited %d%s%s%s", s->mpirun_code,
                       all_exited_zero(s) ? " although every rank exited 0" : "",
                       s->mpirun_text[0] ? ": " : "", s->mpirun_text);
}

static void mpirun_failed(struct state *s, int64_t at_ns, int64_t now_ns)
{
    bool cannot_start = s->phase == PHASE_START && !any_started(s) && !s->mpirun_signal;
    char text[512];
    struct state_trouble t = { .cause = cannot_start ? CAUSE_LAUNCH : CAUSE_MPIRUN,
                               .reason = cannot_start ? "start" : "internal",
                               .exit_code = cannot_start ? EXIT_START : EXIT_FAULT,
                               .agent = s->first,
                               .at_ns = at_ns,
                               .text = text,
                               .signal = s->mpirun_signal };

    mpirun_text(s, text, sizeof text);
    state_trouble(s, &t, now_ns);
}

/* Ranks and mpirun have ended, or mpirun has and its ranks were not reported in time. */
static void mpirun_settled(struct state *s, int64_t now_ns)
{
    if (s->preempt_ns || (all_exited_zero(s) && s->mpirun_code == 0))
        ended_well(s, now_ns);
    else
        mpirun_failed(s, s->mpirun_over ? s->mpirun_ns : now_ns, now_ns);
}

/* Everything is being stopped because of something else.  Its daemons go when mpirun has been
 * killed, and one of them may be heard of first, by more than the reports' ages can tell.
 */
static void mpirun_was_first(struct state *s, int64_t now_ns)
{
    int64_t at_ns = s->mpirun_ns;

    if (s->failure.of_daemon && at_ns >= s->failure.at_ns && at_ns < s->failure.at_ns + settle_ns)
        at_ns = s->failure.at_ns - 1;
    mpirun_failed(s, at_ns, now_ns);
}

/* mpirun itself does not end when a daemon of its could not begin, and else seconds later. */
static void daemon_exit(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    bool cannot_start = s->phase == PHASE_START && !any_started(s);
    char text[512];
    struct state_trouble t = { .cause = cannot_start ? CAUSE_LAUNCH : CAUSE_MPIRUN,
                               .reason = cannot_start ? "start" : "internal",
                               .exit_code = cannot_start ? EXIT_START : EXIT_FAULT,
                               .agent = agent,
                               .at_ns = now_ns - e->age_ns,
                               .text = text,
                               .signal = e->signal,
                               .of_daemon = !e->signal };

    (void)snprintf(text, sizeof text, "node %.120s: %.300s; stopping %d ranks",
                   state_host(s, agent), e->text ? e->text : "", state_ranks_left(s));
    state_trouble(s, &t, now_ns);
}

void state_mpirun_exit(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    if (agent != s->first) {
        if (s->phase < PHASE_STOP && !e->by_us)
            daemon_exit(s, agent, e, now_ns);
        return;
    }
    s->mpirun_over = true;
    s->mpirun_code = e->code;
    s->mpirun_signal = e->signal;
    s->mpirun_ns = now_ns - e->age_ns;
    (void)snprintf(s->mpirun_text, sizeof s->mpirun_text, "%s", e->text ? e->text : "");
    if (s->phase == PHASE_STOP && e->signal && !e->by_us)
        mpirun_was_first(s, now_ns);
    if (s->phase >= PHASE_STOP || e->by_us)
        return;
    /* A banner that one sentence says better stays in mpirun.log. */
    if (e->last_lines && *e->last_lines && !s->mpirun_text[0] && !all_exited_zero(s) &&
        s->generation > 0)
        state_push(s, ACTION_LAST_LINES);
    if (e->signal || state_first_not(s, true) < 0)
        mpirun_settled(s, now_ns);
    else
        s->settle_ns = now_ns + settle_ns;
}

void state_settle(struct state *s, int64_t now_ns)
{
    s->settle_ns = 0;
    if (!all_exited_zero(s) || s->mpirun_over) {
        mpirun_settled(s, now_ns);
        return;
    }
    state_say(s, "mpirun is still there after its ranks have ended");
    ended_well(s, now_ns);
}

void state_rank_started(struct state *s, int agent, const struct event *e)
{
    if (!state_has_rank(s, agent, e->rank))
        return;
    s->rank[e->rank].started = true;
    s->rank[e->rank].pid = e->pid;
    if (s->phase == PHASE_START && state_first_not(s, false) < 0) {
        s->phase = PHASE_RUN;
        s->deadline_ns = CLOCK_NEVER;
    }
}

void state_rank_exit(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    struct state_rank *r;

    if (!state_has_rank(s, agent, e->rank))
        return;
    state_rank_started(s, agent, e);
    r = &s->rank[e->rank];
    r->exited = true;
    r->code = e->code;
    r->signal = e->signal;
    r->by_us = e->by_us;
    r->oom = e->oom;
    if (e->code != 0 || e->signal)
        state_rank_failed(s, e, agent, now_ns);
    if (s->phase < PHASE_STOP && state_first_not(s, true) < 0) {
        if (s->mpirun_over)
            mpirun_settled(s, now_ns);
        else
            s->settle_ns = now_ns + 5 * settle_ns; /* its own clean-up takes it a moment */
    }
}
