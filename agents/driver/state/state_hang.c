/* SPDX-License-Identifier: Apache-2.0 */
/* state_hang.c - progress of ranks, and ranks that make none
 *
 * A rank stands still while neither its steps nor its phase change.  Each report gives the duration
 * by the clock of the rank's own node; a node that reports nothing is lost and never hangs.  Ranks
 * that wait for others, in a step or in a checkpoint, stand still because of them.  The search is
 * for a rank that stands still and does not wait, or else for ranks that all wait for each other.
 * Only other leaving ranks wait for a leaving rank: see stuck_leaving.
 *
 * If steps are read from the ranks' output, and some ranks print fewer, a rank that prints nothing
 * may still work.  Such a job hangs if its furthest rank does.
 *
 * Ranks whose steps are unknown are watched from outside, if the user asked for it: the job hangs
 * if all remaining ranks neither print nor use processor time.  That includes ranks that report
 * only step numbers, before their first number above 0.
 *
 * A hang is judged once the agents have answered where their ranks stand, or are late.  If some
 * ranks wait in a collective operation, a rank that is elsewhere is the one that blocks them.
 *
 * A rank that has ended its steps by itself does no further step.  Another rank that waits in a
 * later step waits for ever, so that this hang needs no time limit.
 *
 * Another limit holds before a generation's first step, because programs load their data then.  It
 * applies only if steps are expected.  They are not for a program without libeddis, or for one that
 * only shares buffers.
 */
#include "state_input.h"

#include "agents/job/status_json.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Time for agents to report where their ranks stand: longer than stack_inspect.c lets py-spy run.
 */
static const int64_t patience_ns = 8 * CLOCK_S;

/* Time after which the progress pages of all ranks describe the same moment. */
static const int64_t settled_ns = 5 * CLOCK_S;

/* ---- progress ---- */

/* Set s->recovery_ns, the time from the last failure to the end of the first step after it, and
 * queue ACTION_RECOVERED with a sentence.  Do nothing in the first generation, after another rank's
 * first step, or without the age of the page.
 */
static void recovered(struct state *s, const struct progress *p, int64_t now_ns)
{
    int64_t before_ns = p->page_age_ns;
    int64_t mean_ns = p->steps_here > 0 ? p->sum.total_ns / p->steps_here : 0;
    struct action *a;

    if (s->generation <= 1 || state_any_step(s) || p->page_age_ns < 0)
        return;
    if (p->steps_here > 0)
        before_ns += mean_ns * (p->steps_here - 1);
    s->recovery_ns = now_ns - before_ns - s->before.at_ns;
    if (s->recovery_ns < 0)
        s->recovery_ns = 0;
    a = state_push(s, ACTION_RECOVERED);
    (void)snprintf(a->text, sizeof a->text,
                   "%.3f s from the failure to the first step after the restart (start %" PRId64
                   ")",
                   (double)s->recovery_ns / CLOCK_S, s->generation);
}

