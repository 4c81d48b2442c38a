/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include "agents/status_json.h"

#include "lib/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_FAULT = 1, EXIT_START = 3, EXIT_RESUMABLE = 75, EXIT_TIMEOUT = 124 };

static const int64_t settle_ns = 2 * CLOCK_S;  /* events of one moment may travel apart */
static const int64_t repeat_ns = 2 * CLOCK_S;  /* wrappers hand on a signal that came to us too */
static const int64_t confirm_ns = 5 * CLOCK_S; /* beyond what a stop ladder takes itself */

static struct action *push(struct state *s, enum action_type type)
{
    struct action *a;

    assert(s->n_queue < (int)(sizeof s->queue / sizeof *s->queue));
    a = &s->queue[s->n_queue++];
    *a = (struct action){ .type = type, .agent = -1, .rank = -1 };
    return a;
}

__attribute__((format(printf, 2, 3))) static void say(struct state *s, const char *fmt, ...)
{
    struct action *a = push(s, ACTION_SAY);
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
    *s = (struct state){ .o = *o, .generation = 1, .begun_ns = now_ns, .exit_code = -1 };
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

/* Host of an agent as people know it, also before it has registered. */
static const char *host(const struct state *s, int agent)
{
    return s->agent[agent].host[0] ? s->agent[agent].host : "this machine";
}

/* ---- the end ---- */

static void enter_bye(struct state *s, int64_t now_ns)
{
    s->phase = PHASE_BYE;
    s->deadline_ns = clock_after_ns(now_ns, clock_after_ns(s->o.lease_ns, confirm_ns));
    push(s, ACTION_BYE);
}

static void enter_over_when_all_ended(struct state *s)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if (!s->agent[i].ended)
            return;
    s->phase = PHASE_OVER;
    s->deadline_ns = CLOCK_NEVER;
}

static void leave_stop_when_confirmed(struct state *s, int64_t now_ns)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if (!s->agent[i].stopped && !s->agent[i].lost && !s->agent[i].ended)
            return;
    enter_bye(s, now_ns);
    enter_over_when_all_ended(s);
}

static int64_t ladder_ns(const struct state *s, enum stop_ladder l)
{
    return l == STOP_ORDERLY ? clock_after_ns(s->o.grace_ns, 3 * CLOCK_S) : 3 * CLOCK_S;
}

static void enter_stop(struct state *s, enum stop_ladder l, int64_t now_ns)
{
    if (!s->launched) {
        enter_bye(s, now_ns);
        enter_over_when_all_ended(s);
        return;
    }
    s->phase = PHASE_STOP;
    s->ladder = l;
    s->settle_ns = 0;
    s->deadline_ns = clock_after_ns(now_ns, clock_after_ns(ladder_ns(s, l), confirm_ns));
    push(s, ACTION_STOP)->ladder = l;
    leave_stop_when_confirmed(s, now_ns);
}

/* Ranks that have not ended, those included that are about to start. */
static int ranks_left(const struct state *s)
{
    int n = 0;

    for (int r = 0; r < s->n_ranks; r++)
        n += !s->rank[r].exited;
    return n;
}

static bool any_started(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].started)
            return true;
    return false;
}

/* The job ends for this reason; the first one counts. */
static void end(struct state *s, const char *reason, int exit_code, enum stop_ladder l,
                int64_t now_ns)
{
    if (s->ending)
        return;
    s->ending = true;
    s->reason = reason;
    s->exit_code = exit_code;
    enter_stop(s, l, now_ns);
}

void state_fail(struct state *s, const char *reason, int exit_code, const char *sentence,
                int64_t now_ns)
{
    if (s->ending)
        return;
    say(s, "%s", sentence);
    (void)snprintf(s->message, sizeof s->message, "%s", sentence);
    end(s, reason, exit_code, STOP_FAILURE, now_ns);
}

void state_finish(struct state *s, int64_t now_ns)
{
    end(s, "ok", 0, STOP_FAILURE, now_ns);
}

/* ---- failures of ranks, agents and mpirun ---- */

static void death_text(const struct event *e, char *ret, size_t size)
{
    if (e->oom)
        (void)snprintf(ret, size, "was killed: out of memory");
    else if (e->signal)
        (void)snprintf(ret, size, "died of signal %d (%s)", e->signal, strsignal(e->signal));
    else
        (void)snprintf(ret, size, "exited %d", e->code);
}

