/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - a small cluster around the driver's state machine; see world.h */
#include "tests/unit/agents/state_trace/world.h"

#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

const struct world_set world_sets[] = {
    { "two nodes", 2, 3, { 0, 0, 1 }, 3, 30, 0, 15, true, false },
    { "two nodes, once", 2, 2, { 0, 1 }, 0, 30, 0, 15, false, false },
    { "one node", 1, 2, { 0, 0 }, 1, 30, 0, 15, true, false },
    { "three nodes", 3, 4, { 0, 1, 1, 2 }, 2, 30, 0, 0, true, false },
    { "three nodes, one spare", 3, 2, { 0, 1 }, 2, 0, 3600, 15, false, false },
    { "second node first", 2, 2, { 1, 0 }, 1, 30, 300, 15, true, false },
    { "check only", 2, 2, { 0, 1 }, 0, 30, 0, 15, true, true },
    { "alone", 1, 1, { 0 }, 1, 0, 100, 0, false, false },
};
const int world_n_sets = sizeof world_sets / sizeof *world_sets;

const char *world_phase_name(enum world_phase p)
{
    static const char *const name[] = { "REGISTER", "PROFILE", "NETWORK", "PLAN",
                                        "PREPARE",  "CHECK",   "START",   "RUN",
                                        "STOP",     "REGROUP", "BYE",     "OVER" };

    return name[p];
}

/* ---- the machine and its copies ---- */

void world_init(struct world *w, const struct world_set *set)
{
    const struct state_options o = {
        .n_agents = set->n_agents,
        .share = set->share,
        .check_only = set->check_only,
        .restarts = set->restarts,
        .launch_ns = 60 * CLOCK_S,
        .lease_ns = 10 * CLOCK_S,
        .node_lost_ns = set->node_lost_s * CLOCK_S,
        .hang_ns = set->hang_s * CLOCK_S,
        .grace_ns = 10 * CLOCK_S,
        .checkpoint_ns = 20 * CLOCK_S,
        .job_ns = set->job_s ? set->job_s * CLOCK_S : CLOCK_NEVER,
    };

    memset(w, 0, sizeof *w);
    w->set = set;
    w->now_ns = 1000 * CLOCK_S;
    if (state_init(&w->s, &o, w->now_ns, NULL) < 0)
        abort();
    for (int a = 1; a < set->n_agents; a++)
        w->s.agent[a].remote = true; /* the first is this machine */
}

void world_fini(struct world *w)
{
    state_fini(&w->s);
}

static void *twin(const void *p, size_t n)
{
    void *t = p ? malloc(n) : NULL;

    if (p && !t)
        abort();
    return t ? memcpy(t, p, n) : NULL;
}

void world_copy(struct world *to, const struct world *from)
{
    *to = *from;
    to->s.agent = twin(from->s.agent, (size_t)from->set->n_agents * sizeof *from->s.agent);
    to->s.rank = twin(from->s.rank, (size_t)from->s.n_ranks * sizeof *from->s.rank);
    to->s.queue.at =
        twin(from->s.queue.at, ((size_t)from->s.queue.room + 1) * sizeof *from->s.queue.at);
}

bool world_same(const struct world *a, const struct world *b)
{
    struct state x = a->s, y = b->s;

    x.agent = y.agent = NULL;
    x.rank = y.rank = NULL;
    x.queue.at = y.queue.at = NULL;
    x.queue.room = y.queue.room = 0;
    return a->now_ns == b->now_ns && memcmp(&x, &y, sizeof x) == 0 &&
           memcmp(a->s.agent, b->s.agent, (size_t)a->set->n_agents * sizeof *a->s.agent) == 0 &&
           (a->s.n_ranks == 0 ||
            memcmp(a->s.rank, b->s.rank, (size_t)a->s.n_ranks * sizeof *a->s.rank) == 0);
}

/* ---- what is felt ---- */

static void mix(uint64_t *h, unsigned char c)
{
    *h = (*h ^ c) * 1099511628211u;
}

static void feel_number(struct world_felt *f, const char *name, int64_t v)
{
    for (int i = 0; i < 8; i++) {
        mix(&f->all, (unsigned char)((uint64_t)v >> 8 * i));
        mix(&f->coarse, (unsigned char)((uint64_t)v >> 8 * i));
    }
    if (f->text && v)
        fprintf(f->text, " %s=%lld", name, (long long)v);
}

/* For the coarse one: how far about. */
static void feel_time(struct world_felt *f, const char *name, int64_t ns)
{
    uint64_t all = f->all;
    int class = 0;

    for (int64_t limit = 1; class < 12 && ns > limit * CLOCK_S; limit *= 2)
        class ++;
    feel_number(f, name, ns == CLOCK_NEVER ? 99 : ns <= 0 ? -1 : class);
    f->all = all;
    for (int i = 0; i < 8; i++)
        mix(&f->all, (unsigned char)((uint64_t)ns >> 8 * i));
}

static void feel_text(struct world_felt *f, const char *name, const char *t)
{
    bool digits = false;

    for (const char *c = t ? t : "(null)"; *c; c++) {
        bool digit = (*c >= '0' && *c <= '9') || *c == '.';

        mix(&f->all, (unsigned char)*c);
        if (!digit || !digits)
            mix(&f->coarse, digit ? '#' : (unsigned char)*c);
        digits = digit;
    }
    mix(&f->all, 0);
    mix(&f->coarse, 0);
    if (f->text && t && *t)
        fprintf(f->text, " %s=\"%s\"", name, t);
}

