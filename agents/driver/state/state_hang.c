/* SPDX-License-Identifier: Apache-2.0 */
/* state_hang.c - progress of ranks, and ranks that make none
 *
 * A rank stands still when neither its steps nor its phase change.  How long is told by its own
 * node's clock with each report, so that a node that says nothing is lost, and never hangs.  Ranks
 * that wait for others, in a step or in a checkpoint, stand still because of them: what is looked
 * for is one that does not wait, or, when there is none, all of them waiting for each other.  Ranks
 * that leave are missed by nobody but by others that do: see stuck_leaving.
 *
 * Where ranks only print their steps, and some of them print fewer, one that prints nothing any
 * more may well work: such a job hangs when the rank that is furthest does.
 *
 * Ranks of which no step is known are looked at from outside, where somebody has asked for it: the
 * job hangs when all that are left neither print nor use processor time.  Those that tell numbers
 * of steps alone are among them before the first number above 0.
 *
 * A hang that was found is judged once the agents have answered where their ranks stand, or are
 * late: who is elsewhere while others wait in a collective operation keeps them from going on.
 *
 * A rank that has ended its steps by itself comes to no other one, so that one that waits in a step
 * behind them does so for ever: no limit has to be waited for.
 *
 * Before a generation's first step another limit holds, for programs load their data there.  It
 * counts only where steps are to come: a program without libeddis is never known to begin any, and
 * one that only shares buffers makes none.
 */
#include "state_input.h"

#include "agents/job/status_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* For agents to tell where their ranks stand: longer than stack_inspect.c lets py-spy look. */
static const int64_t patience_ns = 8 * CLOCK_S;

/* For pages of all ranks to be of one time. */
static const int64_t settled_ns = 5 * CLOCK_S;

/* ---- progress ---- */

/* From the last failure to the end of the first step after it. */
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
                   "%.3f s from the failure to the first step of generation %" PRId64,
                   (double)s->recovery_ns / CLOCK_S, s->generation);
}

static int64_t min_known(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Of numbers that are told the first one says that the steps before it were done. */
static bool has_stepped(const struct progress *p)
{
    return p->steps_here > 0 || (p->told && p->steps_done > 0);
}

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
    s->any_page = s->any_page || (p->phase >= 0 && !p->told);
    s->any_told = s->any_told || p->told;
    s->models = s->models || p->models.found != MODEL_CHECK_ALIKE;
    r->steps = p->steps_done;
    r->phase = p->phase;
    r->opens = p->phase == STATE_RANK_START && p->phase_age_ns < 0;
    r->told = p->told;
    r->trained = p->trained;
    if (p->ended && !r->ended)
        r->ended_ns = in->now_ns;
    r->ended = p->ended;
    r->page_ns = in->now_ns;
    r->will_step = p->told || p->steps_total > 0 || p->model_bytes > 0;
    r->at_once = p->at_once;
    r->waits_for = p->waits_for < s->n_ranks && p->waits_for != p->rank ? p->waits_for : -1;
    if (has_stepped(p) && !r->stepped) {
        recovered(s, p, in->now_ns);
        r->stepped = true;
    }
}

/* ---- none ---- */

static bool is_at_work(const struct state_rank *r)
{
    return r->phase >= 0 && r->phase != STATE_RANK_DONE && !r->exited;
}

static bool any_at_work(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (is_at_work(&s->rank[r]))
            return true;
    return false;
}

/* Whether the generation's first step is still to come. */
static bool is_first(const struct state *s)
{
    return !state_any_step(s) && any_at_work(s);
}

/* How long a rank may stand still; 0 or CLOCK_NEVER: for ever. */
static int64_t limit_ns(const struct state *s)
{
    return is_first(s) ? s->o.first_step_ns : s->o.hang_ns;
}

static bool stands(const struct state *s, const struct state_rank *r)
{
    return is_at_work(r) && r->still_ns >= limit_ns(s);
}

/* One that is leaving waits like any other; the wait of a step has begun before it is known for
 * whom.
 */
static bool waits(const struct state_rank *r)
{
    return r->phase >= 0 && !r->exited && (r->phase == STATE_RANK_WAIT || r->waits_for >= 0);
}

