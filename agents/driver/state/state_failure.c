/* SPDX-License-Identifier: Apache-2.0 */
/* state_failure.c - the first failure, and what follows from it: the end, or another generation */
#include "state_impl.h"

#include "agents/job/status_json.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Convert a failure to the rank record of scheduler/recovery.h; rank -1: no rank failed. */
static struct recovery_rank rank_of(const struct state_failure *f)
{
    return (struct recovery_rank){ .rank = f->set ? f->rank : -1,
                                   .step = f->step,
                                   .stepped = f->stepped,
                                   .code = f->signal ? 128 + f->signal : f->code,
                                   .age_s = (double)f->age_ns / CLOCK_S };
}

bool state_failure_less(const struct state_failure *f)
{
    return f->cause == CAUSE_OOM && f->at_once > 1;
}

/* Check whether a rank reported by its exit code that its memory is too small for one sample.  If
 * the kernel killed it, another process may have taken the memory.
 */
static bool is_one_sample(const struct state_failure *f)
{
    return f->cause == CAUSE_OOM && f->at_once == 1 && !f->signal;
}

/* Return the facts from which scheduler/recovery.h decides what follows a failure f; nothing is
 * changed.
 */
static struct recovery_case recovery_case(const struct state *s, const struct state_failure *f)
{
    struct recovery_case c = {
        .cause = f->cause,
        .code = f->code,
        .generation = s->generation,
        .any_step = state_any_step(s),
        .now = rank_of(f),
        .before = rank_of(&s->before),
        .restarts_done = s->restarts_recent,
        .restarts = s->o.restarts,
        .losses_done = s->losses_recent,
        .losses = s->o.node_losses,
        .failed_starts = s->failed_starts,
        .signal = f->signal,
        .unwanted = s->outcome == STATE_OUTCOME_UNWANTED,
        .started = s->started_ns != 0,
        .any_up = state_any_rank(s, offsetof(struct state_rank, started)),
        .all_up = s->n_ranks > 0 && state_first_not(s, false) < 0,
        .all_done = state_all_done(s),
        .echo = f->echo,
        .trained = f->trained,
        .less = state_failure_less(f),
        .one_sample = is_one_sample(f),
        .network_cached = s->network == STATE_NETWORK_CACHED,
        .any_page = s->any_page,
        .models = s->models,
        .asked = s->o.restarts_asked,
        .alive_s = (double)f->alive_ns / CLOCK_S,
    };

    return c;
}

/* Return what the user can do, as the end of a sentence (a string constant), against a failure that
 * nothing cures automatically; "": nothing is known.
 */
static const char *advice(const struct state_failure *f)
{
    if (is_one_sample(f))
        return "; make the model or its samples smaller, or leave this device out";
    return f->cause == CAUSE_OOM
               ? "; lower batch.global, or batch.max of this node, or raise the memory limit"
               : "";
}

/* Print the recorded failure: "...; stopping 3 ranks; not started again: all restarts are used up".
 * before: a prefix; stopping: the number of ranks to stop, 0: do not print it; why: reason that the
 * job is not started again, "" if it is.
 */
static void say_failure(struct state *s, const char *before, int stopping, const char *why)
{
    char ranks[48] = "", again[224] = "";

    if (stopping > 0)
        (void)snprintf(ranks, sizeof ranks, "; stopping %d rank%s", stopping,
                       stopping == 1 ? "" : "s");
    if (*why)
        (void)snprintf(again, sizeof again, "; not started again: %s%s", why, advice(&s->failure));
    state_say(s, "%s%s%s%s", before, s->failure.what, ranks, again);
}

/* Drop the cached network, which may have changed since an earlier job; it is measured again. */
static void forget_network(struct state *s)
{
    s->network = STATE_NETWORK_UNKNOWN;
    state_say(
        s, "the network may have changed since an earlier job measured it; it is measured again");
    state_push(s, ACTION_FORGET);
}