static const char *rank_reason(const struct event *e)
{
    return e->oom ? "oom" : e->signal ? "rank_signal" : "rank_exit";
}

static int rank_exit_code(const struct event *e)
{
    return e->oom ? 137 : e->signal ? 128 + e->signal : e->code;
}

static void name_failure(struct state *s, const struct event *e, int agent, int64_t at_ns)
{
    struct state_failure *f = &s->failure;
    char death[128], elapsed[32], step[48] = "";

    *f = (struct state_failure){ .set = true,
                                 .at_ns = at_ns,
                                 .rank = e->rank,
                                 .pid = e->pid,
                                 .code = e->code,
                                 .signal = e->signal,
                                 .step = s->rank[e->rank].steps };
    (void)snprintf(f->node, sizeof f->node, "%s", host(s, agent));
    death_text(e, death, sizeof death);
    job_status_elapsed((double)(at_ns - s->started_ns) / CLOCK_S, elapsed, sizeof elapsed);
    if (f->step > 0)
        (void)snprintf(step, sizeof step, " at step %" PRId64, f->step);
    (void)snprintf(f->what, sizeof f->what,
                   "rank %d (node %.200s, pid %d) %s%s, %s after the start", e->rank, f->node,
                   e->pid, death, step, elapsed);
    (void)snprintf(s->message, sizeof s->message, "%s", f->what);
    s->reason = rank_reason(e);
    s->exit_code = rank_exit_code(e);
}

/* The failure that happened first counts, also when it is heard of second. */
static bool is_earlier(const struct state *s, int64_t at_ns)
{
    return s->failure.set && at_ns < s->failure.at_ns;
}

static void rank_failed(struct state *s, const struct event *e, int agent, int64_t now_ns)
{
    int64_t at_ns = now_ns - e->age_ns;
    int others;

    if (s->preempt_ns || e->by_us)
        return;
    if (s->ending) {
        if (is_earlier(s, at_ns)) {
            name_failure(s, e, agent, at_ns);
            say(s, "before that: %s", s->failure.what);
            push(s, ACTION_LAST_LINES)->rank = e->rank;
        }
        return;
    }
    name_failure(s, e, agent, at_ns);
    others = ranks_left(s);
    if (others)
        say(s, "%s; stopping %d rank%s", s->failure.what, others, others == 1 ? "" : "s");
    else
        say(s, "%s", s->failure.what);
    push(s, ACTION_LAST_LINES)->rank = e->rank;
    end(s, s->reason, s->exit_code, STOP_FAILURE, now_ns);
}

/* A failure that is no rank's: sentence, reason internal, node_lost, ... */
static void other_failed(struct state *s, const char *reason, int exit_code, int agent,
                         const char *sentence, int64_t now_ns)
{
    if (s->ending)
        return;
    s->failure =
        (struct state_failure){ .set = true, .at_ns = now_ns, .rank = -1, .code = -1, .step = -1 };
    (void)snprintf(s->failure.node, sizeof s->failure.node, "%s", host(s, agent));
    (void)snprintf(s->failure.what, sizeof s->failure.what, "%s", sentence);
    state_fail(s, reason, exit_code, sentence, now_ns);
}

static bool all_exited_zero(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (!s->rank[r].exited || s->rank[r].code != 0 || s->rank[r].signal)
            return false;
    return s->n_ranks > 0;
}

static int first_not(const struct state *s, bool exited)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (exited ? !s->rank[r].exited : !s->rank[r].started)
            return r;
    return -1;
}

static void ended_well(struct state *s, int64_t now_ns)
{
    if (s->preempt_ns)
        end(s, "preempted", s->checkpointed ? EXIT_RESUMABLE : 128 + SIGTERM, STOP_FAILURE, now_ns);
    else
        end(s, "ok", 0, STOP_FAILURE, now_ns);
}