/* Of those that stand still the one that is furthest behind, the first of equals. */
static int furthest_behind(const struct state *s, bool waiting)
{
    int behind = -1;

    for (int r = 0; r < s->n_ranks; r++)
        if (stands(s, &s->rank[r]) && waits(&s->rank[r]) == waiting &&
            (behind < 0 || s->rank[r].steps < s->rank[behind].steps))
            behind = r;
    return behind;
}

/* Whether the rank that has got furthest gets on still. */
static bool furthest_moves(const struct state *s)
{
    int furthest = -1;

    for (int r = 0; r < s->n_ranks; r++)
        if (is_at_work(&s->rank[r]) && (furthest < 0 || s->rank[r].steps > s->rank[furthest].steps))
            furthest = r;
    return furthest >= 0 && !stands(s, &s->rank[furthest]);
}

/* One that waits in vain for others to leave with, when no rank is at work any more; -1: none. */
static int stuck_leaving(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (waits(&s->rank[r]) && s->rank[r].still_ns >= limit_ns(s))
            return r;
    return -1;
}

/* Whom r waits for, if that one is still there; -1: nobody, as far as is known. */
static int awaited(const struct state *s, int r)
{
    int peer = s->rank[r].waits_for;

    return peer >= 0 && s->rank[peer].phase >= 0 && !s->rank[peer].exited ? peer : -1;
}

/* The last of those of whom one waits for the next, beginning with r; of a circle one of it. */
static int last_awaited(const struct state *s, int r)
{
    for (int n = 0; n < s->n_ranks && awaited(s, r) >= 0; n++)
        r = awaited(s, r);
    return r;
}

/* The rank that hangs: one that others wait for, or any when all wait for each other.  -1: none. */
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
            return -1; /* it gets on, or has begun to wait but now */
    r = any_at_work(s) ? furthest_behind(s, true) : stuck_leaving(s);
    if (r < 0)
        return -1;
    r = last_awaited(s, r);
    *all_wait = waits(&s->rank[r]);
    return s->rank[r].still_ns >= limit_ns(s) ? r : -1; /* it may have begun to leave but now */
}

/* One without which the others cannot come out of eddis_open; -1: none. */
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

/* The rank that keeps the first step from coming; -1: none, or no step is known to come. */
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

/* Append "0-4, 6, 7": the ranks that wait, without this one. */
static int waiting_text(const struct state *s, int but, char *ret, size_t size)
{
    int n = 0;
    size_t len = 0;

    ret[0] = '\0';
    for (int r = 0, last; r < s->n_ranks; r = last + 1) {
        int k;

        for (last = r; last < s->n_ranks && last != but && waits(&s->rank[last]); last++)
            n++;
        if (last == r)
            continue;
        last--;
        k = snprintf(ret + len, size - len,
                     last > r + 1 ? "%s%d-%d"
                     : last > r   ? "%s%d, %d"
                                  : "%s%d",
                     len ? ", " : "", r, last);
        if (k < 0 || (size_t)k >= size - len)
            return n; /* cut: the number of them is right all the same */
        len += (size_t)k;
    }
    return n;
}

static const char *doing(int phase)
{
    static const char *const words[] = {
        [STATE_RANK_START] = "starting",      [STATE_RANK_INPUT] = "waiting for data",
        [STATE_RANK_COMPUTE] = "computing",   [STATE_RANK_WAIT] = "waiting for others",
        [STATE_RANK_EVALUATE] = "evaluating", [STATE_RANK_CHECKPOINT] = "writing a checkpoint",
        [STATE_RANK_DONE] = "leaving",
    };

    return phase >= 0 && phase < (int)(sizeof words / sizeof *words) ? words[phase] : "at work";
}

/* The one of the ranks in such a place that has been quiet for longest; -1: none is there. */
static int longest_in(const struct state *s, enum state_place place)
{
    int longest = -1;

    for (int i = 0; i < s->n_ranks; i++)
        if (!s->rank[i].exited && s->rank[i].place == (int)place &&
            (longest < 0 || s->rank[i].quiet_ns < s->rank[longest].quiet_ns))
            longest = i;
    return longest;
}

