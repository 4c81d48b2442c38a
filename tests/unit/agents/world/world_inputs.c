/* SPDX-License-Identifier: Apache-2.0 */
/* world_inputs.c - all that can happen to the world around the state machine; see world.h */
#include "tests/unit/agents/world/world.h"

#include "lib/base/clock.h"

#include <signal.h>
#include <string.h>

/* ---- what can happen ---- */

enum kind {
    FORWARD,
    REGISTERED,
    PROFILED,
    PROFILE_FAILED,
    PREPARED,
    CHECKED,
    STOPPED_5,
    STOPPED_NONE,
    FAILED,
    FAILED_STALE,
    NOTE,
    ENDED,
    ENDED_WORDS,
    NOT_STARTED,
    SILENT,
    DAEMON_EXIT,
    DAEMON_SIGNAL,
    RANK_STARTED,
    RANK_EXIT_0,
    RANK_EXIT_1,
    RANK_EXIT_2,
    RANK_SIGNAL,
    RANK_OOM,
    RANK_BY_US,
    RANK_OLD, /* it failed 20 s ago */
    STEP,
    HANGS,
    WAITS,
    MPIRUN_0,
    MPIRUN_1,
    MPIRUN_TEXT,
    MPIRUN_SIGNAL,
    MPIRUN_OLD,
    MPIRUN_BY_US,
    RESULT,
    NETWORK_TRY,
    NETWORK_FAILED,
    NETWORK_KNOWN,
    NETWORK_CACHED,
    PLANNED,
    PLANNED_ONE,
    FINISH,
    UNPLANNABLE,
    FAIL,
    ASK_STOP,
    SIG_INT,
    SIG_QUIT,
    SIG_TERM,
    SIG_HUP,
    SIG_USR1,
    SIG_USR2,
    SIG_OTHER,
    CHECKPOINT_OLD,
    CHECKPOINT_NEW,
    BYE_FROM,
    PAUSED,
    TICK,
    SECOND,
    THREE_SECONDS,
    DUE,
    DUE_UNHEARD,
    ALL_EXIT,
    ALL_STEP,
    MINUTE,
    HOUR,
    KINDS,
};

enum per { ONE, AGENT, RANK };

