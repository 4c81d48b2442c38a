/* SPDX-License-Identifier: Apache-2.0 */
/* state_request.c - requests of the user, by signal, and of the caller; and time limits */
#include "state_input.h"

#include "lib/base/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Receiver of the preempting signal if no agent is: the driver; nobody, since the user's interrupt
 * or a time limit made the request.
 */
enum { BY_DRIVER = -1, BY_NOBODY = -2 };

/* If the job ends by a failure, change its outcome to STATE_OUTCOME_UNWANTED, as the user has asked
 * for its end: an earlier failure that is reported later does not restart it.
 */
static void unwant(struct state *s)
{
    if (s->outcome == STATE_OUTCOME_FAILED)
        s->outcome = STATE_OUTCOME_UNWANTED;
}

/* Repeat a stop that is under way with STOP_KILL, and print that.  Do nothing if nothing is being
 * stopped or STOP_KILL was ordered already.
 */
static void kill_at_once(struct state *s, int64_t now_ns)
{
    if (!state_is_stopping(s) || s->ladder == STOP_KILL)
        return;
    state_say(s, "killing all processes that are left");
    state_stop(s, STOP_KILL, s->next, now_ns);
}

/* Handle SIGQUIT: stop everything with STOP_KILL, without a checkpoint; also what is already being
 * stopped.
 */
void state_request_quit(struct state *s, const struct state_input *in)
{
    unwant(s);
    if (state_is_ending(s)) {
        kill_at_once(s, in->now_ns);
        return;
    }
    (void)snprintf(s->message, sizeof s->message, "stopped by SIGQUIT");
    state_say(s, "SIGQUIT: killing all processes");
    state_end(s, STATE_OUTCOME_QUIT, STOP_KILL, in->now_ns);
    kill_at_once(s, in->now_ns); /* a stop may be under way */
}

/* Pass SIGUSR2 on to the ranks. */
void state_request_usr2(struct state *s, const struct state_input *in)
{
    (void)in;
    state_push(s, ACTION_SIGNAL);
}

/* ---- a checkpoint first ---- */

/* Record the newest checkpoint that the caller sees itself. */
void state_request_checkpoint_seen(struct state *s, const struct state_input *in)
{
    state_note_checkpoint(s, in->step);
}

/* Request a checkpoint of this step or a later one. */
static void want_checkpoint(struct state *s, int64_t step)
{
    s->asked_step = step;
    if (s->checkpoint == STATE_CHECKPOINT_UNASKED)
        s->checkpoint = STATE_CHECKPOINT_ASKED;
}

/* Return the number of steps that the job has done, counted as its checkpoints are: ranks that go
 * at their own paces count otherwise.  If a rank has not reported one yet, return one more than the
 * step resumed from, so that its checkpoint does not satisfy the request.
 */
static int64_t steps(const struct state *s)
{
    bool all = s->n_ranks > 0;

    for (int r = 0; r < s->n_ranks; r++)
        all = all && s->rank[r].steps > 0;
    return all ? s->steps : state_resume_step(s) + 1;
}

/* Check whether any rank has done a step.  One rank is enough: other ranks report later, or found
 * no sample for the step.
 */
static bool any_steps(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].steps > 0)
            return true;
    return false;
}

/* Check whether the job is between a failure and the first step after it. */
static bool is_recovering(const struct state *s)
{
    return (s->generation > 1 && !state_any_step(s)) ||
           (state_is_stopping(s) && s->next == NEXT_REGROUP);
}

/* Check whether any rank is leaving or has left; such a rank takes part in no checkpoint. */
static bool any_left(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].phase == STATE_RANK_DONE)
            return true;
    return false;
}

/* Check whether ranks have done steps that the newest checkpoint may lack, and can write another: a
 * rank that reports only step numbers has no libeddis for that.
 */
static bool has_to_save(const struct state *s)
{
    return any_steps(s) && !state_any_rank(s, offsetof(struct state_rank, steps_only)) &&
           !any_left(s) && !is_recovering(s);
}

/* Check whether no step is left, and some ranks only have to end, such as one that saves the final
 * model.  No checkpoint can be written any more.
 */
static bool is_finishing(const struct state *s)
{
    return state_any_rank(s, offsetof(struct state_rank, trained)) && any_left(s) &&
           !is_recovering(s);
}

