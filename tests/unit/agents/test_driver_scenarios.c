/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_scenarios.c - plays a folder's files of scenarios of the driver's state machine
 *
 * scenario.h describes the form of a file.  A step is a word with its operands; a sentence follows
 * behind a colon: `ended 1: agent exited 3`.  The clock may move before it: `+3s tick`.  The words
 * of the steps are below, each with the function that takes it.
 *
 * An expectation is one of these, or a fact that collect_facts() lists:
 *
 *     > said: TEXT        this sentence was printed, after those that were expected before
 *     > never said: TEXT  no printed sentence contains it
 *     > did: ACTIONS      exactly these since they were expected last; "nothing"
 *
 * All is compared whole, but what is expected may begin or end with "...".  A job that is ending
 * when its scenario is over must come to its end in good order.
 *
 * Nodes and ranks are "2", "0-3", "0,2", "all" or "none"; "rest": the ranks that have not exited.
 */
#include "driver_fixture.h"
#include "lib/base/text.h"
#include "scenario.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 16, FILES = 32, RUNS = 512, FACTS = 8192 };

/* A scenario that is being played. */
struct play {
    struct fixture f;
    bool begun;
    const char *unheard;      /* what was said behind the last expected sentence */
    const char *path, *name;  /* of the file, and of the scenario with its head */
    int run, row;             /* which run this is, from 0, and the line of its values */
    int number;               /* of the present line */
    char *word[WORDS], *text; /* of it; text NULL: it has no sentence */
    bool used[WORDS];
    int n_words;
    char facts[FACTS]; /* a fact a line */
};

/* Write down what can be expected of the machine. */
static void collect_facts(struct play *p);

/* End the scenario: something is not as its present line says. */
__attribute__((format(printf, 2, 3), noreturn)) static void wrong(struct play *p, const char *fmt,
                                                                  ...)
{
    char what[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (p->begun)
        collect_facts(p);
    ck_abort_msg("%s:%d: %s\n%s, run %d, line %d\n%ssaid:\n%s", p->path, p->number, what, p->name,
                 p->run + 1, p->row, p->facts, p->f.said);
    abort();
}

/* ---- operands ---- */

static bool is(const struct play *p, const char *name)
{
    return strcmp(p->word[0], name) == 0;
}

/* Return an operand, from 1. */
static const char *word(struct play *p, int i)
{
    if (i >= p->n_words)
        wrong(p, "'%s' lacks an operand", p->word[0]);
    p->used[i] = true;
    return p->word[i];
}

/* Check whether the line has this operand. */
static bool has(struct play *p, const char *flag)
{
    for (int i = 1; i < p->n_words; i++)
        if (strcmp(p->word[i], flag) == 0)
            return p->used[i] = true;
    return false;
}

/* Return the value of the operand NAME=VALUE; otherwise if there is none. */
static const char *option(struct play *p, const char *name, const char *otherwise)
{
    size_t n = strlen(name);

    for (int i = 1; i < p->n_words; i++)
        if (strncmp(p->word[i], name, n) == 0 && p->word[i][n] == '=') {
            p->used[i] = true;
            return p->word[i] + n + 1;
        }
    return otherwise;
}

static char *sentence(struct play *p)
{
    if (!p->text)
        wrong(p, "'%s' lacks a sentence", p->word[0]);
    return p->text;
}

static int64_t number(struct play *p, const char *text)
{
    char *end;
    long long n = strtoll(text, &end, 10);

    if (end == text || *end)
        wrong(p, "'%s' is no number", text);
    return n;
}

/* Return the nanoseconds of "0.5s"; "never": CLOCK_NEVER. */
static int64_t duration(struct play *p, const char *text)
{
    char *end;
    double n = strtod(text, &end);

    if (strcmp(text, "never") == 0)
        return CLOCK_NEVER;
    if (end == text || strcmp(end, "s") != 0)
        wrong(p, "'%s' is no time", text);
    return (int64_t)(n * 1e9 + 0.5);
}

static int signal_of(struct play *p, const char *name)
{
    for (int i = 1; i < NSIG; i++)
        if (strcmp(text_signal(i), name) == 0)
            return i;
    wrong(p, "'%s' is no signal", name);
}

/* Return the phase of a name, "probe-stop". */
static enum state_phase phase_of(struct play *p, const char *name)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%s", name);
    if (strncmp(text, "probe-", 6) == 0)
        text[5] = ' ';
    for (int i = 0; i < STATE_PHASES; i++)
        if (strcmp(state_phase_name((enum state_phase)i), text) == 0)
            return (enum state_phase)i;
    wrong(p, "'%s' is no phase", name);
}

