/* SPDX-License-Identifier: Apache-2.0 */
/* state_rank.c - starts and ends of ranks and of mpirun */
#include "state_input.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- all ranks have ended ---- */

/* End the probe after all its ranks have exited 0: stop it and plan next if its result has arrived,
 * else fail it.
 */
static void probe_ended(struct state *s, int64_t now_ns)
{
    if (s->network == STATE_NETWORK_WORKS)
        state_stop(s, STOP_FAILURE, NEXT_PLAN, now_ns);
    else
        state_probe_failed(s, "its measurement ended without a result", now_ns);
}

/* Check whether all ranks have exited 0 and each had found no step left to do, so that no
 * checkpoint is missing.
 */
static bool all_trained(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (!s->rank[r].trained)
            return false;
    return state_all_zero(s);
}

/* End a generation or probe whose ranks have ended well.  A job in STATE_OUTCOME_SAVING ends with
 * the outcome that it saves for, unless all steps were already done; any other job ends with
 * success.
 */
static void ended_well(struct state *s, int64_t now_ns)
{
    if (state_is_probe(s)) {
        probe_ended(s, now_ns);
        return;
    }
    if (s->outcome == STATE_OUTCOME_SAVING && !all_trained(s)) {
        state_end_saving(s, STOP_FAILURE, now_ns);
        return;
    }
    if (s->outcome == STATE_OUTCOME_SAVING)
        s->message[0] = '\0'; /* the request to stop came too late */
    state_end(s, STATE_OUTCOME_OK, STOP_FAILURE, now_ns);
}

/* Write "; stopping 3 ranks" to ret; write "" if a stop is under way or all ranks have done their
 * work.
 */
static void stopping_text(const struct state *s, char ret[48])
{
    ret[0] = '\0';
    if (!state_is_stopping(s) && !state_all_done(s))
        (void)snprintf(ret, 48, "; stopping %d rank%s", state_ranks_left(s),
                       state_ranks_left(s) == 1 ? "" : "s");
}

/* Write how mpirun ended, with mpirun's own error sentence if there is one, such as "mpirun exited
 * 1: SENTENCE", "mpirun died of signal 9 (Killed); SENTENCE; stopping 3 ranks", or "mpirun has
 * ended, but rank 2 did not report".
 */
static void mpirun_text(const struct state *s, char *ret, size_t size)
{
    char stopping[48];

    stopping_text(s, stopping);
    if (s->mpirun_signal)
        (void)snprintf(ret, size, "mpirun died of signal %d (%s)%s%s%s", s->mpirun_signal,
                       strsignal(s->mpirun_signal), s->mpirun_text[0] ? "; " : "", s->mpirun_text,
                       stopping);
    else if (s->mpirun_code == 0)
        (void)snprintf(ret, size, "mpirun has ended, but rank %d did not report",
                       state_first_not(s, true));
    else
        (void)snprintf(ret, size, "mpirun exited %d%s%s%s", s->mpirun_code,
                       state_all_zero(s) && !state_all_done(s)
                           ? " although every rank exited with code 0"
                           : "",
                       s->mpirun_text[0] ? ": " : "", s->mpirun_text);
}

/* Return the record of a failure of mpirun or of one of its daemons on this agent's node: a failed
 * launch if no rank is up yet, else an internal error. text is borrowed.
 */
static struct state_trouble trouble(const struct state *s, int agent, int64_t at_ns, int signal,
                                    const char *text)
{
    bool cannot_start =
        s->phase == STATE_PHASE_START && !state_any_rank(s, offsetof(struct state_rank, started));

    return (struct state_trouble){ .cause = cannot_start ? CAUSE_LAUNCH : CAUSE_MPIRUN,
                                   .reason = cannot_start ? "start" : "internal",
                                   .exit_code = cannot_start ? EXIT_START : EXIT_FAULT,
                                   .agent = agent,
                                   .at_ns = at_ns,
                                   .text = text,
                                   .signal = signal };
}

/* Return the first rank that exited 0 in the middle of its work, which makes mpirun end the other
 * ranks; -1: none is known, as in a program without libeddis.
 */
static int left_early(const struct state *s)
{
    for (int i = 0; i < s->n_ranks; i++) {
        const struct state_rank *r = &s->rank[i];

        if (r->exited && !r->by_us && r->code == 0 && !r->signal && r->phase >= 0 &&
            r->phase != STATE_RANK_DONE)
            return i;
    }
    return -1;
}

/* Fail the generation or probe because mpirun ended at at_ns.  If a rank of the job left early and
 * no signal killed mpirun, the failure is that rank's.
 */
