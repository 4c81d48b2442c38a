/* SPDX-License-Identifier: Apache-2.0 */
/* state_end.c - stops a generation, and begins what follows: the next one, or the job's end */
#include "state_impl.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- the job's end ---- */

/* Check whether nothing is expected of an agent any more: it has ended, or is remote and lost. */
static bool is_over(const struct state_agent *a)
{
    return a->ended || (a->remote && a->lost);
}

void state_over(struct state *s)
{
    for (int i = 0; i < s->o.n_agents; i++)
        if (!is_over(&s->agent[i]))
            return;
    state_go(s, STATE_PHASE_OVER, s->deadline_ns);
}

void state_end_by(struct state *s, enum state_outcome o, const char *reason, int exit_code,
                  int64_t now_ns)
{
    if (state_is_ending(s))
        return;
    s->reason = reason;
    s->exit_code = exit_code;
    state_end(s, o, STOP_FAILURE, now_ns);
}

/* Set the reason and exit code of a job whose outcome is STATE_OUTCOME_PREEMPTED: a saved job is
 * resumable (75), whether or not its time limit caused the signal; without a checkpoint the time
 * limit gives 124.  Do nothing for another outcome.
 */
static void settle_preempted(struct state *s)
{
    if (s->outcome != STATE_OUTCOME_PREEMPTED)
        return;
    if (s->checkpoint == STATE_CHECKPOINT_SEEN)
        s->exit_code = EXIT_RESUMABLE;
    else if (s->at_limit)
        s->exit_code = EXIT_TIMEOUT;
    s->reason = s->exit_code == EXIT_TIMEOUT ? "timeout" : "preempted";
}

void state_end(struct state *s, enum state_outcome o, enum stop_ladder l, int64_t now_ns)
{
    static const struct {
        const char *reason; /* NULL: keep reason and exit code */
        int exit_code;
    } row[STATE_OUTCOMES] = {
        [STATE_OUTCOME_OK] = { "ok", 0 },
        [STATE_OUTCOME_PREEMPTED] = { "preempted", 128 + SIGTERM },
        [STATE_OUTCOME_INTERRUPTED] = { "interrupted", 128 + SIGINT },
        [STATE_OUTCOME_QUIT] = { "interrupted", 128 + SIGQUIT },
        [STATE_OUTCOME_TIMEOUT] = { "timeout", EXIT_TIMEOUT },
    };

    if (state_is_ending(s))
        return;
    s->outcome = o;
    if (row[o].reason) {
        s->reason = row[o].reason;
        s->exit_code = row[o].exit_code;
    }
    settle_preempted(s);
    if (state_is_stopping(s))
        s->next = NEXT_BYE;
    else
        state_stop(s, l, NEXT_BYE, now_ns);
}

void state_end_saving(struct state *s, enum stop_ladder l, int64_t now_ns)
{
    state_end(s, s->saving_for, l, now_ns);
}

void state_note_checkpoint(struct state *s, int64_t step)
{
    if (s->checkpoint == STATE_CHECKPOINT_UNASKED || step < s->asked_step)
        return;
    s->checkpoint = STATE_CHECKPOINT_SEEN;
    settle_preempted(s);
}

bool state_is_preempted(const struct state *s)
{
    return s->outcome == STATE_OUTCOME_PREEMPTED ||
           (s->outcome == STATE_OUTCOME_SAVING && s->saving_for == STATE_OUTCOME_PREEMPTED);
}

void state_at_limit(struct state *s)
{
    static const char by[] = "stopped by ";
    char signal[200];

    if (s->at_limit || !state_is_preempted(s) || strncmp(s->message, by, sizeof by - 1) != 0)
        return;
    s->at_limit = true;
    (void)snprintf(signal, sizeof signal, "%s", s->message + sizeof by - 1);
    (void)snprintf(s->message, sizeof s->message, "%sSlurm's time limit (%s)", by, signal);
    settle_preempted(s);
}

/* ---- stopping ---- */

/* Count the generation's failure as a failed start, a lost node or a restart.  A failed start is
 * not the program's fault, so the failure before it stays the one that the job recovers from.  A
 * lack of memory that fewer samples may cure does not count towards the permitted restarts.
 */
static void count_failure(struct state *s, int64_t now_ns)
{
    if (s->failure.cause == CAUSE_LAUNCH) {
        s->failed_starts++;
        return;
    }
    s->failed_starts = 0;
    s->before = s->failure;
    if (state_failure_less(&s->failure)) { /* the next plan is another one */
        s->restarts++;
        return;
    }
    s->counted_ns = now_ns;
    if (s->failure.cause == CAUSE_NODE)
        s->node_losses++, s->losses_recent++;
    else
        s->restarts++, s->restarts_recent++;
}