/* Check whether i is among the digits "0-3" or "0,2" of a set, or it is "all". */
static bool is_in(const char *set, int i)
{
    for (const char *at = set; *at; at++)
        if (isdigit((unsigned char)*at) && i >= *at - '0' &&
            i <= (at[1] == '-' ? at[2] : *at) - '0')
            return true;
    return strcmp(set, "all") == 0;
}

/* Check whether operand 1 names this node, or rank if ranks. */
static bool names(struct play *p, int i, bool ranks)
{
    const char *set = p->n_words > 1 ? p->word[1] : "";
    bool yes = is_in(set, i) || (ranks && strcmp(set, "rest") == 0 && !p->f.s.rank[i].exited);

    p->used[1] = p->used[1] || yes;
    if (strcmp(set, "none") == 0) /* the other operands do not matter */
        memset(p->used, true, sizeof p->used);
    return yes;
}

/* Copy the i-th item of a list "a,b,c", or its only one; return ret. */
static const char *item(const char *list, int i, char ret[32])
{
    for (; i > 0 && strchr(list, ','); i--)
        list = strchr(list, ',') + 1;
    (void)snprintf(ret, 32, "%.*s", (int)strcspn(list, ","), list);
    return ret;
}

/* ---- steps of the job, and of time ---- */

/* Go on as far as a phase. */
static void reach(struct play *p, const char *phase)
{
    if (!go_to(&p->f, phase_of(p, phase)))
        wrong(p, "no way leads to the phase %s", phase);
}

static void do_steps(struct play *p, const char *n)
{
    for (int r = 0; r < p->f.s.n_ranks; r++)
        send_page(&p->f, (struct progress){ .rank = r,
                                            .phase = STATE_RANK_COMPUTE,
                                            .waits_for = -1,
                                            .steps_done = number(p, n) });
}

/* local|remote [nodes=N] [to=PHASE] [steps=N] [OPTION] ...: a job of driver_fixture.h on its way */
static void take_begin(struct play *p)
{
    struct state_options o = job_options(is(p, "remote"));
    const char *machines = option(p, "machines", ""), *steps = option(p, "steps", NULL);

    o.n_agents = (int)number(p, option(p, "nodes", o.share ? "3" : "2"));
    o.unsaved = has(p, "unsaved");
    o.resumes = has(p, "resumes");
    o.restarts = number(p, option(p, "restarts", "0"));
    o.node_losses = number(p, option(p, "losses", "0"));
    o.restarts_asked = has(p, "asked");
    o.furthest = has(p, "furthest");
    o.gpus_ns = duration(p, option(p, "gpus", "0s"));
    o.launch_ns = duration(p, option(p, "launch", "60s"));
    o.hang_ns = duration(p, option(p, "hang", o.share ? "30s" : "0s"));
    o.first_step_ns = duration(p, option(p, "first", o.share ? "1800s" : "0s"));
    if (p->begun) /* instead of the file's job */
        state_fini(&p->f.s);
    begin(&p->f, &o);
    p->begun = true;
    p->f.cached = has(p, "cached");
    for (int i = 0; machines[i] && i < NODES; i++)
        p->f.s.agent[i].machine[0] = machines[i] == '-' ? '\0' : machines[i];
    reach(p, option(p, "to", "register"));
    if (steps)
        do_steps(p, steps);
    p->f.did[0] = '\0';
    p->unheard = p->f.said;
}

/* Let all leave, and the job end. */
static void end(struct play *p)
{
    if (!leave(&p->f))
        wrong(p, "the job does not leave in good order");
}