/* Ranks and mpirun have ended, or mpirun has and its ranks were not reported in time. */
static void mpirun_settled(struct state *s, int64_t now_ns)
{
    char text[512];

    if (s->preempt_ns || (all_exited_zero(s) && s->mpirun_code == 0)) {
        ended_well(s, now_ns);
        return;
    }
    if (s->mpirun_signal)
        (void)snprintf(text, sizeof text, "mpirun died of signal %d (%s); stopping %d ranks",
                       s->mpirun_signal, strsignal(s->mpirun_signal), ranks_left(s));
    else if (s->mpirun_code == 0)
        (void)snprintf(text, sizeof text, "mpirun has ended, but rank %d was not heard of",
                       first_not(s, true));
    else
        (void)snprintf(text, sizeof text, "mpirun exited %d%s", s->mpirun_code,
                       all_exited_zero(s) ? " although every rank exited 0" : "");
    if (s->phase == PHASE_START && !any_started(s) && !s->mpirun_signal)
        other_failed(s, "start", EXIT_START, 0, text, now_ns);
    else
        other_failed(s, "internal", EXIT_FAULT, 0, text, now_ns);
}

static void mpirun_exit(struct state *s, const struct event *e, int64_t now_ns)
{
    s->mpirun_over = true;
    s->mpirun_code = e->code;
    s->mpirun_signal = e->signal;
    if (s->ending || e->by_us)
        return;
    if (e->last_lines && *e->last_lines && !all_exited_zero(s))
        push(s, ACTION_LAST_LINES);
    if (e->signal || first_not(s, true) < 0)
        mpirun_settled(s, now_ns);
    else
        s->settle_ns = now_ns + settle_ns;
}

/* ---- what agents say ---- */

static bool all_agents(const struct state *s, size_t member)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if (!*((const bool *)((const char *)&s->agent[i] + member)))
            return false;
    return true;
}

static void enter(struct state *s, enum driver_phase p, enum action_type a, int64_t now_ns)
{
    s->phase = p;
    s->deadline_ns = clock_after_ns(now_ns, s->o.launch_ns);
    push(s, a);
}

void state_registered(struct state *s, int agent, const char *name, int64_t now_ns)
{
    struct state_agent *a = &s->agent[agent];

    a->registered = true;
    a->heard_ns = now_ns;
    (void)snprintf(a->host, sizeof a->host, "%s", name);
    if (s->phase == PHASE_REGISTER && all_agents(s, offsetof(struct state_agent, registered)))
        enter(s, PHASE_PROFILE, ACTION_PROFILE, now_ns);
}

void state_heard(struct state *s, int agent, int64_t now_ns)
{
    s->agent[agent].heard_ns = now_ns;
}

int state_planned(struct state *s, int n_ranks, const int *node, int64_t now_ns,
                  struct eddis_error *err)
{
    if (s->phase != PHASE_PLAN)
        return 0; /* the job has ended meanwhile */
    s->rank = calloc((size_t)n_ranks, sizeof *s->rank);
    if (!s->rank)
        return eddis_fail(err, -ENOMEM, "no memory for %d ranks", n_ranks);
    s->n_ranks = n_ranks;
    for (int r = 0; r < n_ranks; r++) {
        s->rank[r].agent = node[r];
        s->rank[r].steps = -1;
    }
    s->launched = true;
    enter(s, PHASE_PREPARE, ACTION_PREPARE, now_ns);
    return 0;
}

static void prepared(struct state *s, int agent, int64_t now_ns)
{
    s->agent[agent].prepared = true;
    if (s->phase != PHASE_PREPARE || !all_agents(s, offsetof(struct state_agent, prepared)))
        return;
    s->started_ns = now_ns;
    enter(s, PHASE_START, ACTION_START, now_ns);
}

static void rank_started(struct state *s, const struct event *e)
{
    if (e->rank < 0 || e->rank >= s->n_ranks)
        return;
    s->rank[e->rank].started = true;
    s->rank[e->rank].pid = e->pid;
    if (s->phase == PHASE_START && first_not(s, false) < 0) {
        s->phase = PHASE_RUN;
        s->deadline_ns = CLOCK_NEVER;
    }
}

static void rank_exit(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    struct state_rank *r;

    if (e->rank < 0 || e->rank >= s->n_ranks)
        return;
    rank_started(s, e);
    r = &s->rank[e->rank];
    r->exited = true;
    r->code = e->code;
    r->signal = e->signal;
    r->by_us = e->by_us;
    r->oom = e->oom;
    if (e->code != 0 || e->signal)
        rank_failed(s, e, agent, now_ns);
    if (!s->ending && first_not(s, true) < 0) {
        if (s->mpirun_over)
            mpirun_settled(s, now_ns);
        else
            s->settle_ns = now_ns + 5 * settle_ns; /* its own clean-up takes it a moment */
    }
}

