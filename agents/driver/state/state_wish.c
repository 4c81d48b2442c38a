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

void state_wish_interrupt(struct state *s, const struct state_input *in)
{
    int n = state_is_launched(s) ? state_ranks_left(s) : 0;

    unwant(s);
    if (state_is_ending(s)) {
        kill_at_once(s, in->now_ns);
        return;
    }
    (void)snprintf(s->message, sizeof s->message, "stopped by %s", in->text);
    if (n)
        state_say(s, "interrupted: stopping %d rank%s; %s again to kill at once", n,
                  n == 1 ? "" : "s", in->again);
    state_end(s, STATE_OUTCOME_INTERRUPTED, STOP_ORDERLY, in->now_ns);
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

/* ---- preempted ---- */

void state_wish_checkpoint_seen(struct state *s, const struct state_input *in)
{
    state_note_checkpoint(s, in->step);
}

static void ask_for_checkpoint(struct state *s, int64_t step)
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

static void say_stopped(struct state *s, int sig)
{
    (void)snprintf(s->message, sizeof s->message, "stopped by SIG%s", sigabbrev_np(sig));
}

/* While the job recovers from a failure its newest checkpoint is all there is, so that will do. */
void state_wish_preempt(struct state *s, const struct state_input *in)
{
    unwant(s);
    if (state_is_ending(s))
        return;
    say_stopped(s, in->signal);
    if (is_recovering(s)) {
        ask_for_checkpoint(s, 0);
        state_note_checkpoint(s, s->resume_step);
    }
    state_say(s, "%s: stopping", strsignal(in->signal));
    state_end(s, STATE_OUTCOME_PREEMPTED, STOP_ORDERLY, in->now_ns);
}

/* Ask the program for a checkpoint once; a second time, or when it has taken no step: just stop. */
void state_wish_preempt_running(struct state *s, const struct state_input *in)
{
    if (s->outcome == STATE_OUTCOME_SAVING && in->now_ns < s->asked_ns + REPEAT_S * CLOCK_S)
        return;
    if (s->outcome == STATE_OUTCOME_SAVING || steps(s) <= 0 || is_recovering(s)) {
        state_wish_preempt(s, in);
        return;
    }
    say_stopped(s, in->signal);
    state_say(s, "%s: asking for a checkpoint, then stopping", strsignal(in->signal));
    s->outcome = STATE_OUTCOME_SAVING;
    s->asked_ns = in->now_ns;
    ask_for_checkpoint(s, steps(s));
    s->preempt_ns = clock_after_ns(in->now_ns, s->o.checkpoint_ns);
    state_push(s, ACTION_CHECKPOINT);
}

/* ---- limits of time ---- */

void state_wish_checkpoint_late(struct state *s, const struct state_input *in)
{
    state_say(s, "%s within %g s (timeouts.checkpoint); stopping",
              s->checkpoint == STATE_CHECKPOINT_SEEN
                  ? "the checkpoint is there, but the workers have not ended"
                  : "no checkpoint",
              (double)s->o.checkpoint_ns / CLOCK_S);
    state_end(s, STATE_OUTCOME_PREEMPTED, STOP_ORDERLY, in->now_ns);
}

void state_wish_job_late(struct state *s, const struct state_input *in)
{
    (void)snprintf(s->message, sizeof s->message, "the job's time of %g s is over (timeouts.job)",
                   (double)s->o.job_ns / CLOCK_S);
    state_say(s, "%s", s->message);
    state_end(s, STATE_OUTCOME_TIMEOUT, STOP_ORDERLY, in->now_ns);
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