static void mpirun_failed(struct state *s, int64_t at_ns, int64_t now_ns)
{
    char text[512];
    struct state_trouble t = trouble(s, s->first, at_ns, s->mpirun_signal, text);
    int left = s->mpirun_signal ? -1 : left_early(s);

    if (left >= 0 && !state_is_probe(s)) {
        state_rank_left(s, left, at_ns, now_ns);
        return;
    }
    if (s->mpirun_signal) { /* mpirun had started */
        t.cause = CAUSE_MPIRUN;
        t.reason = "internal";
        t.exit_code = EXIT_FAULT;
    }
    mpirun_text(s, text, sizeof text);
    state_trouble(s, &t, now_ns);
}

/* End the generation or probe after mpirun and all ranks have ended, or after SETTLE_S without the
 * reports that are missing: well if the job saves or all codes are 0, else with a failure.
 */
static void mpirun_settled(struct state *s, int64_t now_ns)
{
    if (s->outcome == STATE_OUTCOME_SAVING || (state_all_zero(s) && s->mpirun_code == 0))
        ended_well(s, now_ns);
    else
        mpirun_failed(s, s->mpirun_over ? s->mpirun_ns : now_ns, now_ns);
}

/* Check whether the wrapper of any rank has hidden the rank's death from mpirun.  Then mpirun does
 * not end by itself.
 */
static bool any_lingers(const struct state *s)
{
    return state_any_rank(s, offsetof(struct state_rank, lingers));
}

/* End the generation or probe because the wait is over: for ranks' reports after mpirun's end, or
 * for mpirun's end after that of all ranks.  Print that mpirun still runs if it should have ended.
 */
void state_rank_settled(struct state *s, const struct state_input *in)
{
    s->settle_ns = 0;
    if (!state_all_zero(s) || s->mpirun_over) {
        mpirun_settled(s, in->now_ns);
        return;
    }
    if (!any_lingers(s))
        state_say(s, "mpirun is still running after its ranks have ended");
    ended_well(s, in->now_ns);
}

/* ---- mpirun ---- */

/* Record how and when mpirun ended, from its agent's event. */
static void note_mpirun(struct state *s, const struct event *e, int64_t now_ns)
{
    s->mpirun_over = true;
    s->mpirun_code = e->code;
    s->mpirun_signal = e->signal;
    s->mpirun_ns = now_ns - e->age_ns;
    (void)snprintf(s->mpirun_text, sizeof s->mpirun_text, "%s", e->text ? e->text : "");
}

/* Record the end of mpirun in a generation or probe that is up.  If we stopped mpirun, do nothing
 * else.  If all ranks have ended or a signal killed mpirun, end the generation; else wait SETTLE_S
 * for the ranks' reports.
 */
void state_rank_mpirun_exit(struct state *s, const struct state_input *in)
{
    const struct event *e = in->event;

    note_mpirun(s, e, in->now_ns);
    if (e->by_us)
        return;
    /* A banner of mpirun that one sentence replaces stays in mpirun.log. */
    if (e->last_lines && *e->last_lines && !s->mpirun_text[0] && !state_all_zero(s) &&
        !state_is_probe(s))
        state_push(s, ACTION_LAST_LINES);
    if (e->signal || state_first_not(s, true) < 0)
        mpirun_settled(s, in->now_ns);
    else
        s->settle_ns = in->now_ns + SETTLE_S * CLOCK_S;
}

/* Show the end of mpirun's log if the failed rank ended before its first step and printed nothing:
 * MPI's own messages, such as missing memory, are then the only cause known.  Name the log in
 * s->message too.
 */
static void say_mpi_words(struct state *s, const struct event *e)
{
    const struct state_failure *f = &s->failure;
    size_t n = strlen(s->message);

    if (!f->set || f->rank < 0 || f->cause != CAUSE_EXIT || !f->silent || state_any_step(s) ||
        !e->last_lines || !*e->last_lines)
        return;
    state_say(s, "rank %d has printed nothing; MPI's own messages are in mpirun.log", f->rank);
    state_push(s, ACTION_LAST_LINES)->rank = -1;
    if (n)
        (void)snprintf(s->message + n, sizeof s->message - n, "; see mpirun.log");
}

/* Record mpirun's end while everything is being stopped, and handle it as a failure if a signal
 * that is not ours killed mpirun.  Within SETTLE_S after a recorded end of a daemon, mpirun's death
 * may be the cause of that end, and counts as earlier.
 */
void state_rank_mpirun_exit_late(struct state *s, const struct state_input *in)
{
    const struct state_failure *f = &s->failure;
    int64_t at_ns;

    note_mpirun(s, in->event, in->now_ns);
    say_mpi_words(s, in->event);
    if (!in->event->signal || in->event->by_us)
        return;
    at_ns = s->mpirun_ns;
    if (f->of_daemon && at_ns >= f->at_ns && at_ns < f->at_ns + SETTLE_S * CLOCK_S)
        at_ns = f->at_ns - 1;
    mpirun_failed(s, at_ns, in->now_ns);
}