static void order_failed(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    char text[512];

    (void)snprintf(text, sizeof text, "node %.120s: %.380s", host(s, agent), e->text);
    switch (s->phase) {
    case PHASE_REGISTER:
    case PHASE_PROFILE:
    case PHASE_PLAN:
    case PHASE_PREPARE:
    case PHASE_START:
        other_failed(s, "start", EXIT_START, agent, text, now_ns);
        break;
    case PHASE_STOP:
        say(s, "%s", text);
        s->agent[agent].stopped = true;
        leave_stop_when_confirmed(s, now_ns);
        break;
    default:
        say(s, "%s", text);
    }
}

void state_event(struct state *s, int agent, const struct event *e, int64_t now_ns)
{
    if (e->type != EVENT_PROFILE && e->type != EVENT_NOTE && e->type != EVENT_FAILED &&
        e->generation != s->generation)
        return;
    switch (e->type) {
    case EVENT_PROFILE:
        s->agent[agent].profiled = true;
        if (s->phase == PHASE_PROFILE && all_agents(s, offsetof(struct state_agent, profiled)))
            enter(s, PHASE_PLAN, ACTION_PLAN, now_ns);
        break;
    case EVENT_PREPARED:
        prepared(s, agent, now_ns);
        break;
    case EVENT_RANK_STARTED:
        rank_started(s, e);
        break;
    case EVENT_RANK_EXIT:
        rank_exit(s, agent, e, now_ns);
        break;
    case EVENT_MPIRUN_EXIT:
        mpirun_exit(s, e, now_ns);
        break;
    case EVENT_STOPPED:
        s->agent[agent].stopped = true;
        if (s->phase == PHASE_STOP)
            leave_stop_when_confirmed(s, now_ns);
        break;
    case EVENT_FAILED:
        order_failed(s, agent, e, now_ns);
        break;
    case EVENT_NOTE:
        say(s, "node %s: %.380s", host(s, agent), e->text);
        break;
    case EVENT_CHECKED:
    case EVENT_RELAY:
    case EVENT_NETWORK:
    case EVENT_LOGS:
    case EVENT_LEFT:
        break;
    }
}

void state_progress(struct state *s, int rank, int64_t steps_done)
{
    if (rank >= 0 && rank < s->n_ranks)
        s->rank[rank].steps = steps_done;
}

void state_ended(struct state *s, int agent, const char *how, int64_t now_ns)
{
    struct state_agent *a = &s->agent[agent];
    char text[512];

    if (a->ended)
        return;
    a->ended = true;
    if (s->phase == PHASE_BYE || s->phase == PHASE_OVER) {
        enter_over_when_all_ended(s);
        return;
    }
    if (!a->lost && !s->ending) {
        if (a->registered)
            (void)snprintf(text, sizeof text, "node %.200s: its %.128s; stopping the job",
                           host(s, agent), how);
        else
            (void)snprintf(text, sizeof text, "%.200s: its %.128s before it registered",
                           host(s, agent), how);
        if (a->registered && s->pause_ns && now_ns < s->paused_ns + s->o.lease_ns)
            (void)snprintf(text, sizeof text,
                           "eddis-run itself was stopped for %.1f s, too long for timeouts.lease "
                           "(%g s), so its agent ended the job",
                           (double)s->pause_ns / CLOCK_S, (double)s->o.lease_ns / CLOCK_S);
        other_failed(s, a->registered ? "node_lost" : "start",
                     a->registered ? EXIT_FAULT : EXIT_START, agent, text, now_ns);
    }
    if (s->phase == PHASE_STOP)
        leave_stop_when_confirmed(s, now_ns);
    else if (s->phase == PHASE_BYE)
        enter_over_when_all_ended(s);
}

void state_paused(struct state *s, int64_t pause_ns, int64_t now_ns)
{
    s->pause_ns = pause_ns;
    s->paused_ns = now_ns;
}

/* ---- signals ---- */