/* Decide what follows the recorded failure: the job's end, another generation, or, if a cached
 * network may have caused it, to forget that one and choose again.  Set the outcome, reason, exit
 * code and message, and stop what runs.
 */
static void decide(struct state *s, const struct recovery_case *c, int64_t now_ns)
{
    enum state_next next = recovery_decide(c) == RECOVERY_RESTART ? NEXT_REGROUP : NEXT_BYE;

    if (recovery_network_again(c)) {
        forget_network(s);
        next = NEXT_NETWORK;
    }
    if (next == NEXT_BYE) {
        s->outcome = c->unwanted ? STATE_OUTCOME_UNWANTED : STATE_OUTCOME_FAILED;
        s->reason = s->failure.reason;
        s->exit_code = s->failure.exit_code;
    } else {
        s->outcome = STATE_OUTCOME_OPEN;
        s->reason = NULL;
        s->exit_code = -1;
    }
    s->message[0] = '\0';
    if (next == NEXT_BYE)
        (void)snprintf(s->message, sizeof s->message, "%.400s%s", s->failure.what,
                       advice(&s->failure));
    if (state_is_stopping(s))
        s->next = next;
    else
        state_stop(s, STOP_FAILURE, next, now_ns);
}

/* Print failure `what`, which came after all work was done, delete its record, and end the job with
 * success.
 */
static void done(struct state *s, const char *what, int64_t now_ns)
{
    state_say(s, "%s; every rank has exited with code 0, so the job has succeeded", what);
    s->failure = (struct state_failure){ .rank = -1 };
    s->outcome = STATE_OUTCOME_OPEN;
    s->message[0] = '\0';
    state_end(s, STATE_OUTCOME_OK, STOP_FAILURE, now_ns);
}

/* Check whether failure f, a rank's exit, may be a consequence of the other, a rank killed on the
 * same node, although f was reported as earlier: wrappers report after reaping, and a killed
 * process is reaped late on a busy machine.
 */
static bool follows(const struct state_failure *f, const struct state_failure *other)
{
    bool killed = other->rank >= 0 && other->signal && other->signal != SIGABRT;

    return killed && f->rank >= 0 && f->cause == CAUSE_EXIT && strcmp(f->node, other->node) == 0;
}

/* Check whether failure f came before the other.  A rank that reports another rank's failure as its
 * cause came later, whatever its clock says: connections end before a process does.
 */
static bool is_earlier(const struct state_failure *f, const struct state_failure *other)
{
    bool ranks = f->rank >= 0 && other->rank >= 0;

    if (ranks && f->echo != other->echo)
        return other->echo;
    return f->at_ns < other->at_ns && !follows(f, other);
}

/* Check whether failure f is recorded in place of any recorded one: the earlier failure counts,
 * even if it is reported second, until the outcome is final.
 */
static bool counts(const struct state *s, const struct state_failure *f)
{
    switch (s->outcome) {
    case STATE_OUTCOME_OPEN:
    case STATE_OUTCOME_SAVING:
    case STATE_OUTCOME_FAILED:
    case STATE_OUTCOME_UNWANTED:
        return !s->failure.set || is_earlier(f, &s->failure);
    default:
        return false;
    }
}

/* Set f->age_ns and f->alive_ns: how long at the failure the generation had run, and how long ago
 * its first sign of life was.  Do nothing if mpirun was not ordered.
 */
static void note_age(const struct state *s, struct state_failure *f)
{
    if (!s->started_ns)
        return;
    f->age_ns = (f->since_ns ? f->since_ns : f->at_ns) - s->started_ns;
    if (s->alive_ns) /* at least 1: the first sign of life may be reported after the end */
        f->alive_ns = f->at_ns > s->alive_ns ? f->at_ns - s->alive_ns : 1;
}