/* pass TIME: nodes are heard meanwhile, and confirm stops if they have found a checkpoint [step=N]
 */
static void take_pass(struct play *p)
{
    int64_t ns = duration(p, word(p, 1));
    const char *step = option(p, "step", NULL);
    struct event e;

    for (; step && ns > 0; ns -= CLOCK_S / 2) {
        pass(&p->f, CLOCK_S / 2);
        e = event(&p->f, EVENT_STOPPED);
        e.step = number(p, step);
        if (state_is_stopping(&p->f.s))
            report_all(&p->f, &e);
    }
    pass(&p->f, ns);
}

/* Take what the machine's caller answers, sees or requests.  Return false if it is nothing of that.
 */
static bool take_call(struct play *p)
{
    struct state *s = &p->f.s;
    int none = 0;

    if (is(p, "plan-0")) /* the first node alone has a rank */
        ck_assert_int_eq(state_planned(s, 1, &none, p->f.now_ns, NULL), 0);
    else if (is(p, "unplannable"))
        state_unplannable(s, sentence(p), p->f.now_ns);
    else if (is(p, "network-try"))
        ck_assert_int_eq(state_network_try(s, p->f.now_ns, NULL), 0);
    else if (is(p, "network-known"))
        state_network_known(s, false, p->f.now_ns);
    else if (is(p, "network-failed"))
        state_network_failed(s, sentence(p), p->f.now_ns);
    else if (is(p, "no-more-starts"))
        state_no_more_starts(s, sentence(p));
    else if (is(p, "left-behind"))
        state_left_behind(s, sentence(p));
    else if (is(p, "signal") && has(p, "--stop")) /* this option of eddis-run */
        state_signal(s, 0, p->f.now_ns);
    else if (is(p, "signal"))
        state_signal(s, signal_of(p, word(p, 1)), p->f.now_ns);
    else if (is(p, "at-limit"))
        state_at_limit(s);
    else if (is(p, "checkpoint")) /* the caller sees it */
        state_checkpoint_seen(s, number(p, word(p, 1)));
    else if (is(p, "job-steps")) /* the job's own count of them */
        state_steps(s, number(p, word(p, 1)));
    else if (is(p, "lives")) /* a sign of life of any rank */
        state_lives(s, p->f.now_ns);
    else if (is(p, "paused"))
        state_paused(s, duration(p, word(p, 1)), p->f.now_ns);
    else if (is(p, "put-off"))
        state_put_off(s, duration(p, word(p, 1)));
    else
        return false;
    return true;
}

/* Take a step of time, or one that goes a longer way; deadline: the clock moves to the next one.
 * Return false if it is none.
 */
static bool take_way(struct play *p)
{
    if (is(p, "deadline"))
        p->f.now_ns = state_deadline(&p->f.s);
    if (is(p, "tick") || is(p, "deadline"))
        state_tick(&p->f.s, p->f.now_ns);
    else if (is(p, "pass"))
        take_pass(p);
    else if (is(p, "to"))
        reach(p, word(p, 1));
    else if (is(p, "steps"))
        do_steps(p, word(p, 1));
    else if (is(p, "leave"))
        end(p);
    else
        return false;
    return true;
}

/* ---- events ---- */

static const struct event_word {
    const char *word;
    enum event_type type;
    bool of_ranks, ends;
} event_words[] = {
    /* WORD NODES [step=N]: SENTENCE; all: those that are there and have a part */
    { "profile", EVENT_PROFILE },
    { "unmeasured", EVENT_UNMEASURED },
    { "gpus", EVENT_GPUS },
    { "prepared", EVENT_PREPARED },
    { "measured", EVENT_NETWORK },
    { "stopped", EVENT_STOPPED },
    { "failed", EVENT_FAILED },
    /* WORD NODES|RANKS HOW [age=TIME] [by-us] [lines] ...; HOW: an exit code or a signal's name */
    { "slurm", EVENT_SIGNAL, .ends = true },
    { "mpirun", EVENT_MPIRUN_EXIT, .ends = true }, /* of another node than the first: its daemon */
    { "exit", EVENT_RANK_EXIT, .of_ranks = true, .ends = true },
    /* WORD RANKS [pid=N] [node=N]; node: from another node than theirs */
    { "start", EVENT_RANK_STARTED, .of_ranks = true },
    { "quiet", EVENT_QUIET, .of_ranks = true }, /* [for=TIME]; the first of several for longest */
};

