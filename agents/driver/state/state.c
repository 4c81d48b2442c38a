/* SPDX-License-Identifier: Apache-2.0 */
#include "state_impl.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct action *state_push(struct state *s, enum action_type type)
{
    struct action *a;

    assert(s->n_queue < (int)(sizeof s->queue / sizeof *s->queue));
    a = &s->queue[s->n_queue++];
    *a = (struct action){ .type = type, .agent = -1, .rank = -1 };
    return a;
}

void state_say(struct state *s, const char *fmt, ...)
{
    struct action *a = state_push(s, ACTION_SAY);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(a->text, sizeof a->text, fmt, ap);
    va_end(ap);
}

bool state_action(struct state *s, struct action *ret)
{
    if (s->n_queue == 0)
        return false;
    *ret = s->queue[0];
    memmove(s->queue, s->queue + 1, (size_t)--s->n_queue * sizeof *s->queue);
    return true;
}

int state_init(struct state *s, const struct state_options *o, int64_t now_ns,
               struct eddis_error *err)
{
    *s = (struct state){ .o = *o,
                         .generation = 1,
                         .begun_ns = now_ns,
                         .asked_step = -1,
                         .resume_step = -1,
                         .recovery_ns = -1,
                         .before.rank = -1,
                         .exit_code = -1 };
    s->agent = calloc((size_t)o->n_agents, sizeof *s->agent);
    if (!s->agent)
        return eddis_fail(err, -ENOMEM, "no memory for %d agents", o->n_agents);
    s->deadline_ns = clock_after_ns(now_ns, o->launch_ns);
    return 0;
}

void state_fini(struct state *s)
{
    free(s->agent);
    free(s->rank);
    s->agent = NULL;
    s->rank = NULL;
}

void state_enter(struct state *s, enum driver_phase p, enum action_type a, int64_t now_ns)
{
    s->phase = p;
    s->deadline_ns = clock_after_ns(now_ns, s->o.launch_ns);
    state_push(s, a);
}

/* ---- the way to RUN ---- */

static bool all_agents(const struct state *s, size_t member)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if (!*((const bool *)((const char *)&s->agent[i] + member)))
            return false;
    return true;
}

void state_registered(struct state *s, int agent, const char *name, int64_t now_ns)
{
    struct state_agent *a = &s->agent[agent];

    if (a->registered)
        return; /* it says so again because the answer got lost */
    a->registered = true;
    a->starting = a->lost = false;
    a->heard_ns = now_ns;
    (void)snprintf(a->host, sizeof a->host, "%s", name);
    if (s->phase == PHASE_REGISTER && all_agents(s, offsetof(struct state_agent, registered)))
        state_enter(s, PHASE_PROFILE, ACTION_PROFILE, now_ns);
    else if (s->phase > PHASE_PROFILE && s->phase < PHASE_BYE)
        state_push(s, ACTION_PROFILE)->agent = agent;
}

static void profiled(struct state *s, int agent, int64_t now_ns)
{
    s->agent[agent].profiled = true;
    if (s->phase == PHASE_PROFILE && all_agents(s, offsetof(struct state_agent, profiled)))
        state_network(s, now_ns);
    else if (s->phase == PHASE_REGROUP)
        state_regroup(s, now_ns);
}

/* The ranks of the generation to come, and who has a part in it. */
static int make_ranks(struct state *s, int n_ranks, const int *node, struct eddis_error *err)
{
    struct state_rank *rank = calloc((size_t)n_ranks, sizeof *rank);

    if (!rank)
        return eddis_fail(err, -ENOMEM, "no memory for %d ranks", n_ranks);
    free(s->rank);
    s->rank = rank;
    s->n_ranks = n_ranks;
    s->first = node[0];
    for (int i = 0; i < s->o.n_agents; i++) {
        struct state_agent *a = &s->agent[i];

        a->part = a->prepared = a->checked = a->stopped = false;
    }
    for (int r = 0; r < n_ranks; r++) {
        rank[r].agent = node[r];
        rank[r].steps = rank[r].phase = rank[r].waits_for = -1;
        s->agent[node[r]].part = true;
        s->agent[node[r]].failed_starts = 0;
    }
    return 0;
}

int state_planned(struct state *s, int n_ranks, const int *node, int64_t now_ns,
                  struct eddis_error *err)
{
    int rc;

    if (s->phase != PHASE_PLAN && s->phase != PHASE_NETWORK)
        return 0; /* the job has ended meanwhile */
    if ((rc = make_ranks(s, n_ranks, node, err)) < 0)
        return rc;
    s->launched = true;
    s->mpirun_over = false;
    s->mpirun_code = s->mpirun_signal = 0;
    s->settle_ns = s->started_ns = 0;
    s->failure = (struct state_failure){ .rank = -1 };
    state_enter(s, PHASE_PREPARE, ACTION_PREPARE, now_ns);
    return 0;
}

