/* SPDX-License-Identifier: Apache-2.0 */
/* state_wish.c - what the user wants, by signal; what the caller wants; and limits of time */
#include "state_input.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Somebody asks for the job's end: no failure leads to a restart any more. */
static void unwant(struct state *s)
{
    if (s->outcome == STATE_OUTCOME_FAILED)
        s->outcome = STATE_OUTCOME_UNWANTED;
}

static void kill_at_once(struct state *s, int64_t now_ns)
{
    if (!state_is_stopping(s) || s->ladder == STOP_KILL)
        return;
    state_say(s, "killing what is left");
    state_stop(s, STOP_KILL, s->next, now_ns);
}

/* SIGQUIT: nothing is asked, all is killed. */
void state_wish_quit(struct state *s, const struct state_input *in)
{
    unwant(s);
    if (state_is_ending(s)) {
        kill_at_once(s, in->now_ns);
        return;
    }
    (void)snprintf(s->message, sizeof s->message, "stopped by SIGQUIT");
    state_say(s, "SIGQUIT: killing what runs");
    state_end(s, STATE_OUTCOME_QUIT, STOP_KILL, in->now_ns);
    kill_at_once(s, in->now_ns); /* a stop may have been under way */
}

void state_wish_usr2(struct state *s, const struct state_input *in)
{
    (void)in;
    state_push(s, ACTION_SIGNAL);
}

/* ---- a checkpoint first ---- */

void state_wish_checkpoint_seen(struct state *s, const struct state_input *in)
{
    state_note_checkpoint(s, in->step);
}

/* A checkpoint of this step or a later one will do. */
static void want_checkpoint(struct state *s, int64_t step)
{
    s->asked_step = step;
    if (s->checkpoint == STATE_CHECKPOINT_UNASKED)
        s->checkpoint = STATE_CHECKPOINT_ASKED;
}

/* Steps that all ranks have done. */
static int64_t steps(const struct state *s)
{
    int64_t n = s->n_ranks ? INT64_MAX : 0;

    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].steps < n)
            n = s->rank[r].steps;
    return n;
}

static bool is_recovering(const struct state *s)
{
    return (s->restarts > 0 && !state_any_step(s)) ||
           (state_is_stopping(s) && s->next == NEXT_REGROUP);
}

/* Who has left takes part in no checkpoint any more. */
static bool any_left(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].phase == STATE_RANK_DONE)
            return true;
    return false;
}

/* Who tells numbers of steps alone, or prints them, has no libeddis that would be asked. */
static bool any_told(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].told)
            return true;
    return false;
}

/* Whether the program has done steps that its newest checkpoint may lack, and can write another. */
static bool has_to_save(const struct state *s)
{
    return steps(s) > 0 && !any_told(s) && !any_left(s) && !is_recovering(s);
}

/* Ask the program for a checkpoint, behind which the job ends so. */
static void save(struct state *s, enum state_outcome o, int by, int64_t now_ns)
{
    s->outcome = STATE_OUTCOME_SAVING;
    s->saving_for = o;
    s->asked_ns = now_ns;
    s->asked_by = by;
    want_checkpoint(s, steps(s));
    s->preempt_ns = clock_after_ns(now_ns, s->o.checkpoint_ns);
    state_push(s, ACTION_CHECKPOINT);
}

void state_wish_checkpoint_late(struct state *s, const struct state_input *in)
{
    state_say(s, "%s within %g s (timeouts.checkpoint); stopping",
              s->checkpoint == STATE_CHECKPOINT_SEEN
                  ? "the checkpoint is there, but the workers have not ended"
                  : "no checkpoint",
              (double)s->o.checkpoint_ns / CLOCK_S);
    state_end_saving(s, STOP_ORDERLY, in->now_ns);
}

/* ---- interrupted ---- */

static void say_interrupted(struct state *s, const struct state_input *in, const char *first)
{
    int n = state_is_launched(s) ? state_ranks_left(s) : 0;

    (void)snprintf(s->message, sizeof s->message, "stopped by %s", in->text);
    if (n)
        state_say(s, "interrupted: %sstopping %d rank%s; %s again to kill at once", first, n,
                  n == 1 ? "" : "s", in->again);
}

void state_wish_interrupt(struct state *s, const struct state_input *in)
{
    unwant(s);
    if (state_is_ending(s)) {
        kill_at_once(s, in->now_ns);
        return;
    }
    say_interrupted(s, in, "");
    state_end(s, STATE_OUTCOME_INTERRUPTED, STOP_ORDERLY, in->now_ns);
}

/* What was trained is saved first; who asks again does not wait for that, nor for anything else. */
void state_wish_interrupt_running(struct state *s, const struct state_input *in)
{
    if (s->outcome == STATE_OUTCOME_SAVING && s->saving_for == STATE_OUTCOME_INTERRUPTED) {
        state_say(s, "killing what is left, without the checkpoint");
        state_end(s, STATE_OUTCOME_INTERRUPTED, STOP_KILL, in->now_ns);
        return;
    }
    if (s->outcome != STATE_OUTCOME_OPEN || s->o.unsaved || !has_to_save(s)) {
        state_wish_interrupt(s, in);
        return;
    }
    say_interrupted(s, in, "asking for a checkpoint, then ");
    save(s, STATE_OUTCOME_INTERRUPTED, -1, in->now_ns);
}