/* The one that keeps others in a collective operation, for it is elsewhere; -1: none is known. */
static int elsewhere(const struct state *s)
{
    return longest_in(s, STATE_PLACE_COLLECTIVE) >= 0 ? longest_in(s, STATE_PLACE_ELSEWHERE) : -1;
}

/* ": it is in load (train.py:33); rank 0 waits in all_reduce (...)" */
static void place_text(const struct state *s, int rank, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    int other = longest_in(s, STATE_PLACE_COLLECTIVE);
    bool differs = r->place == STATE_PLACE_ELSEWHERE && other >= 0;
    int n = snprintf(ret, size, "%s%s", r->where[0] ? ": " : "", r->where);

    if (differs && n >= 0 && (size_t)n < size)
        (void)snprintf(ret + n, size - (size_t)n, "; rank %d%s", other,
                       strchrnul(s->rank[other].where, ' '));
}

/* "; ranks 1-3 wait for it" */
static void wait_text(const struct state *s, int rank, bool all_wait, char *ret, size_t size)
{
    char who[128];
    int n = waiting_text(s, rank, who, sizeof who);

    ret[0] = '\0';
    if (n && all_wait)
        (void)snprintf(ret, size, "; all ranks wait for each other");
    else if (n)
        (void)snprintf(ret, size, "; rank%s %s wait%s for it", n == 1 ? "" : "s", who,
                       n == 1 ? "s" : "");
}

/* ", computing; ranks 1-3 wait for it", and where it stands.  Of one that tells its steps alone
 * nothing else is known; of one that says what it does the kernel's word is no news.
 */
static void state_text(const struct state *s, int rank, bool all_wait, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    bool says = r->phase >= 0 && !(r->told && r->where[0]);
    char wait[200], place[400] = "";

    wait_text(s, rank, all_wait, wait, sizeof wait);
    if (r->told || r->phase < 0 || r->place != STATE_PLACE_UNKNOWN)
        place_text(s, rank, place, sizeof place);
    (void)snprintf(ret, size, "%s%s%s%s", says ? ", " : "", says ? doing(r->phase) : "", wait,
                   place);
}

/* rank: to blame, which may be another than the one that was found. */
static void hang_text(const struct state *s, int rank, int found, bool all_wait, char *ret,
                      size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    bool own = r->phase >= 0;
    int64_t steps = s->rank[own ? rank : found].steps;
    char still[32], limit[32], last[32] = "none so far";
    int n;

    job_status_duration((double)s->rank[found].still_ns / CLOCK_S, still, sizeof still);
    job_status_duration((double)s->o.hang_ns / CLOCK_S, limit, sizeof limit);
    if (steps > 0)
        (void)snprintf(last, sizeof last, "%" PRId64, steps - 1);
    n = snprintf(ret, size,
                 "rank %d (node %.120s, pid %d) %s for %s, timeouts.hang is %s: last step %s", rank,
                 state_host(s, r->agent), r->pid,
                 own ? "has made no step" : "keeps others from theirs", still, limit, last);
    if (n >= 0 && (size_t)n < size)
        state_text(s, rank, all_wait, ret + n, size - (size_t)n);
}

static void first_text(const struct state *s, int rank, bool all_wait, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    char limit[32], wait[200], place[400] = "";

    job_status_duration((double)s->o.first_step_ns / CLOCK_S, limit, sizeof limit);
    wait_text(s, rank, all_wait, wait, sizeof wait);
    if (r->place != STATE_PLACE_UNKNOWN)
        place_text(s, rank, place, sizeof place);
    (void)snprintf(ret, size,
                   "rank %d (node %.120s, pid %d) has not come to its first step within %s "
                   "(timeouts.first_step): %s%s%s",
                   rank, state_host(s, r->agent), r->pid, limit,
                   r->phase < 0 ? "the others are in eddis_open without it" : doing(r->phase), wait,
                   place);
}

/* ---- without known steps ---- */

/* How many other ranks that are left wait in the same place of the kernel. */
static int beside(const struct state *s, int rank)
{
    int n = 0;

    for (int i = 0; i < s->n_ranks; i++)
        n += i != rank && !s->rank[i].exited && strcmp(s->rank[i].where, s->rank[rank].where) == 0;
    return n;
}