static const char *action_name(enum action_type t)
{
    static const char *const name[] = {
        [ACTION_PROFILE] = "profile", [ACTION_NETWORK] = "network",
        [ACTION_FORGET] = "forget",   [ACTION_PLAN] = "plan",
        [ACTION_PREPARE] = "prepare", [ACTION_CHECK] = "check",
        [ACTION_START] = "start",     [ACTION_CHECKPOINT] = "checkpoint",
        [ACTION_SIGNAL] = "signal",   [ACTION_STOP] = "stop",
        [ACTION_REVIVE] = "revive",   [ACTION_RECOVERED] = "recovered",
        [ACTION_BYE] = "bye",         [ACTION_KILL] = "kill",
        [ACTION_SAY] = "say",         [ACTION_LAST_LINES] = "last_lines",
    };

    return name[t];
}

static void feel_action(struct world *w, const struct action *a, struct world_felt *f)
{
    if (f->text)
        fprintf(f->text, " |");
    feel_text(f, "do", action_name(a->type));
    feel_number(f, "ladder", a->ladder);
    feel_number(f, "agent", a->agent + 1);
    feel_number(f, "rank", a->rank + 1);
    feel_text(f, "text", a->text);
    switch (a->type) {
    case ACTION_PROFILE:
        for (int i = 0; i < w->set->n_agents; i++)
            if (a->agent < 0 || a->agent == i)
                w->profile_ordered[i] = true;
        break;
    case ACTION_FORGET:
        w->forgot = true;
        break;
    case ACTION_PREPARE:
        w->forgot = false;
        w->prepare_ordered = true;
        w->check_ordered = w->start_ordered = w->stop_ordered = false;
        break;
    case ACTION_CHECK:
        w->check_ordered = true;
        break;
    case ACTION_START:
        w->start_ordered = true;
        break;
    case ACTION_STOP:
        w->stop_ordered = true;
        break;
    case ACTION_REVIVE:
        w->profile_ordered[a->agent] = false;
        break;
    default:
        break;
    }
}

static void feel_failure(struct world *w, const struct state_failure *x, const char *name,
                         struct world_felt *f)
{
    feel_number(f, name, x->set);
    if (!x->set)
        return;
    feel_number(f, "cause", (int)x->cause);
    feel_text(f, "reason", x->reason);
    feel_number(f, "exit_code", x->exit_code);
    feel_time(f, "at", w->now_ns - x->at_ns);
    feel_number(f, "rank", x->rank);
    feel_number(f, "pid", x->pid);
    feel_number(f, "code", x->code);
    feel_number(f, "signal", x->signal);
    feel_number(f, "step", x->step);
    feel_text(f, "node", x->node);
    feel_text(f, "what", x->what);
}

static void feel_agents(struct world *w, struct world_felt *f)
{
    for (int i = 0; i < w->set->n_agents; i++) {
        const struct state_agent *a = &w->s.agent[i];

        feel_number(f, "agent",
                    state_is_known(&w->s, i) | state_is_usable(&w->s, i) << 1 | a->part << 2 |
                        a->registered << 3 | a->ended << 4 | a->lost << 5);
        feel_text(f, "host", a->host);
    }
    for (int r = 0; r < w->s.n_ranks; r++) {
        feel_number(f, "rank_of", w->s.rank[r].agent);
        feel_number(f, "pid", w->s.rank[r].pid);
    }
}

static void feel_state(struct world *w, struct world_felt *f)
{
    struct state *s = &w->s;
    enum world_phase p = world_phase(s);
    char text[256];

    if (f->text)
        fprintf(f->text, " | -> %s", world_phase_name(p));
    feel_number(f, "phase", p);
    feel_number(f, "generation", s->generation);
    feel_number(f, "restarts", s->restarts);
    feel_number(f, "node_losses", s->node_losses);
    feel_number(f, "n_ranks", s->n_ranks);
    feel_number(f, "first", s->n_ranks ? s->first : -1);
    feel_text(f, "reason", s->reason);
    feel_number(f, "exit_code", s->exit_code);
    feel_text(f, "message", s->message);
    feel_number(f, "preempt", s->preempt_ns != 0);
    feel_number(f, "checkpointed", world_checkpointed(s));
    feel_number(f, "cached", world_network_cached(s));
    feel_number(f, "resume_step", s->resume_step);
    feel_time(f, "recovery", s->recovery_ns);
    feel_text(f, "probe", s->generation == 0 ? s->probe_trouble : "");
    if (!w->forgot || s->generation > 0)
        feel_failure(w, &s->failure, "failure", f);
    feel_failure(w, &s->before, "before", f);
    feel_agents(w, f);
    feel_number(f, "echo", state_is_echo(s));
    state_restart_text(s, 2, text, sizeof text);
    feel_text(f, "restart", text);
    if (p != WORLD_OVER) { /* nobody waits any more */
        int64_t at = state_deadline(s);

        feel_time(f, "deadline", at == CLOCK_NEVER ? at : at - w->now_ns);
    }
}

/* Agents that are there answer at once that nothing is known. */
static void answer_look(struct world *w)
{
    for (int r = 0; r < w->s.n_ranks; r++) {
        const struct event e = { .type = EVENT_PLACE, .generation = w->s.generation, .rank = r };

        if (!w->s.rank[r].exited)
            state_event(&w->s, w->s.rank[r].agent, &e, w->now_ns);
    }
}

void world_feel(struct world *w, struct world_felt *f)
{
    struct action a;

    while (state_action(&w->s, &a))
        if (a.type == ACTION_LOOK)
            answer_look(w);
        else
            feel_action(w, &a, f);
    feel_state(w, f);
}