/* ---- preempted ---- */

static void say_stopped(struct state *s, const struct state_input *in, const char *what)
{
    const char *on = in->agent < 0 ? "" : " on ";
    const char *host = in->agent < 0 ? "" : state_host(s, in->agent);

    (void)snprintf(s->message, sizeof s->message, "stopped by SIG%s%s%s", sigabbrev_np(in->signal),
                   on, host);
    if (what)
        state_say(s, "%s%s%s: %s", strsignal(in->signal), on, host, what);
}

/* While the job recovers from a failure its newest checkpoint is all there is, so that will do; so
 * will the one that it went on from itself as long as it has none of its own.
 */
static void take_newest(struct state *s)
{
    bool at_begun = s->o.resumes && s->resume_step < 0;

    if (!is_recovering(s) && !(at_begun && !state_any_step(s)))
        return;
    want_checkpoint(s, 0);
    state_note_checkpoint(s, at_begun ? 0 : s->resume_step);
}

void state_wish_preempt(struct state *s, const struct state_input *in)
{
    unwant(s);
    if (state_is_ending(s))
        return;
    take_newest(s);
    say_stopped(s, in, "stopping");
    state_end(s, STATE_OUTCOME_PREEMPTED, STOP_ORDERLY, in->now_ns);
}

/* Whether a signal that comes while the job saves is the one that it saves for, by another way.
 * What Slurm sends to a job reaches its nodes one after the other, in a large one seconds apart: so
 * an agent never asks twice, nor does the driver that hears of it from an agent first.
 */
static bool is_the_same(struct state *s, const struct state_input *in)
{
    if (in->agent < 0 && s->asked_by >= 0) {
        s->asked_by = -1;
        s->asked_ns = in->now_ns;
    }
    return in->agent >= 0 || in->now_ns < s->asked_ns + REPEAT_S * CLOCK_S;
}

/* Ask the program for a checkpoint once; a second time, or when it has taken no step: just stop.
 * The one that the end of the job's time asked for nobody has asked for yet.
 */
void state_wish_preempt_running(struct state *s, const struct state_input *in)
{
    bool saving = s->outcome == STATE_OUTCOME_SAVING;

    if (saving && s->saving_for == STATE_OUTCOME_TIMEOUT) {
        say_stopped(s, in, NULL);
        s->saving_for = STATE_OUTCOME_PREEMPTED;
        s->asked_ns = in->now_ns;
        s->asked_by = in->agent;
        return;
    }
    if (saving && is_the_same(s, in))
        return;
    if (saving || !has_to_save(s)) {
        state_wish_preempt(s, in);
        return;
    }
    say_stopped(s, in, "asking for a checkpoint, then stopping");
    save(s, STATE_OUTCOME_PREEMPTED, in->agent, in->now_ns);
}

/* ---- limits of time ---- */

static void say_over(struct state *s, const char *next)
{
    (void)snprintf(s->message, sizeof s->message, "the job's time of %g s is over (timeouts.job)",
                   (double)s->o.job_ns / CLOCK_S);
    state_say(s, "%s%s", s->message, next);
}

void state_wish_job_late(struct state *s, const struct state_input *in)
{
    say_over(s, "");
    state_end(s, STATE_OUTCOME_TIMEOUT, STOP_ORDERLY, in->now_ns);
}

/* What was trained is saved first, as for an interrupt. */
void state_wish_job_late_running(struct state *s, const struct state_input *in)
{
    if (s->o.unsaved || !has_to_save(s)) {
        state_wish_job_late(s, in);
        return;
    }
    say_over(s, "; asking for a checkpoint, then stopping");
    save(s, STATE_OUTCOME_TIMEOUT, -1, in->now_ns);
}

/* ---- the caller's ---- */

void state_wish_finish(struct state *s, const struct state_input *in)
{
    state_end(s, STATE_OUTCOME_OK, STOP_FAILURE, in->now_ns);
}

void state_wish_fail(struct state *s, const struct state_input *in)
{
    if (state_is_ending(s))
        return;
    state_say(s, "%s", in->text);
    (void)snprintf(s->message, sizeof s->message, "%s", in->text);
    state_end_by(s, STATE_OUTCOME_FAULT, in->reason, in->exit_code, in->now_ns);
}

/* In the first generation the job asks for what these nodes cannot give. */
void state_wish_unplannable(struct state *s, const struct state_input *in)
{
    struct state_input usage = *in;

    usage.reason = "usage";
    usage.exit_code = 2;
    if (s->generation > 1)
        state_give_up(s, in->text, in->now_ns);
    else
        state_wish_fail(s, &usage);
}