static const struct {
    const char *name;
    enum per per;
} kinds[KINDS] = {
    [FORWARD] = { "forward", ONE },
    [REGISTERED] = { "registered", AGENT },
    [PROFILED] = { "profiled", AGENT },
    [PROFILE_FAILED] = { "profile failed", AGENT },
    [PREPARED] = { "prepared", AGENT },
    [CHECKED] = { "checked", AGENT },
    [STOPPED_5] = { "stopped, step 5", AGENT },
    [STOPPED_NONE] = { "stopped", AGENT },
    [FAILED] = { "order failed", AGENT },
    [FAILED_STALE] = { "order of old failed", AGENT },
    [NOTE] = { "note", AGENT },
    [ENDED] = { "ended", AGENT },
    [ENDED_WORDS] = { "ended with words", AGENT },
    [NOT_STARTED] = { "not started", AGENT },
    [SILENT] = { "silent", AGENT },
    [DAEMON_EXIT] = { "daemon exit", AGENT },
    [DAEMON_SIGNAL] = { "daemon signal", AGENT },
    [RANK_STARTED] = { "rank started", RANK },
    [RANK_EXIT_0] = { "rank exit 0", RANK },
    [RANK_EXIT_1] = { "rank exit 1", RANK },
    [RANK_EXIT_2] = { "rank exit 2", RANK },
    [RANK_SIGNAL] = { "rank signal", RANK },
    [RANK_OOM] = { "rank oom", RANK },
    [RANK_BY_US] = { "rank ended by us", RANK },
    [RANK_OLD] = { "rank signal, 20 s ago", RANK },
    [STEP] = { "step", RANK },
    [HANGS] = { "hangs", RANK },
    [WAITS] = { "waits", RANK },
    [MPIRUN_0] = { "mpirun exit 0", ONE },
    [MPIRUN_1] = { "mpirun exit 1", ONE },
    [MPIRUN_TEXT] = { "mpirun exit 213 with a sentence", ONE },
    [MPIRUN_SIGNAL] = { "mpirun signal", ONE },
    [MPIRUN_OLD] = { "mpirun signal, 1 s ago", ONE },
    [MPIRUN_BY_US] = { "mpirun ended by us", ONE },
    [RESULT] = { "probe's result", ONE },
    [NETWORK_TRY] = { "network try", ONE },
    [NETWORK_FAILED] = { "network failed", ONE },
    [NETWORK_KNOWN] = { "network known", ONE },
    [NETWORK_CACHED] = { "network cached", ONE },
    [PLANNED] = { "planned", ONE },
    [PLANNED_ONE] = { "planned on one node", ONE },
    [FINISH] = { "finish", ONE },
    [UNPLANNABLE] = { "unplannable", ONE },
    [FAIL] = { "fail", ONE },
    [ASK_STOP] = { "--stop", ONE },
    [SIG_INT] = { "SIGINT", ONE },
    [SIG_QUIT] = { "SIGQUIT", ONE },
    [SIG_TERM] = { "SIGTERM", ONE },
    [SIG_HUP] = { "SIGHUP", ONE },
    [SIG_USR1] = { "SIGUSR1", ONE },
    [SIG_USR2] = { "SIGUSR2", ONE },
    [SIG_OTHER] = { "SIGCHLD", ONE },
    [CHECKPOINT_OLD] = { "checkpoint 0", ONE },
    [CHECKPOINT_NEW] = { "checkpoint 1000", ONE },
    [BYE_FROM] = { "bye from", ONE },
    [PAUSED] = { "paused", ONE },
    [TICK] = { "tick", ONE },
    [SECOND] = { "a second", ONE },
    [THREE_SECONDS] = { "three seconds", ONE },
    [DUE] = { "due", ONE },
    [DUE_UNHEARD] = { "due, unheard", ONE },
    [ALL_EXIT] = { "all exit 0", ONE },
    [ALL_STEP] = { "all step", ONE },
    [MINUTE] = { "a minute", ONE },
    [HOUR] = { "an hour", ONE },
};

static int count(const struct world_set *set, enum kind k)
{
    return kinds[k].per == AGENT ? set->n_agents : kinds[k].per == RANK ? set->n_ranks : 1;
}

int world_n_inputs(const struct world_set *set)
{
    int n = 0;

    for (int k = 0; k < KINDS; k++)
        n += count(set, (enum kind)k);
    return n;
}

static enum kind decode(const struct world_set *set, int input, int *of)
{
    int k = 0;

    for (; input >= count(set, (enum kind)k); k++)
        input -= count(set, (enum kind)k);
    *of = input;
    return (enum kind)k;
}

void world_input_name(const struct world_set *set, int input, char *ret, size_t size)
{
    int of;
    enum kind k = decode(set, input, &of);

    if (kinds[k].per == ONE)
        (void)snprintf(ret, size, "%s", kinds[k].name);
    else
        (void)snprintf(ret, size, "%s (%s %d)", kinds[k].name,
                       kinds[k].per == AGENT ? "agent" : "rank", of);
}

int world_find_input(const struct world_set *set, const char *name)
{
    char text[64];

    for (int i = 0; i < world_n_inputs(set); i++) {
        world_input_name(set, i, text, sizeof text);
        if (strcmp(text, name) == 0)
            return i;
    }
    return -1;
}

/* ---- giving ---- */

static struct event event(const struct world *w, enum event_type type)
{
    static char none[] = "";

    return (struct event){ .type = type,
                           .generation = w->s.generation,
                           .rank = -1,
                           .step = -1,
                           .text = none,
                           .last_lines = none };
}

static bool tell(struct world *w, int agent, struct event e)
{
    if (!state_is_known(&w->s, agent))
        return false;
    state_heard(&w->s, agent, w->now_ns);
    state_event(&w->s, agent, &e, w->now_ns);
    return true;
}

static bool answer(struct world *w, int agent, enum event_type type, bool ordered)
{
    return ordered && w->s.agent[agent].part && tell(w, agent, event(w, type));
}