/* Return the smaller of two times; a negative one is unknown and ignored. */
static int64_t min_known(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Check whether a rank has finished a step of this generation.  A reported step number above 0
 * means that the steps before it were done.
 */
static bool has_stepped(const struct progress *p)
{
    return p->steps_here > 0 || (p->steps_only && p->steps_done > 0);
}

/* Copy the progress page that a rank's agent reported into the rank's record.  If it shows the
 * first step of a later generation, report the recovery.
 */
void state_hang_progress(struct state *s, const struct state_input *in)
{
    const struct progress *p = in->progress;
    struct state_rank *r;

    if (p->rank < 0 || p->rank >= s->n_ranks)
        return;
    r = &s->rank[p->rank];
    if (p->steps_done != r->steps || p->phase != r->phase)
        r->moved_ns = in->now_ns;
    r->still_ns = min_known(p->phase_age_ns, p->page_age_ns);
    if (r->still_ns < 0)
        r->still_ns = in->now_ns - r->moved_ns;
    state_lives(s, in->now_ns);
    s->any_page = s->any_page || (p->phase >= 0 && !p->steps_only);
    s->any_reported = s->any_reported || p->steps_only;
    s->models = s->models || p->models.found != MODEL_CHECK_ALIKE;
    r->steps = p->steps_done;
    r->phase = p->phase;
    r->opens = p->phase == STATE_RANK_START && p->phase_age_ns < 0;
    r->steps_only = p->steps_only;
    r->combines = p->program.gradients[0] != '\0';
    r->trained = p->trained;
    if (p->ended && !r->ended)
        r->ended_ns = in->now_ns;
    r->ended = p->ended;
    r->page_ns = in->now_ns;
    r->will_step = p->steps_only || p->steps_total > 0 || p->model_bytes > 0;
    r->at_once = p->at_once;
    r->waits_for = p->waits_for < s->n_ranks && p->waits_for != p->rank ? p->waits_for : -1;
    if (has_stepped(p) && !r->stepped) {
        recovered(s, p, in->now_ns);
        r->stepped = true;
    }
}

/* ---- ranks without progress ---- */

/* Check whether a rank has a progress page, and has neither exited nor begun to leave. */
static bool is_at_work(const struct state_rank *r)
{
    return r->phase >= 0 && r->phase != STATE_RANK_DONE && !r->exited;
}

/* Check whether any rank has a progress page, and has neither exited nor begun to leave. */
static bool any_at_work(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (is_at_work(&s->rank[r]))
            return true;
    return false;
}

/* Check whether some rank is at work and no rank has done the generation's first step. */
static bool is_first(const struct state *s)
{
    return !state_any_step(s) && any_at_work(s);
}

/* Return how long a rank may stand still: before the first step o.first_step_ns, later o.hang_ns; 0
 * or CLOCK_NEVER: for ever.
 */
static int64_t limit_ns(const struct state *s)
{
    return is_first(s) ? s->o.first_step_ns : s->o.hang_ns;
}

/* Check whether a rank at work has stood still for longer than its limit. */
static bool stands(const struct state *s, const struct state_rank *r)
{
    return is_at_work(r) && r->still_ns >= limit_ns(s);
}

/* Check whether a rank waits for others, leaving ranks included.  In STATE_RANK_WAIT it may not be
 * known yet for whom.
 */
static bool waits(const struct state_rank *r)
{
    return r->phase >= 0 && !r->exited && (r->phase == STATE_RANK_WAIT || r->waits_for >= 0);
}

/* Return the rank with the fewest steps among those that stand still and wait (or, if waiting is
 * false, do not); the first of equals; -1: none.
 */
static int furthest_behind(const struct state *s, bool waiting)
{
    int behind = -1;

    for (int r = 0; r < s->n_ranks; r++)
        if (stands(s, &s->rank[r]) && waits(&s->rank[r]) == waiting &&
            (behind < 0 || s->rank[r].steps < s->rank[behind].steps))
            behind = r;
    return behind;
}

/* Check whether the rank with the most steps among those at work still makes progress. */
static bool furthest_moves(const struct state *s)
{
    int furthest = -1;

    for (int r = 0; r < s->n_ranks; r++)
        if (is_at_work(&s->rank[r]) && (furthest < 0 || s->rank[r].steps > s->rank[furthest].steps))
            furthest = r;
    return furthest >= 0 && !stands(s, &s->rank[furthest]);
}

/* Return the first rank that has waited longer than its limit to leave together with other ranks;
 * -1: none.  Called when no rank is at work.
 */
static int stuck_leaving(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (waits(&s->rank[r]) && s->rank[r].still_ns >= limit_ns(s))
            return r;
    return -1;
}

/* Return the rank that r waits for, if that rank has a progress page and has not exited; -1: none
 * is known.
 */
static int awaited(const struct state *s, int r)
{
    int peer = s->rank[r].waits_for;

    return peer >= 0 && s->rank[peer].phase >= 0 && !s->rank[peer].exited ? peer : -1;
}

/* Follow from r to the rank that it waits for, and so on, and return the last one; in a cycle, one
 * of its ranks.
 */
static int last_awaited(const struct state *s, int r)
{
    for (int n = 0; n < s->n_ranks && awaited(s, r) >= 0; n++)
        r = awaited(s, r);
    return r;
}

/* Return the rank that hangs: one that stands still and does not wait, or else the last in a chain
 * of ranks that wait for each other; -1: none.  Set *all_wait to whether that rank waits too.
 */
static int find(const struct state *s, bool *all_wait)
{
    int r = furthest_behind(s, false);

    *all_wait = false;
    if (s->o.furthest && furthest_moves(s))
        return -1;
    if (r >= 0)
        return r;
    for (int k = 0; k < s->n_ranks; k++)
        if (is_at_work(&s->rank[k]) && !stands(s, &s->rank[k]))
            return -1; /* it makes progress, or has only begun to wait */
    r = any_at_work(s) ? furthest_behind(s, true) : stuck_leaving(s);
    if (r < 0)
        return -1;
    r = last_awaited(s, r);
    *all_wait = waits(&s->rank[r]);
    return s->rank[r].still_ns >= limit_ns(s) ? r : -1; /* it may have only begun to leave */
}

/* Return the first rank that has no progress page while another rank is inside eddis_open, which
 * cannot return without it, once o.first_step_ns has passed since mpirun's start; -1: none.
 */
static int unopened(const struct state *s, int64_t now_ns)
{
    bool opening = false;
    int missing = -1;

    for (int r = s->n_ranks - 1; r >= 0; r--) {
        opening = opening || (is_at_work(&s->rank[r]) && s->rank[r].opens);
        if (s->rank[r].phase < 0 && !s->rank[r].exited)
            missing = r;
    }
    return opening && now_ns - s->started_ns >= s->o.first_step_ns ? missing : -1;
}

/* Return the rank that blocks the generation's first step; -1: none, or no step is expected.  Set
 * *all_wait as find does.
 */
static int find_first(const struct state *s, bool *all_wait, int64_t now_ns)
{
    int missing = unopened(s, now_ns);

    *all_wait = false;
    if (missing >= 0)
        return missing;
    for (int r = 0; r < s->n_ranks; r++)
        if (s->rank[r].opens || s->rank[r].will_step)
            return find(s, all_wait);
    return -1;
}

/* Write the ranks that wait, except rank `but`, as "0-4, 6, 7" to ret.  Return their number; if the
 * text is cut to size, the number counted until then.
 */
static int waiting_text(const struct state *s, int but, char *ret, size_t size)
{
    int n = 0;

    ret[0] = '\0';
    for (int r = 0, last; r < s->n_ranks; r = last + 1) {
        for (last = r; last < s->n_ranks && last != but && waits(&s->rank[last]); last++)
            n++;
        if (last == r)
            continue;
        last--;
        text_append(ret, size,
                    last > r + 1 ? "%s%d-%d"
                    : last > r   ? "%s%d, %d"
                                 : "%s%d",
                    *ret ? ", " : "", r, last);
    }
    return n;
}

/* Return what a rank in this phase is doing, for people, a string constant: "computing"; "at work"
 * for an unknown phase.
 */
static const char *doing(int phase)
{
    static const char *const words[] = {
        [STATE_RANK_START] = "starting",      [STATE_RANK_INPUT] = "waiting for data",
        [STATE_RANK_COMPUTE] = "computing",   [STATE_RANK_WAIT] = "waiting for other ranks",
        [STATE_RANK_EVALUATE] = "evaluating", [STATE_RANK_CHECKPOINT] = "writing a checkpoint",
        [STATE_RANK_DONE] = "leaving",
    };

    return phase >= 0 && phase < (int)(sizeof words / sizeof *words) ? words[phase] : "at work";
}

/* Return the running rank at this kind of location that has been quiet for longest; -1: none is
 * there.
 */
static int longest_in(const struct state *s, enum state_place place)
{
    int longest = -1;

    for (int i = 0; i < s->n_ranks; i++)
        if (!s->rank[i].exited && s->rank[i].place == (int)place &&
            (longest < 0 || s->rank[i].quiet_ns < s->rank[longest].quiet_ns))
            longest = i;
    return longest;
}

/* Return the rank outside the collective operation in which other ranks wait, so that it blocks
 * them; the one quiet for longest if there are several; -1: none is known.
 */
static int elsewhere(const struct state *s)
{
    return longest_in(s, STATE_PLACE_COLLECTIVE) >= 0 ? longest_in(s, STATE_PLACE_ELSEWHERE) : -1;
}

/* Append where a rank stands: ": it is in load (train.py:33); rank 0 waits in all_reduce (...)", or
 * nothing.
 */
static void add_place(const struct state *s, int rank, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    int other = longest_in(s, STATE_PLACE_COLLECTIVE);

    text_append(ret, size, "%s%s", r->where[0] ? ": " : "", r->where);
    if (r->place == STATE_PLACE_ELSEWHERE && other >= 0)
        text_append(ret, size, "; rank %d%s", other, strchrnul(s->rank[other].where, ' '));
}

/* Check whether a rank waits in a collective operation of the program itself. */
static bool waits_in_own(const struct state_rank *r)
{
    return r->combines && !r->exited && r->phase == STATE_RANK_WAIT && r->waits_for < 0;
}

/* Check whether a rank waits in a call of libeddis for a rank that is known. */
static bool waits_in_library(const struct state_rank *r)
{
    return r->combines && !r->exited && r->phase == STATE_RANK_WAIT && r->waits_for >= 0;
}

/* Return the first rank of the smaller group if some ranks wait in collective operations of the
 * program itself and the others in calls of libeddis, the latter group of two equal ones; -1: there
 * is only one group.
 */
static int unlike(const struct state *s)
{
    int own = -1, library = -1, n = 0;

    for (int r = s->n_ranks - 1; r >= 0; r--) {
        if (waits_in_own(&s->rank[r])) {
            own = r;
            n++;
        } else if (waits_in_library(&s->rank[r])) {
            library = r;
            n--;
        }
    }
    return own < 0 || library < 0 ? -1 : n < 0 ? own : library;
}

/* Append that all ranks wait for each other, and what a program that combines its gradients itself
 * has to do about it.
 */
static void add_all_wait(const struct state *s, int rank, char *ret, size_t size)
{
    bool differs = unlike(s) >= 0;

    if (differs && waits_in_own(&s->rank[rank]))
        text_append(ret, size, " in a collective operation that others do not make in this step");
    else if (differs)
        text_append(ret, size, ", which wait in a collective operation that it does not make");
    else
        text_append(ret, size, "; all ranks wait for each other");
    if (s->rank[rank].combines)
        text_append(ret, size,
                    " (make the same passes on all ranks, and leave loops at the same batch)");
}

/* Append who waits for this rank, "; ranks 1-3 wait for it", or nothing if none does. */
static void add_waiting(const struct state *s, int rank, bool all_wait, char *ret, size_t size)
{
    char who[128];
    int n = waiting_text(s, rank, who, sizeof who);

    if (n && all_wait)
        add_all_wait(s, rank, ret, size);
    else if (n)
        text_append(ret, size, "; rank%s %s wait%s for it", n == 1 ? "" : "s", who,
                    n == 1 ? "s" : "");
}

/* Append what a rank does, who waits for it and where it stands: ", computing; ranks 1-3 wait for
 * it: it is in load (train.py:33)".  Of phase and location, the less precise one may be left out.
 */
static void add_state(const struct state *s, int rank, bool all_wait, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];

    if (r->phase >= 0 && !(r->steps_only && r->where[0]))
        text_append(ret, size, ", %s", doing(r->phase));
    add_waiting(s, rank, all_wait, ret, size);
    if (r->steps_only || r->phase < 0 || r->place != STATE_PLACE_UNKNOWN)
        add_place(s, rank, ret, size);
}

