/* SPDX-License-Identifier: Apache-2.0 */
/* Who failed first, and what follows from it: the end, or another generation. */
#include "state_impl.h"

#include "agents/job/status_json.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

bool state_any_step(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].stepped)
            return true;
    return false;
}

static struct recovery_rank rank_of(const struct state_failure *f)
{
    return (struct recovery_rank){ f->set ? f->rank : -1, f->step, f->stepped };
}

static enum recovery judge(const struct state *s)
{
    const struct recovery_case c = {
        .cause = s->failure.cause,
        .code = s->failure.code,
        .generation = s->generation,
        .any_step = state_any_step(s),
        .now = rank_of(&s->failure),
        .before = rank_of(&s->before),
        .restarts_done = s->restarts,
        .restarts = s->o.restarts,
    };

    return recovery_decide(&c);
}

/* Why the job is not started again; "": nobody expects it. */
static const char *why_not(const struct state *s, enum recovery r)
{
    bool any_page = false;

    if (s->o.restarts == 0 || s->unwanted || !s->started_ns || s->failure.cause == CAUSE_LAUNCH)
        return "";
    for (int i = 0; i < s->n_ranks; i++)
        any_page = any_page || s->rank[i].phase >= 0;
    if (r == RECOVERY_NO_STEP && !any_page)
        return "no finished step is known, for only programs that use libeddis tell of theirs";
    return recovery_words(r);
}

/* "...; stopping 3 ranks; not started again: all restarts are used up" */
static void say_failure(struct state *s, const char *before, int stopping, enum recovery r)
{
    const char *why = why_not(s, r);
    char ranks[48] = "", again[128] = "";

    if (stopping > 0)
        (void)snprintf(ranks, sizeof ranks, "; stopping %d rank%s", stopping,
                       stopping == 1 ? "" : "s");
    if (*why)
        (void)snprintf(again, sizeof again, "; not started again: %s", why);
    state_say(s, "%s%s%s%s", before, s->failure.what, ranks, again);
}

/* The launch of the job's first generation over a network that another job had found: it may have
 * changed since, so find it anew, once.  No network kills.
 */
static bool blame_network(struct state *s)
{
    bool launch = s->failure.cause == CAUSE_LAUNCH || s->failure.cause == CAUSE_MPIRUN;

    if (!s->network_cached || !launch || s->failure.signal || s->generation != 1 ||
        !s->started_ns || state_any_step(s))
        return false;
    s->network_cached = false;
    state_say(s, "the network of an earlier job may have changed: it is measured again");
    state_push(s, ACTION_FORGET);
    return true;
}

/* The failure is known, or another one that came before it: go on, or end by it. */
static void decide(struct state *s, enum recovery r, int64_t now_ns)
{
    enum state_next next = r == RECOVERY_RESTART && !s->unwanted ? NEXT_REGROUP : NEXT_BYE;

    if (next == NEXT_BYE && !s->unwanted && blame_network(s))
        next = NEXT_NETWORK;
    s->ending = s->by_failure = next == NEXT_BYE;
    s->reason = s->ending ? s->failure.reason : NULL;
    s->exit_code = s->ending ? s->failure.exit_code : -1;
    (void)snprintf(s->message, sizeof s->message, "%s", s->ending ? s->failure.what : "");
    if (s->phase == PHASE_STOP)
        s->next = next;
    else
        state_stop(s, STOP_FAILURE, next, now_ns);
}

/* The failure that happened first counts, also when it is heard of second. */
static bool counts(const struct state *s, const struct state_failure *f)
{
    if (s->phase >= PHASE_REGROUP || (s->ending && !s->by_failure))
        return false;
    return !s->failure.set || f->at_ns < s->failure.at_ns;
}

void state_failed(struct state *s, const struct state_failure *f, int64_t now_ns)
{
    bool second = s->failure.set;
    enum recovery r;

    if (!counts(s, f))
        return;
    if (s->preempt_ns) { /* the job has to go: what it has saved by now is all there is */
        state_say(s, "%s", f->what);
        state_end(s, "preempted", state_preempted_code(s), STOP_FAILURE, now_ns);
        return;
    }
    s->failure = *f;
    r = judge(s);
    say_failure(s, second ? "before that: " : "", second || f->rank < 0 ? 0 : state_ranks_left(s),
                r);
    if (f->rank >= 0)
        state_push(s, ACTION_LAST_LINES)->rank = f->rank;
    decide(s, r, now_ns);
}

/* ---- of a rank ---- */

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

static struct state_failure failure_of(const struct state *s, const struct event *e, int agent,
                                       int64_t at_ns)
{
    const struct state_rank *r = &s->rank[e->rank];
    struct state_failure f = { .set = true,
                               .cause = e->oom      ? CAUSE_OOM
                                        : e->signal ? CAUSE_SIGNAL
                                                    : CAUSE_EXIT,
                               .reason = rank_reason(e),
                               .exit_code = rank_exit_code(e),
                               .at_ns = at_ns,
                               .rank = e->rank,
                               .pid = e->pid,
                               .code = e->code,
                               .signal = e->signal,
                               .step = r->steps,
                               .stepped = r->stepped };
    char death[128], elapsed[32], step[48] = "";

    (void)snprintf(f.node, sizeof f.node, "%s", state_host(s, agent));
    death_text(e, death, sizeof death);
    job_status_elapsed((double)(at_ns - s->started_ns) / CLOCK_S, elapsed, sizeof elapsed);
    if (f.step > 0)
        (void)snprintf(step, sizeof step, " at step %" PRId64, f.step);
    (void)snprintf(f.what, sizeof f.what, "rank %d (node %.200s, pid %d) %s%s, %s after the start",
                   e->rank, f.node, e->pid, death, step, elapsed);
    return f;
}

void state_rank_failed(struct state *s, const struct event *e, int agent, int64_t now_ns)
{
    struct state_failure f;

    if (s->preempt_ns || e->by_us)
        return;
    f = failure_of(s, e, agent, now_ns - e->age_ns);
    if (s->generation == 0)
        state_probe_failed(s, f.what, now_ns);
    else
        state_failed(s, &f, now_ns);
}

/* ---- of nobody's rank ---- */

void state_trouble(struct state *s, const struct state_trouble *t, int64_t now_ns)
{
    struct state_failure f = { .set = true,
                               .cause = t->cause,
                               .reason = t->reason,
                               .exit_code = t->exit_code,
                               .at_ns = t->at_ns,
                               .rank = -1,
                               .code = -1,
                               .signal = t->signal,
                               .of_daemon = t->of_daemon,
                               .step = -1 };

    if (s->generation == 0 && t->cause != CAUSE_NODE && t->cause != CAUSE_HANG) {
        state_probe_failed(s, t->text, now_ns);
        return;
    }
    (void)snprintf(f.node, sizeof f.node, "%s", state_host(s, t->agent));
    (void)snprintf(f.what, sizeof f.what, "%s", t->text);
    state_failed(s, &f, now_ns);
}

void state_fail(struct state *s, const char *reason, int exit_code, const char *sentence,
                int64_t now_ns)
{
    if (s->ending)
        return;
    state_say(s, "%s", sentence);
    (void)snprintf(s->message, sizeof s->message, "%s", sentence);
    state_end(s, reason, exit_code, STOP_FAILURE, now_ns);
}