/* Whether ranks of the generation can be there. */
static bool has_ranks(const struct world *w, int agent)
{
    enum world_phase p = world_phase(&w->s);

    return w->start_ordered && p >= WORLD_START && p <= WORLD_STOP && w->s.agent[agent].part &&
           !w->s.agent[agent].stopped;
}

static bool stopped(struct world *w, int agent, int64_t step)
{
    enum world_phase p = world_phase(&w->s);
    struct event e = event(w, EVENT_STOPPED);

    e.step = step;
    return w->stop_ordered && (p == WORLD_STOP || p >= WORLD_BYE) && w->s.agent[agent].part &&
           tell(w, agent, e);
}

static bool failed(struct world *w, int agent, int64_t generation)
{
    static char why[] = "no such file 'x'";
    struct event e = event(w, EVENT_FAILED);

    e.generation = generation;
    e.text = why;
    return tell(w, agent, e);
}

static bool registered(struct world *w, int agent)
{
    static const char *const name[] = { "a", "b", "c" };

    if (w->s.agent[agent].ended)
        return false;
    state_registered(&w->s, agent, name[agent], w->now_ns);
    return true;
}

static bool profiled(struct world *w, int agent)
{
    return w->profile_ordered[agent] && tell(w, agent, event(w, EVENT_PROFILE));
}

static bool rank_event(struct world *w, int rank, struct event e)
{
    int agent;

    if (rank >= w->s.n_ranks)
        return false;
    agent = w->s.rank[rank].agent;
    e.rank = rank;
    e.pid = 100 + rank;
    return has_ranks(w, agent) && tell(w, agent, e);
}

static bool exited(struct world *w, int rank, int code, int sig)
{
    struct event e = event(w, EVENT_RANK_EXIT);

    e.code = sig ? -1 : code;
    e.signal = sig;
    return rank_event(w, rank, e);
}

static bool exited_so(struct world *w, enum kind k, int rank)
{
    struct event e = event(w, EVENT_RANK_EXIT);

    switch (k) {
    case RANK_OOM:
        e.oom = true;
        break;
    case RANK_BY_US:
        e.by_us = true;
        break;
    default:
        e.age_ns = 20 * CLOCK_S;
    }
    e.code = -1;
    e.signal = SIGKILL;
    return rank_event(w, rank, e);
}

static bool mpirun(struct world *w, enum kind k)
{
    static char banner[] = "there are not enough slots", words[] = "it could not open the device";
    struct event e = event(w, EVENT_MPIRUN_EXIT);

    e.code = k == MPIRUN_0 ? 0 : k == MPIRUN_1 ? 1 : 213;
    if (k == MPIRUN_SIGNAL || k == MPIRUN_OLD || k == MPIRUN_BY_US) {
        e.code = -1;
        e.signal = SIGSEGV;
    }
    if (k == MPIRUN_OLD)
        e.age_ns = CLOCK_S;
    e.by_us = k == MPIRUN_BY_US;
    if (k == MPIRUN_1)
        e.last_lines = banner;
    if (k == MPIRUN_TEXT)
        e.text = words;
    return has_ranks(w, w->s.first) && tell(w, w->s.first, e);
}

static bool daemon_exit(struct world *w, int agent, int sig)
{
    static char words[] = "mpirun's daemon exited 1";
    struct event e = event(w, EVENT_MPIRUN_EXIT);

    e.code = sig ? -1 : 1;
    e.signal = sig;
    e.text = words;
    return agent != w->s.first && has_ranks(w, agent) && tell(w, agent, e);
}

/* All ranks do the same steps, which are the job's. */
static int64_t common_steps(const struct state *s)
{
    int64_t n = s->rank[0].steps;

    for (int r = 1; r < s->n_ranks; r++)
        n = s->rank[r].steps < n ? s->rank[r].steps : n;
    return n;
}