static void interrupt(struct state *s, int64_t now_ns)
{
    s->interrupts++;
    if (!s->ending) {
        int n = s->launched ? ranks_left(s) : 0;

        (void)snprintf(s->message, sizeof s->message, "stopped by Ctrl-C");
        if (n)
            say(s, "interrupted: stopping %d rank%s; press Ctrl-C again to kill at once", n,
                n == 1 ? "" : "s");
        end(s, "interrupted", 128 + SIGINT, STOP_ORDERLY, now_ns);
    } else if (s->phase == PHASE_STOP && s->ladder != STOP_KILL) {
        say(s, "killing what is left");
        enter_stop(s, STOP_KILL, now_ns);
    }
}

/* SIGQUIT: nothing is asked, all is killed. */
static void quit(struct state *s, int64_t now_ns)
{
    if (!s->ending) {
        (void)snprintf(s->message, sizeof s->message, "stopped by SIGQUIT");
        say(s, "SIGQUIT: killing what runs");
        end(s, "interrupted", 128 + SIGQUIT, STOP_KILL, now_ns);
    } else if (s->phase == PHASE_STOP && s->ladder != STOP_KILL) {
        say(s, "killing what is left");
        enter_stop(s, STOP_KILL, now_ns);
    }
}

/* Ask the program for a checkpoint once; a second time, or when it has taken no step: just stop. */
static void preempt(struct state *s, int sig, int64_t now_ns)
{
    bool steps = s->n_ranks > 0;

    if (s->ending)
        return;
    for (int r = 0; r < s->n_ranks; r++)
        steps = steps && s->rank[r].steps > 0;
    if (s->phase == PHASE_RUN && steps && !s->preempt_ns) {
        say(s, "%s: asking for a checkpoint, then stopping", strsignal(sig));
        (void)snprintf(s->message, sizeof s->message, "stopped by SIG%s", sigabbrev_np(sig));
        s->asked_ns = now_ns;
        s->preempt_ns = clock_after_ns(now_ns, s->o.checkpoint_ns);
        push(s, ACTION_CHECKPOINT);
        return;
    }
    if (s->preempt_ns && now_ns < s->asked_ns + repeat_ns)
        return;
    (void)snprintf(s->message, sizeof s->message, "stopped by SIG%s", sigabbrev_np(sig));
    say(s, "%s: stopping", strsignal(sig));
    end(s, "preempted", s->checkpointed ? EXIT_RESUMABLE : 128 + SIGTERM, STOP_ORDERLY, now_ns);
}

void state_signal(struct state *s, int sig, int64_t now_ns)
{
    switch (sig) {
    case SIGINT:
        interrupt(s, now_ns);
        break;
    case SIGQUIT:
        quit(s, now_ns);
        break;
    case SIGTERM:
    case SIGUSR1:
    case SIGHUP:
        preempt(s, sig, now_ns);
        break;
    case SIGUSR2:
        if (s->phase == PHASE_RUN)
            push(s, ACTION_SIGNAL);
        break;
    default:
        break;
    }
}

void state_checkpointed(struct state *s)
{
    s->checkpointed = true;
    if (s->reason && strcmp(s->reason, "preempted") == 0)
        s->exit_code = EXIT_RESUMABLE;
}

/* ---- time ---- */

static int first_missing(const struct state *s, size_t member)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if (!*((const bool *)((const char *)&s->agent[i] + member)))
            return i;
    return 0;
}

/* A phase before RUN took too long; the sentence names whom it waited for. */
static void launch_late(struct state *s, int64_t now_ns)
{
    static const struct {
        const char *what;
        size_t member;
    } row[] = {
        [PHASE_REGISTER] = { "register", offsetof(struct state_agent, registered) },
        [PHASE_PROFILE] = { "measure its devices", offsetof(struct state_agent, profiled) },
        [PHASE_PREPARE] = { "prepare the start", offsetof(struct state_agent, prepared) },
    };
    char text[512];
    int agent = 0;

    if (s->phase == PHASE_START) {
        int r = first_not(s, false);

        agent = s->rank[r].agent;
        (void)snprintf(text, sizeof text,
                       "rank %d (node %.200s) was not up %g s after mpirun was started "
                       "(timeouts.launch)",
                       r, host(s, agent), (double)s->o.launch_ns / CLOCK_S);
    } else {
        agent = first_missing(s, row[s->phase].member);
        (void)snprintf(text, sizeof text,
                       "the agent of %.200s took longer than %g s to %s (timeouts.launch)",
                       host(s, agent), (double)s->o.launch_ns / CLOCK_S, row[s->phase].what);
    }
    other_failed(s, "start", EXIT_START, agent, text, now_ns);
}