/* Return the event of a line, without its rank. */
static struct event event_of(struct play *p, const struct event_word *w)
{
    static char lines[] = "mmap(2): Cannot allocate memory\n";
    struct event e = event(&p->f, w->type);
    bool profiles =
        w->type == EVENT_PROFILE || w->type == EVENT_UNMEASURED || w->type == EVENT_GPUS;
    const char *how = w->ends ? word(p, 2) : "0";

    e.text = p->text ? p->text : e.text;
    e.generation -= has(p, "older");
    if (profiles) /* as of agents, whose orders to profile belong to no generation */
        e.generation = 0;
    e.step = number(p, option(p, "step", "-1"));
    e.age_ns = duration(p, option(p, "age", "0s"));
    e.signal = isdigit((unsigned char)*how) ? 0 : signal_of(p, how);
    e.code = e.signal ? -1 : (int)number(p, how);
    e.by_us = has(p, "by-us");
    e.oom = has(p, "oom");
    e.peak_bytes = 812000000;
    e.limit_bytes = 1073741824;
    e.lingers = has(p, "lingers");
    e.first = has(p, "first");
    e.echo = has(p, "echo");
    if (has(p, "lines"))
        e.last_lines = lines;
    return e;
}

/* Report an event of a rank. */
static void report_rank(struct play *p, struct event e, int rank)
{
    const char *pid = option(p, "pid", NULL), *node = option(p, "node", NULL);

    e.rank = rank;
    e.pid = pid ? (int)number(p, pid) : 100 + rank;
    if (e.type == EVENT_QUIET) {
        e.quiet_ns = duration(p, option(p, "for", "0s"));
        e.quiet_ns += e.quiet_ns ? RANKS - rank - 1 : 0;
    }
    report(&p->f, node ? (int)number(p, node) : p->f.s.rank[rank].agent, &e);
}

/* Take a step that is an event.  Return false if it is none. */
static bool take_event(struct play *p)
{
    const struct event_word *w = event_words, *end = w + sizeof event_words / sizeof *w;
    struct event e;

    while (w < end && !is(p, w->word))
        w++;
    if (w == end)
        return false;
    e = event_of(p, w);
    for (int r = 0; w->of_ranks && r < p->f.s.n_ranks; r++)
        if (names(p, r, true))
            report_rank(p, e, r);
    if (!w->of_ranks && has(p, "all"))
        report_all(&p->f, &e);
    for (int i = 0; !w->of_ranks && i < p->f.s.o.n_agents; i++)
        if (!has(p, "all") && names(p, i, false))
            report(&p->f, i, &e);
    return true;
}

/* ---- other steps of nodes and ranks ---- */

/* Take a step of one node.  Return false if it is none. */
static bool take_node(struct play *p, int node)
{
    struct state *s = &p->f.s;

    if (is(p, "register"))
        enroll(&p->f, node);
    else if (is(p, "heard"))
        state_heard(s, node, p->f.now_ns);
    else if (is(p, "silent"))
        p->f.silent[node] = true;
    else if (is(p, "ended"))
        state_ended(s, node, sentence(p), p->f.now_ns);
    else if (is(p, "not-started"))
        state_not_started(s, node, sentence(p), p->f.now_ns);
    else if (is(p, "down"))
        state_node_down(s, node, p->f.now_ns);
    else if (is(p, "waits"))
        state_waits(s, node);
    else
        return false;
    return true;
}

/* Take a step of nodes.  Return false if it is none. */
static bool take_nodes(struct play *p)
{
    bool any = false;

    for (int i = 0; i < p->f.s.o.n_agents; i++)
        if (names(p, i, false))
            any = take_node(p, i) || any;
    return any;
}