void state_forget_failures(struct state *s, int64_t now_ns)
{
    if (!s->counted_ns || now_ns - s->counted_ns < FORGET_S * CLOCK_S)
        return;
    s->restarts_recent = s->losses_recent = s->counted_ns = 0;
    s->losses_in_vain = 0;
}

/* If the present failure is a lost node, return whether the job has made no progress since the
 * previous lost node: as many nodes are usable, and the newest checkpoint is the same.  Store both
 * values for the next call, and count consecutive losses without progress in s.  For other failures
 * return false.
 */
static bool is_loss_in_vain(struct state *s)
{
    int usable = state_count_usable(s);
    bool same = s->lost_usable == usable && s->lost_step == s->resume_step;

    if (s->failure.cause != CAUSE_NODE)
        return false;
    s->losses_in_vain = same ? s->losses_in_vain + 1 : 0;
    s->lost_usable = usable;
    s->lost_step = s->resume_step;
    return same;
}

/* Return the seconds to wait before the next generation: 0 if the failed one made a step or lived
 * for LIVED_S, unless a node was lost in vain; else growing with s->in_vain, the generations in a
 * row without progress, which is counted here.
 */
static int pause_s(struct state *s)
{
    int64_t age_ns = s->started_ns ? s->failure.at_ns - s->started_ns : 0;
    bool lived =
        s->failure.cause != CAUSE_LAUNCH && (state_any_step(s) || age_ns > LIVED_S * CLOCK_S);

    if (is_loss_in_vain(s))
        lived = false;
    if (state_failure_less(&s->failure)) /* the next generation holds fewer samples */
        return 0;
    s->in_vain = lived ? 0 : s->in_vain + 1;
    return recovery_backoff_s(s->in_vain);
}

/* Enter REGROUP: count the failure, add 1 to the generation, and set until when to wait for agents
 * and for the pause before the next start.  This may continue to PLAN immediately, or give up the
 * job if no node is left or too many were lost in vain.
 */
static void enter_regroup(struct state *s, int64_t now_ns)
{
    static const char in_vain[] = TEXT_OF(RECOVERY_STARTS) " nodes were lost in a row "
                                                           "without a new checkpoint in between";
    int pause = pause_s(s);

    count_failure(s, now_ns);
    s->generation++;
    s->models = false; /* found in the previous generation */
    s->again_ns = pause ? now_ns + pause * CLOCK_S : 0;
    s->regroup_ns = now_ns + (pause > REGROUP_S ? pause : REGROUP_S) * CLOCK_S;
    state_go(s, STATE_PHASE_REGROUP, now_ns);
    if (recovery_losses_end(s->losses_in_vain, s->resume_step >= 0)) {
        state_give_up(s, in_vain, now_ns);
        return;
    }
    if (pause > 1)
        state_say(s, "starting again in %d s", pause);
    if (pause)
        state_extend(s, s->again_ns);
    state_regroup(s, now_ns);
}

/* Ask the caller for the plan of generation 1. */
static void enter_plan(struct state *s, int64_t now_ns)
{
    s->generation = 1;
    state_go(s, STATE_PHASE_PLAN, now_ns);
}

void state_begin_network(struct state *s, int64_t now_ns)
{
    s->network = STATE_NETWORK_UNKNOWN;
    /* A recorded failure was a failed launch that the network caused. */
    s->failure = (struct state_failure){ .rank = -1 };
    if (state_count_usable(s) > 1) {
        s->generation = 0;
        state_go(s, STATE_PHASE_NETWORK, now_ns);
    } else {
        enter_plan(s, now_ns);
    }
}

/* Enter the phase that s->next names after a stop: BYE, REGROUP, NETWORK or PLAN. */
static void go_on(struct state *s, int64_t now_ns)
{
    switch (s->next) {
    case NEXT_BYE:
        state_go(s, STATE_PHASE_BYE, now_ns);
        state_over(s); /* at once if no agent is left */
        break;
    case NEXT_REGROUP:
        enter_regroup(s, now_ns);
        break;
    case NEXT_NETWORK:
        state_begin_network(s, now_ns);
        break;
    case NEXT_PLAN:
        enter_plan(s, now_ns);
        break;
    }
}