/* Check whether the job has something to finish or to save before it ends. unsaved: only to finish,
 * because there is no folder for checkpoints.
 */
static bool is_worth_waiting(const struct state *s, bool unsaved)
{
    return is_finishing(s) || (!unsaved && has_to_save(s));
}

/* Return what the job waits for before it ends, for people, as a string constant. */
static const char *waits_text(const struct state *s)
{
    return is_finishing(s) ? "all steps are done: waiting for the workers to finish"
                           : "asking for a checkpoint, then stopping";
}

/* Enter STATE_OUTCOME_SAVING: request a checkpoint from the program, or let it finish if no step is
 * left.  The job then ends with outcome o, at the latest after timeouts.checkpoint. by: the
 * receiver of the signal, an agent, BY_DRIVER or BY_NOBODY.
 */
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

/* End a job that saves because its checkpoint, or the workers' end after it, took too long; print
 * which.
 */
void state_request_checkpoint_late(struct state *s, const struct state_input *in)
{
    static const char *const what[] = {
        [STATE_CHECKPOINT_UNASKED] = "all steps are done, but the workers have not ended",
        [STATE_CHECKPOINT_ASKED] = "no checkpoint",
        [STATE_CHECKPOINT_SEEN] = "the checkpoint is written, but the workers have not ended",
    };

    state_say(s, "%s within %g s (timeouts.checkpoint); stopping", what[s->checkpoint],
              (double)s->o.checkpoint_ns / CLOCK_S);
    state_end_saving(s, STOP_ORDERLY, in->now_ns);
}

/* ---- interrupted ---- */

/* Set s->message to who has interrupted the job.  If ranks run, print it too, with first: what
 * happens now.
 */
static void say_interrupted(struct state *s, const struct state_input *in, const char *first)
{
    int n = state_is_launched(s) ? state_ranks_left(s) : 0;

    (void)snprintf(s->message, sizeof s->message, "stopped by %s", in->text);
    if (n)
        state_say(s, "interrupted: %s (%d rank%s); %s again to kill at once", first, n,
                  n == 1 ? "" : "s", in->again);
}

/* Handle Ctrl-C or --stop while no rank runs: stop the job, or kill what is already being stopped.
 */
void state_request_interrupt(struct state *s, const struct state_input *in)
{
    unwant(s);
    if (state_is_ending(s)) {
        kill_at_once(s, in->now_ns);
        return;
    }
    say_interrupted(s, in, "stopping");
    state_end(s, STATE_OUTCOME_INTERRUPTED, STOP_ORDERLY, in->now_ns);
}

/* Handle Ctrl-C or --stop while ranks run: request a checkpoint and then end, or wait for one that
 * was requested for another reason.  Stop immediately if there is nothing to save.  A second
 * interrupt kills without waiting.
 */
void state_request_interrupt_running(struct state *s, const struct state_input *in)
{
    bool saving = s->outcome == STATE_OUTCOME_SAVING;

    if (saving && s->saving_for == STATE_OUTCOME_INTERRUPTED) {
        state_say(s, "killing all processes that are left, without waiting for the checkpoint");
        state_end(s, STATE_OUTCOME_INTERRUPTED, STOP_KILL, in->now_ns);
        return;
    }
    if (saving && !s->o.unsaved) {
        say_interrupted(s, in,
                        "waiting for a checkpoint that was already requested, then stopping");
        s->saving_for = STATE_OUTCOME_INTERRUPTED;
        s->asked_by = BY_NOBODY;
        return;
    }
    if (s->outcome != STATE_OUTCOME_OPEN || !is_worth_waiting(s, s->o.unsaved)) {
        state_request_interrupt(s, in);
        return;
    }
    say_interrupted(s, in, waits_text(s));
    save(s, STATE_OUTCOME_INTERRUPTED, BY_NOBODY, in->now_ns);
}

/* ---- preempted ---- */

/* Record that a preempting signal ends the job, count the signal, and print it. what: what happens
 * now; NULL: do not print.
 */
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

/* Let the newest checkpoint satisfy the request while the job recovers from a failure: no other can
 * be written.  Before the first step of a resumed job do the same with the checkpoint that it
 * resumed from.
 */