/* What the driver takes of a worker: of a generation that trains, while its ranks may be there. */
static bool progress(struct world *w, int rank, int phase, int64_t still_s, int64_t more)
{
    enum world_phase p = world_phase(&w->s);
    const struct state_rank *r;
    int64_t steps;

    if (rank >= w->s.n_ranks || w->s.generation == 0 || p < WORLD_START || p > WORLD_STOP)
        return false;
    r = &w->s.rank[rank];
    if (!has_ranks(w, r->agent) || !state_is_known(&w->s, r->agent))
        return false;
    steps = (r->steps < 0 ? 0 : r->steps) + more;
    state_heard(&w->s, r->agent, w->now_ns);
    state_progress(&w->s,
                   &(struct progress){ .rank = rank,
                                       .pid = 100 + rank,
                                       .phase = phase,
                                       .waits_for = phase == 3 ? 0 : -1,
                                       .steps_done = steps,
                                       .steps_here = steps,
                                       .sum.total_ns = steps * CLOCK_MS,
                                       .page_age_ns = still_s * CLOCK_S,
                                       .phase_age_ns = still_s * CLOCK_S },
                   w->now_ns);
    state_steps(&w->s, common_steps(&w->s));
    return true;
}

static void hear_all(struct world *w)
{
    for (int i = 0; i < w->set->n_agents; i++)
        state_heard(&w->s, i, w->now_ns);
}

static bool pass(struct world *w, int64_t ns, bool heard)
{
    w->now_ns += ns;
    if (heard)
        hear_all(w);
    state_tick(&w->s, w->now_ns);
    return true;
}

/* To the next deadline; agents are heard just before, so that it is another's than theirs. */
static bool due(struct world *w, bool heard)
{
    int64_t at;

    if (heard)
        hear_all(w);
    at = state_deadline(&w->s);
    return pass(w, at == CLOCK_NEVER ? 100 * CLOCK_S : at > w->now_ns ? at - w->now_ns : 0, heard);
}

static bool silent(struct world *w, int agent)
{
    w->now_ns += 16 * CLOCK_S;
    for (int i = 0; i < w->set->n_agents; i++)
        if (i != agent)
            state_heard(&w->s, i, w->now_ns);
    state_tick(&w->s, w->now_ns);
    return true;
}

static bool planned(struct world *w, int at_most)
{
    enum world_phase p = world_phase(&w->s);
    int node[WORLD_RANKS], n = 0;

    for (int r = 0; r < w->set->n_ranks && n < at_most; r++)
        if (state_is_usable(&w->s, w->set->node[r]))
            node[n++] = w->set->node[r];
    if ((p != WORLD_PLAN && p < WORLD_BYE) || n == 0)
        return false;
    return state_planned(&w->s, n, node, w->now_ns, NULL) == 0;
}

static bool ended(struct world *w, int agent, const char *how)
{
    state_ended(&w->s, agent, how, w->now_ns);
    return true;
}

static bool not_started(struct world *w, int agent)
{
    if (w->s.agent[agent].registered || w->s.agent[agent].ended || world_phase(&w->s) == WORLD_OVER)
        return false;
    state_not_started(&w->s, agent, "b: cannot be reached", w->now_ns);
    return true;
}

static bool in(const struct world *w, enum world_phase p)
{
    return world_phase(&w->s) == p || world_phase(&w->s) >= WORLD_BYE;
}

static bool all_step(struct world *w)
{
    bool any = false;

    for (int r = 0; r < w->s.n_ranks; r++)
        any = progress(w, r, 2, 0, 5) || any;
    return any;
}

static bool all_exit(struct world *w)
{
    bool any = false;

    for (int r = 0; r < w->s.n_ranks; r++)
        any = exited(w, r, 0, 0) || any;
    return any;
}

/* ---- the way that all goes well ---- */

static bool forward_agents(struct world *w, bool (*give)(struct world *w, int agent))
{
    for (int i = 0; i < w->set->n_agents; i++)
        (void)give(w, i);
    return true;
}

static bool give_prepared(struct world *w, int agent)
{
    return answer(w, agent, EVENT_PREPARED, w->prepare_ordered);
}

static bool give_checked(struct world *w, int agent)
{
    return answer(w, agent, EVENT_CHECKED, w->check_ordered);
}

static bool give_stopped(struct world *w, int agent)
{
    return stopped(w, agent, -1);
}