/* Write the sentence for a hang after the first step. rank: the rank to blame; found: the rank that
 * stands still, which may be another.
 */
static void hang_text(const struct state *s, int rank, int found, bool all_wait, char *ret,
                      size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    bool own = r->phase >= 0;
    int64_t steps = s->rank[own ? rank : found].steps;
    char still[32], limit[32], last[32] = "none so far";

    job_status_duration((double)s->rank[found].still_ns / CLOCK_S, still, sizeof still);
    job_status_duration((double)s->o.hang_ns / CLOCK_S, limit, sizeof limit);
    if (steps > 0)
        (void)snprintf(last, sizeof last, "%" PRId64, steps - 1);
    (void)snprintf(ret, size,
                   "rank %d (node %.120s, pid %d) %s for %s (timeouts.hang is %s); last step %s",
                   rank, state_host(s, r->agent), r->pid,
                   own ? "has made no step" : "keeps others from their steps", still, limit, last);
    add_state(s, rank, all_wait, ret, size);
}

/* Write the sentence for a rank that has not reached its first step in time. */
static void first_text(const struct state *s, int rank, bool all_wait, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    char limit[32];

    job_status_duration((double)s->o.first_step_ns / CLOCK_S, limit, sizeof limit);
    (void)snprintf(ret, size,
                   "rank %d (node %.120s, pid %d) has not reached its first step within %s "
                   "(timeouts.first_step): %s",
                   rank, state_host(s, r->agent), r->pid, limit,
                   r->phase < 0 ? "the other ranks wait for it in eddis_open" : doing(r->phase));
    add_waiting(s, rank, all_wait, ret, size);
    if (r->place != STATE_PLACE_UNKNOWN)
        add_place(s, rank, ret, size);
}