static void take_newest(struct state *s)
{
    bool at_begun = s->o.resumes && s->resume_step < 0;

    if (!is_recovering(s) && !(at_begun && !state_any_step(s)))
        return;
    want_checkpoint(s, 0);
    state_note_checkpoint(s, at_begun ? 0 : s->resume_step);
}

/* Handle SIGTERM, SIGUSR1 or SIGHUP by stopping the job without another checkpoint.  Do nothing if
 * the job ends already.
 */
void state_request_preempt(struct state *s, const struct state_input *in)
{
    unwant(s);
    if (state_is_ending(s))
        return;
    take_newest(s);
    say_stopped(s, in, "stopping");
    state_end(s, STATE_OUTCOME_PREEMPTED, STOP_ORDERLY, in->now_ns);
}

/* Check whether a signal while the job saves repeats the signal that the job saves for.  Slurm's
 * signals reach a large job's nodes seconds apart.  So a signal to an agent is always a repetition,
 * and one to the driver is if it is the driver's first, which is recorded, or comes within
 * REPEAT_S.
 */
static bool is_the_same(struct state *s, const struct state_input *in)
{
    if (in->agent < 0 && s->asked_by != BY_DRIVER) {
        s->asked_by = BY_DRIVER;
        s->asked_ns = in->now_ns;
    }
    return in->agent >= 0 || in->now_ns < s->asked_ns + REPEAT_S * CLOCK_S;
}

/* Handle SIGTERM, SIGUSR1 or SIGHUP while ranks run: request a checkpoint.  Stop at a second
 * signal, or if there is nothing to save.  If the job saves for its own time limit, it continues to
 * save for this signal, which counts as the first.
 */
void state_request_preempt_running(struct state *s, const struct state_input *in)
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
        state_request_preempt(s, in);
        return;
    }
    say_stopped(s, in, waits_text(s));
    save(s, STATE_OUTCOME_PREEMPTED, in->agent, in->now_ns);
}

/* ---- limits of time ---- */

/* Print, and set s->message to, that the job's time limit has passed. next: what happens now, or
 * "".
 */
static void say_over(struct state *s, const char *next)
{
    (void)snprintf(s->message, sizeof s->message,
                   "the job's time limit of %g s has passed (timeouts.job)",
                   (double)s->o.job_ns / CLOCK_S);
    state_say(s, "%s%s%s", s->message, next[0] ? "; " : "", next);
}

/* End the job because its time limit has passed. */
void state_request_job_late(struct state *s, const struct state_input *in)
{
    say_over(s, "");
    state_end(s, STATE_OUTCOME_TIMEOUT, STOP_ORDERLY, in->now_ns);
}

/* End the job because its time limit has passed, after a checkpoint if there is something to save.
 */
void state_request_job_late_running(struct state *s, const struct state_input *in)
{
    if (!is_worth_waiting(s, s->o.unsaved)) {
        state_request_job_late(s, in);
        return;
    }
    say_over(s, waits_text(s));
    save(s, STATE_OUTCOME_TIMEOUT, BY_NOBODY, in->now_ns);
}

/* ---- requests of the caller ---- */

/* End the job with success. */
void state_request_finish(struct state *s, const struct state_input *in)
{
    state_end(s, STATE_OUTCOME_OK, STOP_FAILURE, in->now_ns);
}

/* Print the caller's sentence and end the job with its reason and exit code. */
void state_request_fail(struct state *s, const struct state_input *in)
{
    if (state_is_ending(s))
        return;
    state_say(s, "%s", in->text);
    (void)snprintf(s->message, sizeof s->message, "%s", in->text);
    state_end_by(s, STATE_OUTCOME_FAULT, in->reason, in->exit_code, in->now_ns);
}

/* End the job because no plan is possible: a usage error (2) in the first generation, where the job
 * asks for what these nodes cannot give; later the previous failure.
 */
void state_request_unplannable(struct state *s, const struct state_input *in)
{
    struct state_input usage = *in;

    usage.reason = "usage";
    usage.exit_code = EXIT_USAGE;
    if (s->generation > 1)
        state_give_up(s, in->text, in->now_ns);
    else
        state_request_fail(s, &usage);
}