static bool give_ended(struct world *w, int agent)
{
    return ended(w, agent, "agent exited 0");
}

static bool give_back(struct world *w, int agent)
{
    (void)registered(w, agent);
    world_act(w);
    return profiled(w, agent);
}

static bool forward_run(struct world *w)
{
    if (w->s.generation > 0)
        return all_step(w);
    (void)tell(w, w->s.first, event(w, EVENT_NETWORK));
    (void)all_exit(w);
    return mpirun(w, MPIRUN_0);
}

static bool forward(struct world *w)
{
    switch (world_phase(&w->s)) {
    case WORLD_REGISTER:
        return forward_agents(w, registered);
    case WORLD_PROFILE:
        return forward_agents(w, profiled);
    case WORLD_NETWORK:
        return state_network_try(&w->s, w->now_ns, NULL) == 0;
    case WORLD_PLAN:
        return planned(w, WORLD_RANKS);
    case WORLD_PREPARE:
        return forward_agents(w, give_prepared);
    case WORLD_CHECK:
        return forward_agents(w, give_checked);
    case WORLD_START:
        for (int r = 0; r < w->s.n_ranks; r++)
            (void)rank_event(w, r, event(w, EVENT_RANK_STARTED));
        return true;
    case WORLD_RUN:
        return forward_run(w);
    case WORLD_STOP:
        return forward_agents(w, give_stopped);
    case WORLD_REGROUP:
        return forward_agents(w, give_back);
    case WORLD_BYE:
        return forward_agents(w, give_ended);
    default:
        return false;
    }
}

static bool give_agent(struct world *w, enum kind k, int a)
{
    static char note[] = "the clock is 3 s behind";
    struct event e;

    switch (k) {
    case REGISTERED:
        return registered(w, a);
    case PROFILED:
        return profiled(w, a);
    case PROFILE_FAILED:
        return w->profile_ordered[a] && !w->s.agent[a].profiled && failed(w, a, 0);
    case PREPARED:
        return give_prepared(w, a);
    case CHECKED:
        return give_checked(w, a);
    case STOPPED_5:
        return stopped(w, a, 5);
    case STOPPED_NONE:
        return stopped(w, a, -1);
    case FAILED:
        return w->prepare_ordered && w->s.agent[a].part && failed(w, a, w->s.generation);
    case FAILED_STALE:
        return failed(w, a, w->s.generation + 7);
    case NOTE:
        e = event(w, EVENT_NOTE);
        e.text = note;
        return tell(w, a, e);
    case ENDED:
        return ended(w, a, "agent exited 3");
    case ENDED_WORDS:
        return ended(w, a, "ssh exited 255: no route");
    case NOT_STARTED:
        return not_started(w, a);
    case SILENT:
        return silent(w, a);
    case DAEMON_EXIT:
        return daemon_exit(w, a, 0);
    default:
        return daemon_exit(w, a, SIGKILL);
    }
}

static bool give_rank(struct world *w, enum kind k, int r)
{
    switch (k) {
    case RANK_STARTED:
        return rank_event(w, r, event(w, EVENT_RANK_STARTED));
    case RANK_EXIT_0:
        return exited(w, r, 0, 0);
    case RANK_EXIT_1:
        return exited(w, r, 1, 0);
    case RANK_EXIT_2:
        return exited(w, r, 2, 0);
    case RANK_SIGNAL:
        return exited(w, r, 0, SIGSEGV);
    case RANK_OOM:
    case RANK_BY_US:
    case RANK_OLD:
        return exited_so(w, k, r);
    case STEP:
        return progress(w, r, 2, 0, 1);
    case HANGS:
        return progress(w, r, 2, 31, 0);
    default:
        return progress(w, r, 3, 31, 0);
    }
}

static bool give_network(struct world *w, enum kind k)
{
    switch (k) {
    case RESULT:
        return w->s.generation == 0 && has_ranks(w, w->s.first) &&
               tell(w, w->s.first, event(w, EVENT_NETWORK));
    case NETWORK_TRY:
        return in(w, WORLD_NETWORK) && state_network_try(&w->s, w->now_ns, NULL) == 0;
    case NETWORK_FAILED:
        if (w->s.generation != 0 || w->s.n_ranks == 0 || !has_ranks(w, w->s.first))
            return false;
        state_network_failed(&w->s, "the ranks could not see each other", w->now_ns);
        return true;
    default:
        if (!in(w, WORLD_NETWORK))
            return false;
        state_network_known(&w->s, k == NETWORK_CACHED, w->now_ns);
        return true;
    }
}