void state_failed(struct state *s, const struct state_failure *failure, int64_t now_ns)
{
    bool second = s->failure.set;
    struct state_failure with_age = *failure, *f = &with_age;
    struct recovery_case c;

    if (!counts(s, f))
        return;
    if (s->outcome == STATE_OUTCOME_SAVING) { /* no later checkpoint will come */
        state_say(s, "%s", f->what);
        state_end_saving(s, STOP_FAILURE, now_ns);
        return;
    }
    note_age(s, f);
    c = recovery_case(s, f);
    if (recovery_decide(&c) == RECOVERY_DONE) {
        done(s, f->what, now_ns);
        return;
    }
    s->failure = *f;
    say_failure(s, second ? "before that: " : "", second || f->rank < 0 ? 0 : state_ranks_left(s),
                recovery_reasons(&c));
    if (f->rank >= 0)
        state_push(s, ACTION_LAST_LINES)->rank = f->rank;
    decide(s, &c, now_ns);
}

void state_done_late(struct state *s, int64_t now_ns)
{
    bool blamed = s->failure.set && s->failure.rank < 0;
    struct recovery_case c = recovery_case(s, &s->failure);

    if (!blamed || s->outcome > STATE_OUTCOME_UNWANTED || recovery_decide(&c) != RECOVERY_DONE)
        return;
    done(s, "no rank was stopped by it", now_ns);
}

/* ---- failures of the probe ---- */

void state_probe_failed(struct state *s, const char *why, int64_t now_ns)
{
    if (state_is_stopping(s))
        return;
    (void)snprintf(s->probe_trouble, sizeof s->probe_trouble, "%s", why);
    state_stop(s, STOP_FAILURE, NEXT_NETWORK, now_ns);
}

/* ---- failures of a rank ---- */

/* Write a size as "512 MB" or "1.1 GB", in decimal units, to ret [size].  Return ret. */
static char *bytes_text(int64_t bytes, char *ret, size_t size)
{
    if (bytes < INT64_C(1000000000))
        (void)snprintf(ret, size, "%.0f MB", (double)bytes / 1e6);
    else
        (void)snprintf(ret, size, "%.1f GB", (double)bytes / 1e9);
    return ret;
}

/* Write "was killed: out of memory (it held 1.1 GB, the limit is 2.0 GB)", without numbers that are
 * unknown.
 */
static void oom_text(const struct event *e, char *ret, size_t size)
{
    char held[32], limit[32];

    bytes_text(e->peak_bytes, held, sizeof held);
    bytes_text(e->limit_bytes, limit, sizeof limit);
    if (e->peak_bytes > 0 && e->limit_bytes > 0)
        (void)snprintf(ret, size, "was killed: out of memory (it held %s, the limit is %s)", held,
                       limit);
    else if (e->peak_bytes > 0)
        (void)snprintf(ret, size, "was killed: out of memory (it held %s)", held);
    else
        (void)snprintf(ret, size, "was killed: out of memory");
}

/* Write how a rank ended: "exited 1", "died of signal 9 (Killed)", "was killed: out of memory ...".
 */
static void death_text(const struct event *e, char *ret, size_t size)
{
    if (e->oom && !e->signal)
        (void)snprintf(ret, size, "exited %d: out of memory", e->code);
    else if (e->oom)
        oom_text(e, ret, size);
    else if (e->signal)
        (void)snprintf(ret, size, "died of signal %d (%s)", e->signal, strsignal(e->signal));
    else
        (void)snprintf(ret, size, "exited %d%s", e->code, e->code ? "" : " without eddis_close");
}

/* Return the reason in status documents for a rank's failure, a static string. */
static const char *rank_reason(const struct event *e)
{
    return e->oom ? "oom" : e->signal ? "rank_signal" : "rank_exit";
}

/* Return the job's exit code for a rank's failure: its own code, or 128 + signal; never 0. */
static int rank_exit_code(const struct event *e)
{
    return e->oom && e->signal ? EXIT_KILLED
           : e->signal         ? EXIT_SIGNAL + e->signal
           : e->code           ? e->code
                               : EXIT_FAULT;
}