/* ---- without known steps ---- */

/* Return the number of other running ranks whose reported location is the same text as this rank's.
 */
static int beside(const struct state *s, int rank)
{
    int n = 0;

    for (int i = 0; i < s->n_ranks; i++)
        n += i != rank && !s->rank[i].exited && strcmp(s->rank[i].where, s->rank[rank].where) == 0;
    return n;
}

/* Return the rank to blame when all ranks are quiet: a rank that is elsewhere while others wait in
 * a collective operation; else the only rank whose location differs from the one that all other
 * ranks share; else `longest`, the rank that has been quiet for longest.
 */
static int blamed(const struct state *s, int longest)
{
    int alone = -1, n_alone = 0, left = state_ranks_left(s);

    if (elsewhere(s) >= 0)
        return elsewhere(s);
    for (int i = 0; i < s->n_ranks; i++)
        if (!s->rank[i].exited && beside(s, i) == 0) {
            alone = i;
            n_alone++;
        }
    for (int i = 0; i < s->n_ranks; i++)
        if (n_alone == 1 && !s->rank[i].exited && i != alone && beside(s, i) != left - 2)
            return longest;
    return n_alone == 1 && left > 2 ? alone : longest;
}

/* Return the rank to blame if all running ranks are quiet and none reports its steps; -1: a rank
 * works or reports its steps, or no rank runs.
 */