static bool give_answer(struct world *w, enum kind k)
{
    if (k == PLANNED || k == PLANNED_ONE)
        return planned(w, k == PLANNED ? WORLD_RANKS : 1);
    if (k == FAIL) {
        state_fail(&w->s, "internal", 1, "no space left", w->now_ns);
        return true;
    }
    if (!in(w, WORLD_PLAN))
        return false;
    if (k == FINISH)
        state_finish(&w->s, w->now_ns);
    else
        state_unplannable(&w->s, "the model does not fit", w->now_ns);
    return true;
}

static bool give_signal(struct world *w, enum kind k)
{
    static const int sig[] = { [ASK_STOP - ASK_STOP] = 0,       [SIG_INT - ASK_STOP] = SIGINT,
                               [SIG_QUIT - ASK_STOP] = SIGQUIT, [SIG_TERM - ASK_STOP] = SIGTERM,
                               [SIG_HUP - ASK_STOP] = SIGHUP,   [SIG_USR1 - ASK_STOP] = SIGUSR1,
                               [SIG_USR2 - ASK_STOP] = SIGUSR2, [SIG_OTHER - ASK_STOP] = SIGCHLD };

    state_signal(&w->s, sig[k - ASK_STOP], w->now_ns);
    return true;
}

static bool give_one(struct world *w, enum kind k)
{
    if (k >= MPIRUN_0 && k <= MPIRUN_BY_US)
        return w->s.n_ranks > 0 && mpirun(w, k);
    if (k >= RESULT && k <= NETWORK_CACHED)
        return (k != RESULT || w->s.n_ranks > 0) && give_network(w, k);
    if (k >= PLANNED && k <= FAIL)
        return give_answer(w, k);
    if (k >= ASK_STOP && k <= SIG_OTHER)
        return give_signal(w, k);
    switch (k) {
    case FORWARD:
        return forward(w);
    case CHECKPOINT_OLD:
    case CHECKPOINT_NEW:
        state_checkpoint_seen(&w->s, k == CHECKPOINT_OLD ? 0 : 1000);
        return true;
    case BYE_FROM:
        state_bye_from(&w->s, w->now_ns + 5 * CLOCK_S);
        return true;
    case PAUSED:
        state_paused(&w->s, 12 * CLOCK_S, w->now_ns);
        return true;
    case TICK:
        return pass(w, 0, false);
    case SECOND:
        return pass(w, CLOCK_S, true);
    case THREE_SECONDS:
        return pass(w, 3 * CLOCK_S, true);
    case DUE:
        return due(w, true);
    case DUE_UNHEARD:
        return due(w, false);
    case MINUTE:
        return pass(w, 61 * CLOCK_S, true);
    case HOUR:
        return pass(w, 3601 * CLOCK_S, true);
    case ALL_EXIT:
        return all_exit(w);
    default:
        return all_step(w);
    }
}

static bool is_of_time(enum kind k)
{
    return (k >= TICK && k <= DUE_UNHEARD) || k == SILENT || k == MINUTE || k == HOUR;
}

static bool give(struct world *w, enum kind k, int of)
{
    if (world_phase(&w->s) == WORLD_OVER && is_of_time(k))
        return false; /* the driver has stopped to wait */
    return kinds[k].per == AGENT  ? give_agent(w, k, of)
           : kinds[k].per == RANK ? give_rank(w, k, of)
                                  : give_one(w, k);
}

bool world_give(struct world *w, int input)
{
    int of;
    enum kind k = decode(w->set, input, &of);
    struct world to;

    world_copy(&to, w);
    if (!give(&to, k, of)) {
        world_fini(&to);
        return false;
    }
    world_fini(w);
    *w = to;
    world_act(w);
    return true;
}