static int rank_phase(struct play *p, const char *name)
{
    static const char *const names[] = {
        [STATE_RANK_START] = "start",       [STATE_RANK_INPUT] = "input",
        [STATE_RANK_COMPUTE] = "compute",   [STATE_RANK_WAIT] = "wait",
        [STATE_RANK_EVALUATE] = "evaluate", [STATE_RANK_CHECKPOINT] = "checkpoint",
        [STATE_RANK_DONE] = "done",
    };

    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(names[i], name) == 0)
            return i;
    wrong(p, "'%s' is no phase of a rank", name);
}

/* page RANKS PHASES STEPS [still=TIME] [waits=RANKS] [total=N] [holds=N] [opens] [trained] [ended]
 * [number-only] [own]; holds: samples at once;
 * number-only: it reports the number of a step and nothing else; own: the program combines its
 * gradients itself.  PHASES and waits are lists, or all ranks'.
 */
static void take_page(struct play *p)
{
    int64_t done = number(p, word(p, 3)), still_ns = duration(p, option(p, "still", "0s"));
    struct progress page = { .steps_done = done,
                             .steps_total = number(p, option(p, "total", "0")),
                             .at_once = number(p, option(p, "holds", "0")),
                             .page_age_ns = done > 0 ? still_ns : -1,
                             .phase_age_ns = has(p, "opens") ? -1 : still_ns,
                             .trained = has(p, "trained"),
                             .ended = has(p, "ended"),
                             .steps_only = has(p, "number-only") };
    char text[32];

    if (has(p, "own"))
        strcpy(page.program.gradients, "torch");
    for (int r = 0, k = 0; r < p->f.s.n_ranks; r++) {
        if (!names(p, r, true))
            continue;
        page.rank = r;
        page.phase = rank_phase(p, item(word(p, 2), k, text));
        item(option(p, "waits", "-"), k++, text);
        page.waits_for = *text == '-' ? -1 : (int)number(p, text);
        send_page(&p->f, page);
    }
}

/* Take what an agent answers of its ranks: WHERE RANKS: SENTENCE.  Return false if it is none. */
static bool take_place(struct play *p)
{
    static const char *const words[] = { [STATE_PLACE_UNKNOWN] = "unknown",
                                         [STATE_PLACE_COLLECTIVE] = "collective",
                                         [STATE_PLACE_ELSEWHERE] = "elsewhere" };
    int place = STATE_PLACE_ELSEWHERE;

    while (place >= 0 && !is(p, words[place]))
        place--;
    for (int r = 0; place >= 0 && r < p->f.s.n_ranks; r++)
        if (names(p, r, true)) {
            p->f.place[r] = place;
            (void)snprintf(p->f.where[r], sizeof *p->f.where, "%s", sentence(p));
        }
    return place >= 0;
}

/* Take a step of ranks; finish: all of them, and mpirun, end with 0.  Return false if it is none.
 */
static bool take_ranks(struct play *p)
{
    struct event e = event(&p->f, EVENT_MPIRUN_EXIT);

    if (is(p, "page")) {
        take_page(p);
    } else if (is(p, "finish")) {
        for (int r = 0; r < p->f.s.n_ranks; r++)
            report_rank(p, event(&p->f, EVENT_RANK_EXIT), r);
        report(&p->f, p->f.s.first, &e);
    } else {
        return take_place(p);
    }
    return true;
}

/* ---- expectations ---- */

__attribute__((format(printf, 2, 3))) static void fact(struct play *p, const char *fmt, ...)
{
    size_t n = strlen(p->facts);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(p->facts + n, sizeof p->facts - n, fmt, args);
    va_end(args);
    n = strlen(p->facts);
    (void)snprintf(p->facts + n, sizeof p->facts - n, "\n");
}

static double seconds(int64_t ns)
{
    return (double)ns / CLOCK_S;
}