static void stop_late(struct state *s, int64_t now_ns)
{
    for (int i = 0; i < s->o.n_agents; i++) {
        struct state_agent *a = &s->agent[i];

        if (a->stopped || a->lost || a->ended)
            continue;
        a->lost = true;
        say(s, "node %s did not confirm in time that everything is stopped", host(s, i));
        break; /* the others at the next tick: one sentence each, the queue is short */
    }
    leave_stop_when_confirmed(s, now_ns);
}

/* How long an agent may be silent: never less than the lease that it holds itself. */
static int64_t silence_ns(const struct state *s)
{
    return clock_after_ns(s->o.lease_ns, s->o.lease_ns / 2 + CLOCK_S / 2);
}

static void find_lost(struct state *s, int64_t now_ns)
{
    for (int i = 0; i < s->o.n_agents && s->phase < PHASE_BYE; i++) {
        struct state_agent *a = &s->agent[i];
        char text[512];

        if (!a->registered || a->lost || a->ended || now_ns < a->heard_ns + silence_ns(s))
            continue;
        a->lost = true;
        (void)snprintf(text, sizeof text,
                       "node %.200s: nothing heard of its agent for %.1f s (timeouts.lease %g s)",
                       host(s, i), (double)(now_ns - a->heard_ns) / CLOCK_S,
                       (double)s->o.lease_ns / CLOCK_S);
        other_failed(s, "node_lost", EXIT_FAULT, i, text, now_ns);
        if (s->phase == PHASE_STOP)
            leave_stop_when_confirmed(s, now_ns);
    }
}

static void phase_late(struct state *s, int64_t now_ns)
{
    switch (s->phase) {
    case PHASE_REGISTER:
    case PHASE_PROFILE:
    case PHASE_PREPARE:
    case PHASE_START:
        launch_late(s, now_ns);
        break;
    case PHASE_STOP:
        stop_late(s, now_ns);
        break;
    case PHASE_BYE:
        push(s, ACTION_KILL);
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

void state_tick(struct state *s, int64_t now_ns)
{
    find_lost(s, now_ns);
    if (now_ns >= s->deadline_ns)
        phase_late(s, now_ns);
    if (s->settle_ns && now_ns >= s->settle_ns && !s->ending) {
        s->settle_ns = 0;
        if (all_exited_zero(s) && !s->mpirun_over) {
            say(s, "mpirun is still there after its ranks have ended");
            ended_well(s, now_ns);
        } else {
            mpirun_settled(s, now_ns);
        }
    }
    if (s->preempt_ns && now_ns >= s->preempt_ns && !s->ending) {
        say(s, "no checkpoint within %g s (timeouts.checkpoint); stopping",
            (double)s->o.checkpoint_ns / CLOCK_S);
        end(s, "preempted", s->checkpointed ? EXIT_RESUMABLE : 128 + SIGTERM, STOP_ORDERLY, now_ns);
    }
    if (now_ns >= job_end_ns(s)) {
        char text[128];

        (void)snprintf(text, sizeof text, "the job's time of %g s is over (timeouts.job)",
                       (double)s->o.job_ns / CLOCK_S);
        say(s, "%s", text);
        (void)snprintf(s->message, sizeof s->message, "%s", text);
        end(s, "timeout", EXIT_TIMEOUT, STOP_ORDERLY, now_ns);
    }
}

int64_t state_deadline(const struct state *s)
{
    int64_t at = s->phase == PHASE_PLAN ? CLOCK_NEVER : s->deadline_ns;

    if (s->settle_ns && s->settle_ns < at)
        at = s->settle_ns;
    if (s->preempt_ns && !s->ending && s->preempt_ns < at)
        at = s->preempt_ns;
    if (job_end_ns(s) < at)
        at = job_end_ns(s);
    for (int i = 0; i < s->o.n_agents && s->phase < PHASE_BYE; i++) {
        const struct state_agent *a = &s->agent[i];

        if (a->registered && !a->lost && !a->ended && a->heard_ns + silence_ns(s) < at)
            at = a->heard_ns + silence_ns(s);
    }
    return at;
}