void state_stopped(struct state *s, int64_t now_ns)
{
    if (!state_is_stopping(s))
        return;
    for (int i = 0; i < s->o.n_agents; i++) {
        const struct state_agent *a = &s->agent[i];

        if (a->part && !a->stopped && !a->lost && !a->ended)
            return;
    }
    go_on(s, now_ns);
}

void state_stop(struct state *s, enum stop_ladder l, enum state_next next, int64_t now_ns)
{
    s->next = next;
    s->settle_ns = 0;
    if (!state_is_launched(s)) {
        go_on(s, now_ns);
        return;
    }
    if (!state_is_stopping(s))
        s->resume_known = false;
    s->ladder = l;
    s->stop_ns = now_ns;
    state_go(s, state_is_probe(s) ? STATE_PHASE_PROBE_STOP : STATE_PHASE_STOP, now_ns);
    state_stopped(s, now_ns);
}

/* ---- another generation ---- */

/* Check whether an agent may soon be usable again: it has ended, is being started again or is not
 * measured yet, is not lost, and no repeated start of it has failed.
 */
static bool is_coming(const struct state_agent *a)
{
    bool back = a->registered && !a->profiled;

    return !a->lost && a->failed_starts == 0 && (a->ended || a->starting || back);
}

void state_give_up(struct state *s, const char *why, int64_t now_ns)
{
    state_say(s, "the job cannot continue: %s", s->gone[0] ? s->gone : why);
    (void)snprintf(s->message, sizeof s->message, "%s", s->gone[0] ? s->gone : s->before.what);
    state_end_by(s, STATE_OUTCOME_FAILED, s->before.reason, s->before.exit_code, now_ns);
}

void state_regroup(struct state *s, int64_t now_ns)
{
    struct recovery_nodes n;

    if (now_ns < s->again_ns)
        return;
    s->again_ns = 0;
    n = (struct recovery_nodes){ .usable = state_count_usable(s),
                                 .soon = now_ns < s->regroup_ns,
                                 .in_time = now_ns < s->deadline_ns && !s->gone[0] };

    for (int i = 0; i < s->o.n_agents && !s->gone[0]; i++)
        n.coming = n.coming || is_coming(&s->agent[i]);
    switch (recovery_gather(&n)) {
    case RECOVERY_WAIT:
        if (!n.soon)
            s->regroup_ns = s->deadline_ns;
        break;
    case RECOVERY_NOBODY:
        state_give_up(s, "no node is left", now_ns);
        break;
    case RECOVERY_BEGIN:
        state_go(s, STATE_PHASE_PLAN, now_ns);
        break;
    }
}

int64_t state_resume_step(const struct state *s)
{
    return s->resume_step >= 0 ? s->resume_step : s->begun_step;
}

/* Write "restart 1 of at most 3", "node loss 2", or that the restart is not counted, for the last
 * failure to ret.
 */
static void count_text(const struct state *s, char *ret, size_t size)
{
    bool node = s->before.cause == CAUSE_NODE;
    int64_t most = node ? s->o.node_losses : s->o.restarts;
    int n;

    if (state_failure_less(&s->before)) {
        (void)snprintf(ret, size, "with fewer samples, which counts as no restart");
        return;
    }
    n = snprintf(ret, size, "%s %" PRId64, node ? "node loss" : "restart",
                 node ? s->losses_recent : s->restarts_recent);
    if (most)
        (void)snprintf(ret + n, size - (size_t)n, " of at most %" PRId64, most);
}

void state_restart_text(const struct state *s, int n_nodes, char *ret, size_t size)
{
    char from[64] = "the newest checkpoint", count[64];

    if ((s->o.restarts_asked || s->any_reported) && !s->any_page && s->resume_step < 0)
        (void)snprintf(from, sizeof from, "the point where the program itself resumes");
    else if (s->resume_step >= 0)
        (void)snprintf(from, sizeof from, "step %" PRId64, s->resume_step);
    else if (s->begun_step >= 0)
        (void)snprintf(from, sizeof from, "step %" PRId64 ", which the job began with,",
                       s->begun_step);
    else if (s->resume_known && s->o.resumes)
        (void)snprintf(from, sizeof from, "the checkpoint that the job began with");
    else if (s->resume_known)
        (void)snprintf(from, sizeof from, "the beginning, because there is no checkpoint,");
    count_text(s, count, sizeof count);
    (void)snprintf(ret, size, "restarting from %s on %d node%s (start %" PRId64 ", %s)", from,
                   n_nodes, n_nodes == 1 ? "" : "s", s->generation, count);
}