/* Handle the end of mpirun's daemon on another node as a failure, unless we stopped it: mpirun ends
 * seconds later, or not at all if the daemon could not start.
 */
void state_rank_daemon_exit(struct state *s, const struct state_input *in)
{
    const struct event *e = in->event;
    char text[512], stopping[48];
    struct state_trouble t = trouble(s, in->agent, in->now_ns - e->age_ns, e->signal, text);

    if (e->by_us)
        return;
    t.of_daemon = !e->signal;
    stopping_text(s, stopping);
    (void)snprintf(text, sizeof text, "node %.120s: %.300s%s", state_host(s, in->agent),
                   e->text ? e->text : "", stopping);
    state_trouble(s, &t, in->now_ns);
}

/* ---- ranks ---- */

/* Record that a rank has started, with its process id. */
static void note_started(struct state *s, const struct event *e)
{
    s->rank[e->rank].started = true;
    s->rank[e->rank].pid = e->pid;
}

/* Check whether a rank died of a signal after its work, as frameworks do at teardown: its wrapper
 * has hidden that from mpirun.
 */
static bool is_late_death(const struct event *e)
{
    return e->lingers && e->signal && !e->by_us;
}

/* Record how a rank ended; a death after its work counts as exit 0. */
static void note_exit(struct state *s, const struct event *e)
{
    struct state_rank *r = &s->rank[e->rank];

    note_started(s, e);
    r->exited = true;
    r->code = is_late_death(e) ? 0 : e->code;
    r->signal = is_late_death(e) ? 0 : e->signal;
    r->by_us = e->by_us;
    r->oom = e->oom;
    r->peak_bytes = e->peak_bytes;
    r->lingers = e->lingers;
}

/* Enter RUN, or PROBE_RUN, once all ranks have started. */
static void all_up(struct state *s, int64_t now_ns)
{
    if (state_first_not(s, false) >= 0)
        return;
    if (s->phase == STATE_PHASE_START)
        state_go(s, STATE_PHASE_RUN, now_ns);
    else if (s->phase == STATE_PHASE_PROBE_START)
        state_go(s, STATE_PHASE_PROBE_RUN, now_ns);
}

/* Record that a rank has started, and enter RUN after the last one. */
void state_rank_started(struct state *s, const struct state_input *in)
{
    if (!state_has_rank(s, in->agent, in->event->rank))
        return;
    note_started(s, in->event);
    all_up(s, in->now_ns);
}

/* Record that a rank has started, in a phase where that changes nothing else. */
void state_rank_started_late(struct state *s, const struct state_input *in)
{
    if (state_has_rank(s, in->agent, in->event->rank))
        note_started(s, in->event);
}

/* Handle a rank's exit with an error or by a signal as a failure.  If the rank died after its work,
 * only print that.
 */
static void note_failure(struct state *s, const struct state_input *in)
{
    const struct event *e = in->event;

    if (is_late_death(e)) {
        state_say(s,
                  "rank %d (node %.200s, pid %d) died of signal %d (%s) after it had finished its "
                  "steps and called eddis_close; this counts as success",
                  e->rank, state_host(s, in->agent), e->pid, e->signal, strsignal(e->signal));
        return;
    }
    if (in->event->code != 0 || in->event->signal)
        state_rank_failed(s, in->event, in->agent, in->now_ns);
}

/* Record a rank's end, and handle it as a failure if it is one.  After the last rank's end, end the
 * generation if mpirun has ended, else wait for mpirun's end.
 */
void state_rank_exit(struct state *s, const struct state_input *in)
{
    if (!state_has_rank(s, in->agent, in->event->rank))
        return;
    note_exit(s, in->event);
    all_up(s, in->now_ns);
    note_failure(s, in);
    if (!state_is_up(s) || state_first_not(s, true) >= 0)
        return;
    if (s->mpirun_over)
        mpirun_settled(s, in->now_ns);
    else
        s->settle_ns = in->now_ns + (any_lingers(s) ? 0 : MPIRUN_END_S * CLOCK_S);
}

/* Record a rank's end while everything is being stopped.  It may be an earlier failure than the
 * recorded one, or complete a success.
 */
void state_rank_exit_late(struct state *s, const struct state_input *in)
{
    if (!state_has_rank(s, in->agent, in->event->rank))
        return;
    note_exit(s, in->event);
    note_failure(s, in);
    state_done_late(s, in->now_ns);
}
