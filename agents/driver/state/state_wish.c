/* SPDX-License-Identifier: Apache-2.0 */
/* state_wish.c - what the user wants, by signal; what the caller wants; and limits of time */
#include "state_input.h"

#include "lib/base/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { BY_DRIVER = -1, BY_NOBODY = -2 }; /* who has got a signal of preemption, but for an agent */

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

/* Steps that all ranks have done, as far as is known: of one that was not heard of yet, more than
 * what the generation went on from, so that its checkpoint is none.
 */
static int64_t steps(const struct state *s)
{
    int64_t n = s->n_ranks ? INT64_MAX : 0;

    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].steps < n)
            n = s->rank[r].steps;
    return n > 0 ? n : state_resume_step(s) + 1;
}

/* One that has done some is enough: others are heard of later, or found no sample left for one. */
static bool any_steps(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].steps > 0)
            return true;
    return false;
}

static bool is_recovering(const struct state *s)
{
    return (s->generation > 1 && !state_any_step(s)) ||
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
    return any_steps(s) && !any_told(s) && !any_left(s) && !is_recovering(s);
}

/* Whether no step is left, and some have yet to end, as one that saves its model for good: what
 * they do is all that is missing, and nobody can write a checkpoint any more.
 */
static bool is_finishing(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].trained)
            return any_left(s) && !is_recovering(s);
    return false;
}

/* Whether something is to be waited for before the job ends; of an interrupt that is no checkpoint
 * where none can be written.
 */
static bool is_worth_waiting(const struct state *s, bool unsaved)
{
    return is_finishing(s) || (!unsaved && has_to_save(s));
}

static const char *waits_text(const struct state *s)
{
    return is_finishing(s) ? "all is trained: waiting for the workers to finish"
                           : "asking for a checkpoint, then stopping";
}

/* Ask the program for a checkpoint, or let it finish, behind which the job ends so. */
static void save(struct state *s, enum state_outcome o, int by, int64_t now_ns)
{
    s->outcome = STATE_OUTCOME_SAVING;
    s->saving_for = o;
    s->asked_ns = now_ns;
    s->asked_by = by;
    s->preempt_ns = clock_after_ns(now_ns, s->o.checkpoint_ns);
    if (is_finishing(s))
        return;
    want_checkpoint(s, steps(s));
    state_push(s, ACTION_CHECKPOINT);
}

void state_wish_checkpoint_late(struct state *s, const struct state_input *in)
{
    static const char *const what[] = {
        [STATE_CHECKPOINT_UNASKED] = "all is trained, but the workers have not ended",
        [STATE_CHECKPOINT_ASKED] = "no checkpoint",
        [STATE_CHECKPOINT_SEEN] = "the checkpoint is there, but the workers have not ended",
    };

    state_say(s, "%s within %g s (timeouts.checkpoint); stopping", what[s->checkpoint],
              (double)s->o.checkpoint_ns / CLOCK_S);
    state_end_saving(s, STOP_ORDERLY, in->now_ns);
}

/* ---- interrupted ---- */

static void say_interrupted(struct state *s, const struct state_input *in, const char *first)
{
    int n = state_is_launched(s) ? state_ranks_left(s) : 0;

    (void)snprintf(s->message, sizeof s->message, "stopped by %s", in->text);
    if (n)
        state_say(s, "interrupted: %s %d rank%s; %s again to kill at once", first, n,
                  n == 1 ? "" : "s", in->again);
}

void state_wish_interrupt(struct state *s, const struct state_input *in)
{
    unwant(s);
    if (state_is_ending(s)) {
        kill_at_once(s, in->now_ns);
        return;
    }
    say_interrupted(s, in, "stopping");
    state_end(s, STATE_OUTCOME_INTERRUPTED, STOP_ORDERLY, in->now_ns);
}

/* What was trained is saved first, also where somebody else has asked for that a moment ago; who
 * asks again does not wait, for that nor for anything else.
 */
void state_wish_interrupt_running(struct state *s, const struct state_input *in)
{
    bool saving = s->outcome == STATE_OUTCOME_SAVING;

    if (saving && s->saving_for == STATE_OUTCOME_INTERRUPTED) {
        state_say(s, "killing what is left, without the checkpoint");
        state_end(s, STATE_OUTCOME_INTERRUPTED, STOP_KILL, in->now_ns);
        return;
    }
    if (saving && !s->o.unsaved) {
        say_interrupted(s, in, "it saves already, then stopping");
        s->saving_for = STATE_OUTCOME_INTERRUPTED;
        s->asked_by = BY_NOBODY;
        return;
    }
    if (s->outcome != STATE_OUTCOME_OPEN || !is_worth_waiting(s, s->o.unsaved)) {
        state_wish_interrupt(s, in);
        return;
    }
    say_interrupted(s, in, waits_text(s));
    save(s, STATE_OUTCOME_INTERRUPTED, BY_NOBODY, in->now_ns);
}

/* ---- preempted ---- */

static void say_stopped(struct state *s, const struct state_input *in, const char *what)
{
    const char *on = in->agent < 0 ? "" : " on ";
    const char *host = in->agent < 0 ? "" : state_host(s, in->agent);

    s->preempt_signal = in->signal;
    s->preempt_count++;
    (void)snprintf(s->message, sizeof s->message, "stopped by %sSIG%s%s%s%s",
                   s->at_limit ? "Slurm's time limit (" : "", text_signal(in->signal), on, host,
                   s->at_limit ? ")" : "");
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

/* Whether a signal that comes while the job saves is the one that it saves for, by another way, or
 * the first one beside the Ctrl-C that it saves for.  What Slurm sends to a job
 * reaches its nodes one after the other, in a large one seconds apart: so an agent never asks
 * twice, nor does the driver that hears of it from an agent first.
 */
static bool is_the_same(struct state *s, const struct state_input *in)
{
    if (in->agent < 0 && s->asked_by != BY_DRIVER) {
        s->asked_by = BY_DRIVER;
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
    if (saving || !is_worth_waiting(s, false)) {
        state_wish_preempt(s, in);
        return;
    }
    say_stopped(s, in, waits_text(s));
    save(s, STATE_OUTCOME_PREEMPTED, in->agent, in->now_ns);
}

/* ---- limits of time ---- */

static void say_over(struct state *s, const char *next)
{
    (void)snprintf(s->message, sizeof s->message, "the job's time of %g s is over (timeouts.job)",
                   (double)s->o.job_ns / CLOCK_S);
    state_say(s, "%s%s%s", s->message, next[0] ? "; " : "", next);
}

void state_wish_job_late(struct state *s, const struct state_input *in)
{
    say_over(s, "");
    state_end(s, STATE_OUTCOME_TIMEOUT, STOP_ORDERLY, in->now_ns);
}

/* What was trained is saved first, as for an interrupt. */
void state_wish_job_late_running(struct state *s, const struct state_input *in)
{
    if (!is_worth_waiting(s, s->o.unsaved)) {
        state_wish_job_late(s, in);
        return;
    }
    say_over(s, waits_text(s));
    save(s, STATE_OUTCOME_TIMEOUT, BY_NOBODY, in->now_ns);
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