/* What becomes of the job. */
static void collect_end(struct play *p)
{
    const struct state *s = &p->f.s;
    const struct state_failure *shown = state_failure_reported(s); /* by the status document */
    char text[256];

    fact(p, "phase %s", state_phase_name(s->phase));
    if (!state_is_ending(s) && !s->reason)
        fact(p, "no end");
    if (state_is_ending(s))
        fact(p, "end %s %d", s->reason, s->exit_code);
    if (state_is_ending(s) && s->failure.set)
        fact(p, "end %s %d by rank %d", s->reason, s->exit_code, s->failure.rank);
    fact(p, s->failure.set ? "blames %d" : "blames nobody", s->failure.rank);
    fact(p, shown->set ? "shows %d" : "shows nobody", shown->rank);
    fact(p, s->message[0] ? "message: %s" : "message:", s->message);
    state_restart_text(s, state_count_usable(s), text, sizeof text);
    fact(p, "restart: %s", text);
    fact(p, "trouble: %s", s->probe_trouble); /* of the network that was probed */
    fact(p, "did: %s", p->f.did[0] ? p->f.did : "nothing");
}

static void collect_numbers(struct play *p)
{
    const struct state *s = &p->f.s;

    fact(p, "generation %" PRId64, s->generation);
    fact(p, "ranks %d", s->n_ranks);
    fact(p, "restarts %" PRId64, s->restarts);
    fact(p, "losses %" PRId64, s->node_losses);
    fact(p, "recent losses %" PRId64, s->losses_recent);
    fact(p, "in vain %d", s->in_vain);
    fact(p, "resumes at %" PRId64, s->resume_step);
    fact(p, "preempted %d", s->preempt_count);
    fact(p, "failed at step %" PRId64 " by signal %d", s->failure.step, s->failure.signal);
    fact(p, "before that %d, %gs ago", s->before.rank, seconds(p->f.now_ns - s->before.at_ns));
    fact(p, "counted %gs ago", seconds(p->f.now_ns - s->counted_ns));
    fact(p, "deadline in %gs", seconds(state_deadline(s) - p->f.now_ns));
    for (int i = 0; i < ACTIONS; i++)
        fact(p, "ordered %s %d", action_name((enum action_type)i), p->f.ordered[i]);
}

static void collect_members(struct play *p)
{
    const struct state *s = &p->f.s;

    for (int i = 0; i < s->o.n_agents; i++) {
        fact(p, "agent %d is %sknown", i, state_is_known(s, i) ? "" : "not ");
        fact(p, "agent %d is %susable", i, state_is_usable(s, i) ? "" : "not ");
        fact(p, "agent %d is %sstarting", i, s->agent[i].starting ? "" : "not ");
        fact(p, "agent %d is %sa part", i, s->agent[i].part ? "" : "not ");
        fact(p, "agent %d has %sstopped", i, s->agent[i].stopped ? "" : "not ");
    }
    for (int i = 0; i < s->n_ranks; i++) {
        fact(p, "rank %d has pid %d and %s", i, s->rank[i].pid,
             s->rank[i].exited ? "exited" : "runs");
        fact(p, "rank %d has %sstepped", i, s->rank[i].stepped ? "" : "not ");
    }
}

static void collect_facts(struct play *p)
{
    p->facts[0] = '\0';
    collect_end(p);
    collect_numbers(p);
    collect_members(p);
}

/* Check whether a text is what is expected, which may begin or end with "...". */
static bool is_like(const char *text, size_t have, const char *expected)
{
    size_t n = strlen(expected);
    bool from = strncmp(expected, "...", 3) == 0;
    bool to = n > 3 && strcmp(expected + n - 3, "...") == 0;

    expected += from ? 3 : 0;
    n -= (from ? 3 : 0) + (to ? 3 : 0);
    for (size_t i = 0; i + n <= have && (from || i == 0); i++)
        if (strncmp(text + i, expected, n) == 0 && (to || i + n == have))
            return true;
    return false;
}

/* Return what follows the first line that is as expected; NULL: none is. */
static const char *find_line(const char *lines, const char *expected)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");

        if (is_like(lines, n, expected))
            return lines + n + 1;
        lines += n + 1;
    }
    return NULL;
}

static void expect(struct play *p, const char *text)
{
    const char *said = behind(text, "said:"), *never = behind(text, "never said:"), *found = text;

    collect_facts(p);
    if (said)
        found = p->unheard = find_line(p->unheard, said);
    else if (never)
        found = strstr(p->f.said, never) ? NULL : text;
    else
        found = find_line(p->facts, text);
    if (!found)
        wrong(p, "it is not so: %s", text);
    if (behind(text, "did:"))
        p->f.did[0] = '\0';
}