/* Return the record of a rank's failure at at_ns, with its sentence for people. */
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
                               .at_once = r->at_once,
                               .stepped = r->stepped,
                               .silent =
                                   (!e->last_lines || !*e->last_lines) && (!e->text || !*e->text),
                               .echo = e->echo,
                               .trained = r->trained || r->phase == STATE_RANK_DONE };
    char death[128], elapsed[32], step[48] = "";

    (void)snprintf(f.node, sizeof f.node, "%s", state_host(s, agent));
    death_text(e, death, sizeof death);
    job_status_elapsed((double)(at_ns - s->started_ns) / CLOCK_S, elapsed, sizeof elapsed);
    if (f.step > 0)
        (void)snprintf(step, sizeof step, " at step %" PRId64, f.step);
    (void)snprintf(f.what, sizeof f.what,
                   "rank %d (node %.200s, pid %d) %s%s, %s after the start%s%s", e->rank, f.node,
                   e->pid, death, step, elapsed, e->text && *e->text ? "; " : "",
                   e->text ? e->text : "");
    return f;
}

/* Record in s->unsaved a rank's failure while the job saves, if it is the first: that the save
 * failed may be its result.  Ignore a rank ended by SIGTERM or with code 0: programs end so when
 * they are stopped.
 */
static void note_unsaved(struct state *s, const struct state_failure *f)
{
    if (f->signal == SIGTERM || (f->code == 0 && f->signal == 0))
        return;
    if (!s->unsaved.set || is_earlier(f, &s->unsaved))
        s->unsaved = *f;
}

const struct state_failure *state_failure_reported(const struct state *s)
{
    if (s->failure.set)
        return &s->failure;
    return s->unsaved.set && s->checkpoint != STATE_CHECKPOINT_SEEN ? &s->unsaved : &s->before;
}

void state_rank_failed(struct state *s, const struct event *e, int agent, int64_t now_ns)
{
    struct state_failure f;

    if (e->by_us)
        return;
    f = failure_of(s, e, agent, now_ns - e->age_ns);
    if (s->outcome == STATE_OUTCOME_SAVING) {
        note_unsaved(s, &f);
        return;
    }
    /* The agent knows the order of failures on its node better than the reports' ages show it. */
    if (e->first && s->failure.set && s->failure.cause == CAUSE_EXIT &&
        strcmp(f.node, s->failure.node) == 0 && f.at_ns >= s->failure.at_ns)
        f.at_ns = s->failure.at_ns - 1;
    if (state_is_probe(s))
        state_probe_failed(s, f.what, now_ns);
    else
        state_failed(s, &f, now_ns);
}

void state_rank_left(struct state *s, int rank, int64_t at_ns, int64_t now_ns)
{
    const struct state_rank *r = &s->rank[rank];
    const struct event e = { .rank = rank, .pid = r->pid };
    struct state_failure f = failure_of(s, &e, r->agent, at_ns);

    state_failed(s, &f, now_ns);
}

/* ---- failures that are not a rank's ---- */

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

    if (state_is_probe(s) && t->cause != CAUSE_NODE) {
        state_probe_failed(s, t->text, now_ns);
        return;
    }
    (void)snprintf(f.node, sizeof f.node, "%s", state_host(s, t->agent));
    (void)snprintf(f.what, sizeof f.what, "%s", t->text);
    state_failed(s, &f, now_ns);
}

void state_launch_failed(struct state *s, int agent, int64_t at_ns, const char *text,
                         int64_t now_ns)
{
    const struct state_trouble t = { .cause = CAUSE_LAUNCH,
                                     .reason = "start",
                                     .exit_code = EXIT_START,
                                     .agent = agent,
                                     .at_ns = at_ns,
                                     .text = text };

    state_trouble(s, &t, now_ns);
}
