/* SPDX-License-Identifier: Apache-2.0 */
/* driver_fixture.h - the driver's state machine as its tests drive it
 *
 * Actions are taken as they come and noted.  driver_run.h makes a job of it.
 */
#ifndef EDDIS_TESTS_DRIVER_FIXTURE_H
#define EDDIS_TESTS_DRIVER_FIXTURE_H

#include "agents/driver/state/state.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3, RANKS = 5 };
static const int64_t second = CLOCK_S;

struct fixture {
    struct state s;
    int64_t now_ns;
    bool silent[NODES];             /* the node is frozen or cut off: not heard, and does nothing */
    int ordered[32], revive[NODES]; /* how often each action was, and that of each node */
    char did[2048];                 /* actions since did() looked last, "profile;plan;" */
    char said[8192];                /* a sentence a line */
    int place[RANKS];         /* what agents answer of ranks when asked where they stand ... */
    const char *where[RANKS]; /* ... NULL: nothing */
};

static inline const char *action_word(const struct action *a)
{
    static const char *const words[] = {
        [ACTION_PROFILE] = "profile",  [ACTION_PLAN] = "plan",
        [ACTION_PREPARE] = "prepare",  [ACTION_START] = "start",
        [ACTION_SIGNAL] = "signal",    [ACTION_CHECKPOINT] = "checkpoint",
        [ACTION_BYE] = "bye",          [ACTION_KILL] = "kill",
        [ACTION_LAST_LINES] = "lines", [ACTION_NETWORK] = "network",
        [ACTION_FORGET] = "forget",    [ACTION_CHECK] = "check",
        [ACTION_REVIVE] = "revive",    [ACTION_RECOVERED] = "recovered",
        [ACTION_MEASURE] = "measure",  [ACTION_LOOK] = "look",
    };
    static const char *const ladder[] = { "stop orderly", "stop failure", "stop kill" };

    return a->type == ACTION_STOP ? ladder[a->ladder] : words[a->type];
}

static inline struct event event(struct fixture *f, enum event_type type)
{
    static char none[] = "";

    return (struct event){ .type = type,
                           .generation = f->s.generation,
                           .rank = -1,
                           .code = 0,
                           .step = -1,
                           .text = none,
                           .last_lines = none };
}

/* Agents that are there tell where their ranks stand. */
static inline void answer_look(struct fixture *f)
{
    for (int r = 0; r < f->s.n_ranks; r++) {
        struct event e = event(f, EVENT_PLACE);

        e.rank = r;
        e.code = f->place[r];
        if (f->where[r])
            e.text = (char *)(uintptr_t)f->where[r];
        if (!f->silent[f->s.rank[r].agent] && !f->s.rank[r].exited)
            state_event(&f->s, f->s.rank[r].agent, &e, f->now_ns);
    }
}

static inline void drain(struct fixture *f)
{
    struct action a;

    while (state_action(&f->s, &a)) {
        char *to = a.type == ACTION_SAY ? f->said : f->did;
        size_t size = a.type == ACTION_SAY ? sizeof f->said : sizeof f->did, n = strlen(to);

        f->ordered[a.type]++;
        if (a.type == ACTION_SAY)
            (void)snprintf(to + n, size - n, "%s\n", a.text);
        else
            (void)snprintf(to + n, size - n, "%s;", action_word(&a));
        if (a.type == ACTION_REVIVE)
            f->revive[a.agent]++;
        if (a.type == ACTION_LOOK)
            answer_look(f);
    }
}

/* That people were told this. */
#define said(f, text)                                                                              \
    do {                                                                                           \
        drain(f);                                                                                  \
        ck_assert_msg(strstr((f)->said, text), "said: %s", (f)->said);                             \
    } while (0)

/* That these are the actions since it was asked last. */
#define did(f, text)                                                                               \
    do {                                                                                           \
        drain(f);                                                                                  \
        ck_assert_str_eq((f)->did, text);                                                          \
        (f)->did[0] = '\0';                                                                        \
    } while (0)

static inline void begin_with(struct fixture *f, const struct state_options *o)
{
    memset(f, 0, sizeof *f);
    f->now_ns = 1000 * second;
    ck_assert_int_eq(state_init(&f->s, o, f->now_ns, NULL), 0);
}

static inline void started(struct fixture *f, int rank)
{
    struct event e = event(f, EVENT_RANK_STARTED);

    e.rank = rank;
    e.pid = 100 + rank;
    state_event(&f->s, f->s.rank[rank].agent, &e, f->now_ns);
    drain(f);
}

static inline void mpirun(struct fixture *f, int code, int sig)
{
    struct event e = event(f, EVENT_MPIRUN_EXIT);

    e.code = sig ? -1 : code;
    e.signal = sig;
    state_event(&f->s, f->s.first, &e, f->now_ns);
    drain(f);
}

/* Where all ranks do the same steps they are the job's. */
static inline int64_t common_steps(const struct state *s)
{
    int64_t n = s->rank[0].steps;

    for (int r = 1; r < s->n_ranks; r++)
        n = s->rank[r].steps < n ? s->rank[r].steps : n;
    return n;
}

static inline void send_progress(struct fixture *f, const struct progress *p)
{
    if (f->silent[f->s.rank[p->rank].agent])
        return;
    state_progress(&f->s, p, f->now_ns);
    state_steps(&f->s, common_steps(&f->s));
    drain(f);
}

static inline void progress(struct fixture *f, int rank, int phase, int64_t steps, int64_t still_ns)
{
    const struct progress p = { .rank = rank,
                                .pid = 100 + rank,
                                .phase = phase,
                                .waits_for = -1,
                                .steps_done = steps,
                                .steps_here = steps,
                                .sum.total_ns = steps * CLOCK_MS,
                                .page_age_ns = still_ns,
                                .phase_age_ns = still_ns };

    send_progress(f, &p);
}

/* Of a program that has told this number of a step first, and nothing else of it. */
static inline void told(struct fixture *f, int rank, int64_t number)
{
    send_progress(f, &(struct progress){ .rank = rank,
                                         .pid = 100 + rank,
                                         .phase = 2,
                                         .waits_for = -1,
                                         .steps_done = number,
                                         .told = true,
                                         .page_age_ns = number > 0 ? 0 : -1 });
}

#endif