/* ---- the play ---- */

/* Cut a line into its words and its sentence; move the clock if it says so. */
static void cut(struct play *p, char *text)
{
    char *colon = strchr(text, ':');

    p->text = colon ? colon + 1 + strspn(colon + 1, " ") : NULL;
    if (colon)
        *colon = '\0';
    memset(p->used, 0, sizeof p->used);
    p->n_words = 0;
    for (char *next; (next = strsep(&text, " "));) {
        if (p->n_words == 0 && *next == '+')
            p->f.now_ns += duration(p, next + 1);
        else if (*next && p->n_words < WORDS)
            p->word[p->n_words++] = next;
    }
    if (p->n_words == 0 || p->n_words == WORDS)
        wrong(p, "no word, or too many");
    p->used[0] = true;
}

static void take(void *ctx, int line, char *text)
{
    struct play *p = ctx;

    p->number = line;
    if (*text == '>' && p->begun) {
        expect(p, text + 2);
        return;
    }
    cut(p, text);
    if (is(p, "local") || is(p, "remote"))
        take_begin(p);
    else if (!p->begun ||
             (!take_way(p) && !take_call(p) && !take_event(p) && !take_nodes(p) && !take_ranks(p)))
        wrong(p, "unknown step '%s', or it stands before the job", p->word[0]);
    p->text = NULL;
    drain(&p->f);
    for (int i = 0; i < p->n_words; i++)
        if (!p->used[i])
            wrong(p, "unknown operand '%s'", p->word[i]);
}

/* All runs of all scenarios of the files. */
static struct script script[FILES];
static struct {
    const struct script *script;
    int line, run;
} runs[RUNS];
static int n_scripts, n_runs;

START_TEST(form)
{
    script_check(&script[_i]);
}
END_TEST

START_TEST(play)
{
    const struct script *s = runs[_i].script;
    int line = runs[_i].line;
    struct play p = { .path = s->path, .name = s->line[line].text, .run = runs[_i].run };

    p.row = script_row(s, line, p.run);
    scenario_play(s, line, p.run, take, &p);
    if (state_is_ending(&p.f.s))
        end(&p);
    if (p.f.s.impossible)
        wrong(&p, "inputs were impossible");
    state_fini(&p.f.s);
}
END_TEST

/* Add the scenarios of a file as a test case of its name. */
static void add_file(Suite *suite, const char *folder, const char *name)
{
    struct script *s = &script[n_scripts];
    int from = n_runs;
    TCase *tc;

    if (n_scripts == FILES || !script_read(folder, name, s)) {
        (void)fprintf(stderr, "%s/%s: cannot read it\n", folder, name);
        exit(EXIT_FAILURE);
    }
    for (int line = 0; line < s->n; line++)
        for (int run = 0; run < script_runs(s, line) && n_runs < RUNS; run++) {
            runs[n_runs].script = s;
            runs[n_runs].line = line;
            runs[n_runs++].run = run;
        }
    tc = tcase_create(strrchr(s->path, '/') + 1);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, form, n_scripts, n_scripts + 1);
    tcase_add_loop_test(tc, play, from, n_runs);
    suite_add_tcase(suite, tc);
    n_scripts++;
}

/* argv[1] is the folder. */
int main(int argc, char **argv)
{
    Suite *suite = suite_create("driver_scenarios");
    SRunner *runner = srunner_create(suite);
    struct dirent **entry = NULL;
    int failed, n = argc == 2 ? scandir(argv[1], &entry, NULL, alphasort) : 0;

    for (int i = 0; i < n; i++) {
        if (entry[i]->d_name[0] != '.')
            add_file(suite, argv[1], entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    for (int i = 0; i < n_scripts; i++)
        script_free(&script[i]);
    return failed || n_runs == 0 || n_runs == RUNS ? EXIT_FAILURE : EXIT_SUCCESS;
}