/* Who is to be named: one that is elsewhere while others wait in a collective operation, or else
 * the only one that does not wait where all others do, for it is in another call than they are, or
 * else the one that has been quiet for longest.
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

/* Of ranks that all do nothing the one that does so the longest; -1: one does something, or tells
 * of its steps.
 */
static int find_quiet(const struct state *s)
{
    int longest = -1;

    for (int i = 0; i < s->n_ranks; i++) {
        const struct state_rank *r = &s->rank[i];

        if (r->exited)
            continue;
        if (!r->quiet || (r->phase >= 0 && (!r->told || r->steps > 0)))
            return -1;
        if (longest < 0 || r->quiet_ns < s->rank[longest].quiet_ns)
            longest = i;
    }
    return longest < 0 ? -1 : blamed(s, longest);
}

static void quiet_text(const struct state *s, int rank, int64_t now_ns, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    char still[32], limit[32];
    int n;

    job_status_duration((double)(now_ns - r->quiet_ns) / CLOCK_S, still, sizeof still);
    job_status_duration((double)s->o.hang_ns / CLOCK_S, limit, sizeof limit);
    n = snprintf(ret, size,
                 "rank %d (node %.120s, pid %d) has neither printed nor computed for %s, nor has "
                 "any other rank that is left, timeouts.hang is %s",
                 rank, state_host(s, r->agent), r->pid, still, limit);
    if (n >= 0 && (size_t)n < size)
        place_text(s, rank, ret + n, size - (size_t)n);
}

/* ---- ranks that end alone ---- */

/* Whether such a rank waits for one that has ended its steps, or for whom nobody knows. */
static bool awaits_ended(const struct state *s, const struct state_rank *r)
{
    return r->waits_for < 0 || s->rank[r->waits_for].ended;
}

/* Return whether a page of the rank has come so long after another had ended its steps that it was
 * written since: a report may be as old as the lease.
 */
static bool is_later(const struct state *s, const struct state_rank *r,
                     const struct state_rank *ended)
{
    int64_t settle_ns = s->o.lease_ns > settled_ns ? s->o.lease_ns : settled_ns;

    return r->page_ns >= ended->ended_ns + settle_ns;
}

/* One that waits behind the steps of another which has ended; -1: none. */
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

/* One that has ended its steps while another waits for it in the next; -1: none. */
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

static void alone_text(const struct state *s, int rank, int behind, char *ret, size_t size)
{
    const struct state_rank *r = &s->rank[rank];
    char last[32] = "";

    if (r->steps > 0)
        (void)snprintf(last, sizeof last, " with step %" PRId64, r->steps - 1);
    (void)snprintf(ret, size,
                   "rank %d (node %.120s, pid %d) has ended its steps%s, and rank %d waits for it "
                   "in the next one: leave the loop on all ranks at the same step, or call "
                   "eddis_stop and go on until the loop ends",
                   rank, state_host(s, r->agent), r->pid, last, behind);
}

/* ---- all ---- */

/* Whether nobody has to be waited for who could tell where a rank stands. */
static bool all_looked(const struct state *s, int64_t now_ns)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (!s->rank[r].exited && !s->rank[r].looked && !s->agent[s->rank[r].agent].lost)
            return now_ns - s->look_ns >= patience_ns;
    return true;
}

/* A hang was found: have agents look where their ranks stand.  Whether they have. */
static bool looked(struct state *s, int64_t now_ns)
{
    if (!s->look_ns) {
        s->look_ns = now_ns;
        for (int r = 0; r < s->n_ranks; r++) {
            s->rank[r].looked = false;
            s->rank[r].place = STATE_PLACE_UNKNOWN;
            s->rank[r].where[0] = '\0';
        }
        state_push(s, ACTION_LOOK);
        return false;
    }
    return all_looked(s, now_ns);
}

/* found: the one that stands still. */
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
        s->look_ns = 0; /* it goes on */
    if (found < 0 || !looked(s, in->now_ns))
        return;
    r = quiet < 0 && s->rank[found].told && elsewhere(s) >= 0 ? elsewhere(s) : found;
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