static int find_quiet(const struct state *s)
{
    int longest = -1;

    for (int i = 0; i < s->n_ranks; i++) {
        const struct state_rank *r = &s->rank[i];

        if (r->exited)
            continue;
        if (!r->quiet || (r->phase >= 0 && (!r->steps_only || r->steps > 0)))
            return -1;
        if (longest < 0 || r->quiet_ns < s->rank[longest].quiet_ns)
            longest = i;
    }
    return longest < 0 ? -1 : blamed(s, longest);
}

/* Write the sentence for a job whose ranks all neither print nor compute. rank: the rank to blame.
 */
static void quiet_text(const struct state *s, int rank, int64_t now_ns, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    char still[32], limit[32];

    job_status_duration((double)(now_ns - r->quiet_ns) / CLOCK_S, still, sizeof still);
    job_status_duration((double)s->o.hang_ns / CLOCK_S, limit, sizeof limit);
    (void)snprintf(ret, size,
                   "rank %d (node %.120s, pid %d) has neither printed nor computed for %s, nor has "
                   "any other running rank (timeouts.hang is %s)",
                   rank, state_host(s, r->agent), r->pid, still, limit);
    add_place(s, rank, ret, size);
}

/* Return the rank to blame of several that stand still and do not wait, as ranks do that wait for a
 * GPU or in a collective operation of the script: one that is elsewhere, else `found`.
 */
