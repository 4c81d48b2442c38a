/* SPDX-License-Identifier: Apache-2.0 */
/* What the user wants, by signal. */
#include "state_impl.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const int64_t repeat_ns = 2 * CLOCK_S; /* wrappers hand on a signal that came to us too */

static void kill_at_once(struct state *s, int64_t now_ns)
{
    if (s->phase != PHASE_STOP || s->ladder == STOP_KILL)
        return;
    state_say(s, "killing what is left");
    state_stop(s, STOP_KILL, s->next, now_ns);
}

static void interrupt(struct state *s, const char *by, const char *again, int64_t now_ns)
{
    int n = s->launched ? state_ranks_left(s) : 0;

    s->unwanted = true;
    s->interrupts++;
    if (s->ending) {
        kill_at_once(s, now_ns);
        return;
    }
    (void)snprintf(s->message, sizeof s->message, "stopped by %s", by);
    if (n)
        state_say(s, "interrupted: stopping %d rank%s; %s again to kill at once", n,
                  n == 1 ? "" : "s", again);
    state_end(s, "interrupted", 128 + SIGINT, STOP_ORDERLY, now_ns);
}

/* SIGQUIT: nothing is asked, all is killed. */
static void quit(struct state *s, int64_t now_ns)
{
    s->unwanted = true;
    if (s->ending) {
        kill_at_once(s, now_ns);
        return;
    }
    (void)snprintf(s->message, sizeof s->message, "stopped by SIGQUIT");
    state_say(s, "SIGQUIT: killing what runs");
    state_end(s, "interrupted", 128 + SIGQUIT, STOP_KILL, now_ns);
    kill_at_once(s, now_ns); /* a stop may have been under way */
}

/* ---- preempted ---- */

int state_preempted_code(const struct state *s)
{
    return s->checkpointed ? EXIT_RESUMABLE : 128 + SIGTERM;
}

void state_checkpoint_seen(struct state *s, int64_t step)
{
    if (s->asked_step < 0 || step < s->asked_step)
        return;
    s->checkpointed = true;
    if (s->reason && strcmp(s->reason, "preempted") == 0)
        s->exit_code = EXIT_RESUMABLE;
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

static void ask_for_checkpoint(struct state *s, int sig, int64_t now_ns)
{
    state_say(s, "%s: asking for a checkpoint, then stopping", strsignal(sig));
    s->asked_ns = now_ns;
    s->asked_step = steps(s);
    s->preempt_ns = clock_after_ns(now_ns, s->o.checkpoint_ns);
    state_push(s, ACTION_CHECKPOINT);
}

/* Ask the program for a checkpoint once; a second time, or when it has taken no step: just stop.
 * While the job recovers from a failure its newest checkpoint is all there is, so that will do.
 */
static void preempt(struct state *s, int sig, int64_t now_ns)
{
    bool recovering = s->restarts > 0 && !state_any_step(s);

    recovering = recovering || (s->phase == PHASE_STOP && s->next == NEXT_REGROUP);
    s->unwanted = true;
    if (s->ending)
        return;
    if (s->preempt_ns && now_ns < s->asked_ns + repeat_ns)
        return;
    (void)snprintf(s->message, sizeof s->message, "stopped by SIG%s", sigabbrev_np(sig));
    if (s->phase == PHASE_RUN && steps(s) > 0 && !s->preempt_ns && !recovering) {
        ask_for_checkpoint(s, sig, now_ns);
        return;
    }
    if (recovering) {
        s->asked_step = 0;
        state_checkpoint_seen(s, s->resume_step);
    }
    state_say(s, "%s: stopping", strsignal(sig));
    state_end(s, "preempted", state_preempted_code(s), STOP_ORDERLY, now_ns);
}

void state_signal(struct state *s, int sig, int64_t now_ns)
{
    switch (sig) {
    case 0:
        interrupt(s, "eddis-run --stop", "ask", now_ns);
        break;
    case SIGINT:
        interrupt(s, "Ctrl-C", "press Ctrl-C", now_ns);
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
            state_push(s, ACTION_SIGNAL);
        break;
    default:
        break;
    }
}