static void start(struct state *s, int64_t now_ns)
{
    if (s->generation > 0 && s->o.check_only) {
        state_finish(s, now_ns);
        return;
    }
    s->started_ns = now_ns;
    state_enter(s, PHASE_START, ACTION_START, now_ns);
}

static int count_parts(const struct state *s)
{
    int n = 0;

    for (int i = 0; i < s->o.n_agents; i++)
        n += s->agent[i].part;
    return n;
}

static void prepared(struct state *s, int agent, int64_t now_ns)
{
    s->agent[agent].prepared = true;
    if (s->phase != PHASE_PREPARE || !state_all_parts(s, offsetof(struct state_agent, prepared)))
        return;
    if (s->generation > 0 && s->o.share && count_parts(s) > 1)
        state_enter(s, PHASE_CHECK, ACTION_CHECK, now_ns);
    else
        start(s, now_ns);
}

static void checked(struct state *s, int agent, int64_t now_ns)
{
    s->agent[agent].checked = true;
    if (s->phase == PHASE_CHECK && state_all_parts(s, offsetof(struct state_agent, checked)))
        start(s, now_ns);
}

/* ---- what agents say ---- */

static void order_failed(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    const char *node = state_host(s, agent);
    char text[512];

    (void)snprintf(text, sizeof text, "node %.120s: %.380s", node, e->text);
    switch (s->phase) {
    case PHASE_REGISTER:
    case PHASE_PROFILE:
    case PHASE_NETWORK:
    case PHASE_PLAN:
    case PHASE_PREPARE:
    case PHASE_CHECK:
    case PHASE_START:
        state_trouble(s,
                      &(struct state_trouble){ CAUSE_LAUNCH, "start", EXIT_START, agent,
                                               now_ns - e->age_ns, text },
                      now_ns);
        break;
    case PHASE_STOP:
        if (!state_is_echo(s))
            state_say(s, "%s", text);
        s->agent[agent].stopped = true;
        state_stopped(s, now_ns);
        break;
    default:
        state_say(s, "%s", text);
    }
}

/* One that came back cannot be measured: it takes no part, and the job goes on without it. */
static bool is_late_profile(const struct state *s, int agent)
{
    return s->phase > PHASE_PROFILE && !s->agent[agent].profiled;
}

static void agent_stopped(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    s->agent[agent].stopped = true;
    s->resume_known = true;
    if (e->step > s->resume_step)
        s->resume_step = e->step;
    state_checkpoint_seen(s, e->step);
    if (s->phase == PHASE_STOP)
        state_stopped(s, now_ns);
}

/* What is of no generation, or of the present one. */
static bool is_current(const struct state *s, const struct event *e)
{
    return e->type == EVENT_PROFILE || e->type == EVENT_NOTE || e->generation == s->generation;
}

void state_event(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    if (e->type == EVENT_FAILED && is_late_profile(s, agent)) {
        state_say(s, "node %s: %.380s", state_host(s, agent), e->text);
        return;
    }
    if (!is_current(s, e) && !(e->type == EVENT_FAILED && s->phase <= PHASE_PROFILE))
        return;
    switch (e->type) {
    case EVENT_PROFILE:
        profiled(s, agent, now_ns);
        break;
    case EVENT_PREPARED:
        prepared(s, agent, now_ns);
        break;
    case EVENT_CHECKED:
        checked(s, agent, now_ns);
        break;
    case EVENT_RANK_STARTED:
        state_rank_started(s, agent, e);
        break;
    case EVENT_RANK_EXIT:
        state_rank_exit(s, agent, e, now_ns);
        break;
    case EVENT_MPIRUN_EXIT:
        state_mpirun_exit(s, agent, e, now_ns);
        break;
    case EVENT_NETWORK:
        s->network_works = s->generation == 0;
        break;
    case EVENT_STOPPED:
        agent_stopped(s, agent, e, now_ns);
        break;
    case EVENT_FAILED:
        order_failed(s, agent, e, now_ns);
        break;
    case EVENT_NOTE:
        state_say(s, "node %s: %.380s", state_host(s, agent), e->text);
        break;
    case EVENT_RELAY:
    case EVENT_CHOICE:
    case EVENT_LOGS:
    case EVENT_LEFT:
        break; /* the caller's */
    }
}

void state_paused(struct state *s, int64_t pause_ns, int64_t now_ns)
{
    s->pause_ns = pause_ns;
    s->paused_ns = now_ns;
}

/* ---- time ---- */

static int first_missing(const struct state *s, size_t member, bool part)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if ((!part || s->agent[i].part) && !*((const bool *)((const char *)&s->agent[i] + member)))
            return i;
    return 0;
}