static int apart(const struct state *s, int found)
{
    int alone = blamed(s, found);

    for (int r = 0; s->rank[found].place == STATE_PLACE_COLLECTIVE && r < s->n_ranks; r++)
        if (stands(s, &s->rank[r]) && !waits(&s->rank[r]) &&
            s->rank[r].place == STATE_PLACE_ELSEWHERE)
            return r;
    return stands(s, &s->rank[alone]) && !waits(&s->rank[alone]) ? alone : found;
}

/* Return the rank to blame where rank `found` stands still. all_wait: all ranks wait. */
static int to_blame(const struct state *s, int found, bool all_wait)
{
    const struct state_rank *r = &s->rank[found];

    if (r->steps_only)
        return elsewhere(s) >= 0 ? elsewhere(s) : found;
    if (!r->combines)
        return found;
    if (!all_wait)
        return apart(s, found);
    return unlike(s) >= 0 ? unlike(s) : blamed(s, found);
}

/* ---- ranks that end alone ---- */

/* Check whether a waiting rank waits for a rank that has ended its steps, or it is unknown for whom
 * it waits.
 */
static bool awaits_ended(const struct state *s, const struct state_rank *r)
{
    return r->waits_for < 0 || s->rank[r->waits_for].ended;
}

/* Check whether the last progress page of r was surely written after rank `ended` had ended its
 * steps: a report may be as old as the lease.
 */
static bool is_later(const struct state *s, const struct state_rank *r,
                     const struct state_rank *ended)
{
    int64_t settle_ns = s->o.lease_ns > settled_ns ? s->o.lease_ns : settled_ns;

    return r->page_ns >= ended->ended_ns + settle_ns;
}

/* Return the first rank that waits in a step after the last step of rank `ended`; -1: none. */
static int left_behind(const struct state *s, const struct state_rank *ended)
{
    for (int r = 0; r < s->n_ranks; r++) {
        const struct state_rank *k = &s->rank[r];

        if (!k->exited && !k->ended && k->phase == STATE_RANK_WAIT && k->steps >= ended->steps &&
            k->still_ns >= settled_ns && is_later(s, k, ended) && awaits_ended(s, k))
            return r;
    }
    return -1;
}

/* Return a rank that has ended its steps while another rank, stored in *ret_behind, waits for it in
 * the next step; -1: none, and *ret_behind is unchanged.
 */
static int ended_alone(const struct state *s, int *ret_behind)
{
    for (int r = 0; r < s->n_ranks; r++) {
        const struct state_rank *k = &s->rank[r];
        int behind = k->ended && !k->exited && is_later(s, k, k) ? left_behind(s, k) : -1;

        if (behind >= 0) {
            *ret_behind = behind;
            return r;
        }
    }
    return -1;
}

/* Write the sentence for a rank that has ended its steps while rank `behind` waits for it in the
 * next step.
 */
static void alone_text(const struct state *s, int rank, int behind, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    char last[32] = "";

    if (r->steps > 0)
        (void)snprintf(last, sizeof last, " with step %" PRId64, r->steps - 1);
    (void)snprintf(ret, size,
                   "rank %d (node %.120s, pid %d) has ended its steps%s, but rank %d waits for it "
                   "in the next step: leave the loop on all ranks at the same step, or call "
                   "eddis_stop and continue until the loop ends",
                   rank, state_host(s, r->agent), r->pid, last, behind);
}

/* ---- the search for a hang ---- */

/* Check whether the location of each running rank is known, or its agent is lost.  Return true too
 * if patience_ns has passed since the order.
 */
static bool all_located(const struct state *s, int64_t now_ns)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (!s->rank[r].exited && !s->rank[r].answered && !s->agent[s->rank[r].agent].lost)
            return now_ns - s->look_ns >= patience_ns;
    return true;
}

/* Check whether the agents have answered where their ranks stand, or are late.  If they were not
 * asked since the hang was found, clear what is known of locations, queue ACTION_LOOK and return
 * false.
 */
static bool is_located(struct state *s, int64_t now_ns)
{
    if (!s->look_ns) {
        s->look_ns = now_ns;
        for (int r = 0; r < s->n_ranks; r++) {
            s->rank[r].answered = false;
            s->rank[r].place = STATE_PLACE_UNKNOWN;
            s->rank[r].where[0] = '\0';
        }
        state_push(s, ACTION_LOOK);
        return false;
    }
    return all_located(s, now_ns);
}

/* Fill in which rank is blamed for a hang, and since when. found: the rank that stands still. */
static void blame(const struct state *s, int rank, int found, int64_t now_ns,
                  struct state_failure *ret)
{
    const struct state_rank *r = &s->rank[rank];

    ret->at_ns = now_ns;
    ret->since_ns = now_ns - s->rank[found].still_ns;
    ret->rank = rank;
    ret->pid = r->pid;
    ret->step = r->phase < 0 ? s->rank[found].steps : r->steps;
    (void)snprintf(ret->node, sizeof ret->node, "%s", state_host(s, r->agent));
}

/* Search for a hang.  If there is one, order the agents to inspect their ranks, and fail the
 * generation after their answers; a rank that ended its steps alone fails it without them.  Do
 * nothing while the job saves: that has its own limit.
 */
void state_hang_look(struct state *s, const struct state_input *in)
{
    struct state_failure f = { .set = true,
                               .cause = CAUSE_HANG,
                               .reason = "hang",
                               .exit_code = EXIT_TIMEOUT,
                               .code = -1,
                               .stepped = true };
    bool first = is_first(s), all_wait = false,
         limited = limit_ns(s) > 0 && limit_ns(s) != CLOCK_NEVER;
    int r, found, quiet, behind;

    if (s->outcome == STATE_OUTCOME_SAVING)
        return;
    r = ended_alone(s, &behind);
    if (r >= 0) {
        blame(s, r, r, in->now_ns, &f);
        alone_text(s, r, behind, f.what, sizeof f.what);
        state_failed(s, &f, in->now_ns);
        return;
    }
    found = quiet = find_quiet(s);
    if (quiet < 0 && limited)
        found = first ? find_first(s, &all_wait, in->now_ns) : find(s, &all_wait);
    if (found < 0)
        s->look_ns = 0; /* there is no hang, or it has passed */
    if (found < 0 || !is_located(s, in->now_ns))
        return;
    r = quiet < 0 ? to_blame(s, found, all_wait) : found;
    blame(s, r, found, in->now_ns, &f);
    if (quiet >= 0)
        f.since_ns = s->rank[r].quiet_ns;
    if (quiet >= 0)
        quiet_text(s, r, in->now_ns, f.what, sizeof f.what);
    else if (first)
        first_text(s, r, all_wait, f.what, sizeof f.what);
    else
        hang_text(s, r, found, all_wait, f.what, sizeof f.what);
    state_failed(s, &f, in->now_ns);
}