/* A phase before RUN took too long; the sentence names whom it waited for. */
static void launch_late(struct state *s, int64_t now_ns)
{
    static const struct {
        const char *what;
        size_t member;
        bool part;
    } row[] = {
        [PHASE_REGISTER] = { "register", offsetof(struct state_agent, registered), false },
        [PHASE_PROFILE] = { "measure its devices", offsetof(struct state_agent, profiled), false },
        [PHASE_PREPARE] = { "prepare the start", offsetof(struct state_agent, prepared), true },
        [PHASE_CHECK] = { "look for what all nodes share", offsetof(struct state_agent, checked),
                          true },
    };
    char text[512];
    int agent = 0;

    if (s->phase == PHASE_START) {
        int r = state_first_not(s, false);

        agent = s->rank[r].agent;
        (void)snprintf(text, sizeof text,
                       "rank %d (node %.200s) was not up %g s after mpirun was started "
                       "(timeouts.launch)",
                       r, state_host(s, agent), (double)s->o.launch_ns / CLOCK_S);
    } else {
        agent = first_missing(s, row[s->phase].member, row[s->phase].part);
        (void)snprintf(text, sizeof text,
                       "the agent of %.200s took longer than %g s to %s (timeouts.launch)",
                       state_host(s, agent), (double)s->o.launch_ns / CLOCK_S, row[s->phase].what);
    }
    state_trouble(s,
                  &(struct state_trouble){ CAUSE_LAUNCH, "start", EXIT_START, agent, now_ns, text },
                  now_ns);
}

static void phase_late(struct state *s, int64_t now_ns)
{
    switch (s->phase) {
    case PHASE_REGISTER:
    case PHASE_PROFILE:
    case PHASE_PREPARE:
    case PHASE_CHECK:
    case PHASE_START:
        launch_late(s, now_ns);
        break;
    case PHASE_STOP:
        state_stop_late(s, now_ns);
        break;
    case PHASE_REGROUP:
        state_regroup(s, now_ns);
        break;
    case PHASE_BYE:
        state_push(s, ACTION_KILL);
        s->phase = PHASE_OVER;
        break;
    default:
        break;
    }
}

static int64_t job_end_ns(const struct state *s)
{
    return s->ending ? CLOCK_NEVER : clock_after_ns(s->begun_ns, s->o.job_ns);
}

static void job_late(struct state *s, int64_t now_ns)
{
    (void)snprintf(s->message, sizeof s->message, "the job's time of %g s is over (timeouts.job)",
                   (double)s->o.job_ns / CLOCK_S);
    state_say(s, "%s", s->message);
    state_end(s, "timeout", EXIT_TIMEOUT, STOP_ORDERLY, now_ns);
}

static void checkpoint_late(struct state *s, int64_t now_ns)
{
    state_say(s, "%s within %g s (timeouts.checkpoint); stopping",
              s->checkpointed ? "the checkpoint is there, but the workers have not ended"
                              : "no checkpoint",
              (double)s->o.checkpoint_ns / CLOCK_S);
    state_end(s, "preempted", state_preempted_code(s), STOP_ORDERLY, now_ns);
}

void state_tick(struct state *s, int64_t now_ns)
{
    state_find_lost(s, now_ns);
    state_find_hang(s, now_ns);
    if (now_ns >= s->deadline_ns)
        phase_late(s, now_ns);
    if (s->probe_ns && now_ns >= s->probe_ns && s->phase < PHASE_STOP)
        state_probe_failed(s, "it took too long", now_ns);
    if (s->phase == PHASE_REGROUP && now_ns >= s->regroup_ns)
        state_regroup(s, now_ns);
    if (s->settle_ns && now_ns >= s->settle_ns && s->phase < PHASE_STOP)
        state_settle(s, now_ns);
    if (s->preempt_ns && now_ns >= s->preempt_ns && !s->ending)
        checkpoint_late(s, now_ns);
    if (now_ns >= job_end_ns(s))
        job_late(s, now_ns);
    state_revive_due(s, now_ns);
}

static void sooner(int64_t *at, int64_t other)
{
    if (other < *at)
        *at = other;
}

int64_t state_deadline(const struct state *s)
{
    int64_t at = s->phase == PHASE_PLAN || s->phase == PHASE_NETWORK ? CLOCK_NEVER : s->deadline_ns;

    if (s->settle_ns && s->phase < PHASE_STOP)
        sooner(&at, s->settle_ns);
    if (s->probe_ns && s->phase < PHASE_STOP)
        sooner(&at, s->probe_ns);
    if (s->phase == PHASE_REGROUP)
        sooner(&at, s->regroup_ns);
    if (s->preempt_ns && !s->ending)
        sooner(&at, s->preempt_ns);
    sooner(&at, job_end_ns(s));
    for (int i = 0; i < s->o.n_agents && s->phase < PHASE_BYE; i++) {
        const struct state_agent *a = &s->agent[i];

        if (a->registered && !a->lost && !a->ended)
            sooner(&at, a->heard_ns + state_silence_ns(s));
        if (state_may_revive(s, i))
            sooner(&at, a->revive_ns);
    }
    return at;
}
