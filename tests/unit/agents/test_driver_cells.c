/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_cells.c - every cell of the state machine's table, and what holds in all its states
 */
#include "agents/driver/state/state_input.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "tests/unit/agents/world/world.h"

#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* What leads to a phase from the one before; nothing: "forward". */
static const char *const way[STATE_PHASES][2] = {
    [STATE_PHASE_STOP] = { "all step", "ended (agent 1)" },
    [STATE_PHASE_BYE] = { "SIGINT" },
};

static void give_named(struct world *w, const char *input)
{
    ck_assert_msg(world_give(w, world_find_input(w->set, input)), "%s in %s", input,
                  state_phase_name(w->s.phase));
}

static void reach(struct world *w, enum state_phase phase)
{
    world_init(w, &world_sets[0]);
    for (int p = 0; p <= (int)phase; p++) {
        for (int i = 0; i < 2 && way[p][i]; i++)
            give_named(w, way[p][i]);
        if (p > 0 && !way[p][0])
            give_named(w, "forward");
        ck_assert_int_eq(w->s.phase, p);
    }
}

/* One that any handler finds what it wants in. */
static struct state_input input_of(enum input_type type, const struct world *w)
{
    static char text[] = "some words";
    static struct event e;
    static struct progress p;

    e = (struct event){
        .generation = w->s.generation, .step = 5, .text = text, .last_lines = text
    };
    p = (struct progress){ .phase = 2, .steps_done = 3, .steps_here = 3 };
    return (struct state_input){ .type = type,
                                 .agent = 0,
                                 .now_ns = w->now_ns + CLOCK_S,
                                 .event = &e,
                                 .progress = &p,
                                 .text = text,
                                 .reason = "internal",
                                 .again = "ask",
                                 .exit_code = 1,
                                 .signal = SIGTERM,
                                 .step = 5,
                                 .from_ns = w->now_ns + CLOCK_S };
}

static struct state_rank *two_ranks(void)
{
    struct state_rank *r = calloc(2, sizeof *r);

    ck_assert_ptr_nonnull(r);
    r[1].agent = 1;
    return r;
}

/* Give one input to a machine in this phase, and tell whether anything but the count of impossible
 * inputs has changed.
 */
static bool changes(enum input_type type, enum state_phase phase)
{
    struct world w, before;
    struct state_input in;
    bool placed, same;
    int impossible;

    reach(&w, phase);
    world_copy(&before, &w);
    in = input_of(type, &w);
    in.rank = two_ranks();
    in.n_ranks = 2;
    impossible = w.s.impossible;
    state_take(&w.s, &in);
    ck_assert_int_eq(w.s.impossible - impossible, state_cell(type, phase) == CELL_IMPOSSIBLE);
    ck_assert_int_ge((int)w.s.phase, 0);
    ck_assert_int_lt((int)w.s.phase, STATE_PHASES);
    placed = w.s.rank == in.rank;
    w.s.impossible = impossible;
    same = w.s.n_ranks == before.s.n_ranks && world_same(&w, &before);
    if (!placed)
        free(in.rank);
    world_fini(&w);
    world_fini(&before);
    return !same;
}

/* Cells whose handler rightly does nothing with that input where reach() leads. */
static bool finds_nothing(enum input_type type, enum state_phase phase)
{
    switch (type) {
    case INPUT_REGISTERED: /* the node has: it says so again */
        return phase > STATE_PHASE_PROFILE;
    case INPUT_PROFILED:
        return phase > STATE_PHASE_PROFILE;
    case INPUT_UNMEASURED: /* it has told its profile */
        return phase != STATE_PHASE_PROFILE;
    case INPUT_PREPARED:
        return phase == STATE_PHASE_PROBE_STOP || phase == STATE_PHASE_STOP;
    case INPUT_AGENT_ENDED:
    case INPUT_NOT_STARTED:
        return phase == STATE_PHASE_OVER;
    case INPUT_CHECKPOINT_SEEN: /* none was asked for */
    case INPUT_LOOK_FOR_HANG:   /* nobody does */
        return true;
    case INPUT_LATE: /* there is time yet for the node that is waited for */
    case INPUT_REGROUPED:
        return phase == STATE_PHASE_REGROUP;
    default:
        return false;
    }
}

START_TEST(cell)
{
    enum input_type type = (enum input_type)(_i / STATE_PHASES);
    enum state_phase phase = (enum state_phase)(_i % STATE_PHASES);

    ck_assert_msg(state_cell_is_whole(type, phase), "input %d in %s has no handler", type,
                  state_phase_name(phase));
    if (state_cell(type, phase) == CELL_HANDLER)
        ck_assert_msg(changes(type, phase) != finds_nothing(type, phase), "input %d in %s does %s",
                      type, state_phase_name(phase),
                      finds_nothing(type, phase) ? "something" : "nothing");
    else
        ck_assert_msg(!changes(type, phase), "input %d in %s is not ignored", type,
                      state_phase_name(phase));
}
END_TEST

/* Names are there, so that no row of the phases is missing; a row of the inputs would be no whole
 * cell.
 */
START_TEST(names)
{
    for (int i = 0; i < STATE_PHASES; i++)
        ck_assert_ptr_nonnull(state_phase_name((enum state_phase)i));
}
END_TEST

/* A cell that changes its kind is meant to: then the number here changes, too. */
START_TEST(count)
{
    static const int want[] = {
        [CELL_HANDLER] = 299, [CELL_IGNORE] = 188, [CELL_IMPOSSIBLE] = 153
    };
    int n[CELL_HANDLER + 1] = { 0 };

    for (int i = 0; i < INPUTS; i++)
        for (int p = 0; p < STATE_PHASES; p++)
            n[state_cell((enum input_type)i, (enum state_phase)p)]++;
    printf("%d inputs x %d phases: %d cells with a handler, %d ignored, %d impossible\n", INPUTS,
           STATE_PHASES, n[CELL_HANDLER], n[CELL_IGNORE], n[CELL_IMPOSSIBLE]);
    (void)fflush(stdout);
    for (int k = 0; k <= CELL_HANDLER; k++)
        ck_assert_int_eq(n[k], want[k]);
}
END_TEST

/* ---- which cells the world comes to ---- */

static long met[INPUTS][STATE_PHASES];

void __real_state_take(struct state *s, const struct state_input *in);
void __wrap_state_take(struct state *s, const struct state_input *in);

/* The linker puts it in front of state_take. */
void __wrap_state_take(struct state *s, const struct state_input *in)
{
    met[in->type][s->phase]++;
    __real_state_take(s, in);
}

static void walk(const struct world_set *set, uint64_t seed)
{
    int forward = world_find_input(set, "forward"), n = world_n_inputs(set);
    struct world w;

    world_init(&w, set);
    for (int k = 0; k < 100; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        (void)world_give(&w, seed >> 33 & 1 ? forward : (int)((seed >> 40) % (unsigned)n));
    }
    world_fini(&w);
}

static bool give(struct world *to, const struct world *from, int input)
{
    world_copy(to, from);
    return world_give(to, input);
}

/* Any two inputs, one after the other. */
static void two_inputs(const struct world *w)
{
    int n = world_n_inputs(w->set);

    for (int i = 0; i < n; i++) {
        struct world one, two;

        if (give(&one, w, i))
            for (int k = 0; k < n; k++) {
                (void)give(&two, &one, k);
                world_fini(&two);
            }
        world_fini(&one);
    }
}

/* Any two inputs after each step of a way, which are inputs, or "3 forward" for three of them. */
static void look_around(const struct world_set *set, const char *way_of)
{
    cleanup_free char *steps = strdup(way_of);
    struct world w;

    world_init(&w, set);
    two_inputs(&w);
    for (char *rest = steps, *step; (step = strsep(&rest, ","));) {
        const char *input = step + strspn(step, "0123456789 ");

        for (int left = atoi(step) ? atoi(step) : 1; left > 0; left--) {
            give_named(&w, input);
            two_inputs(&w);
        }
    }
    world_fini(&w);
}

static const struct world_set hurried = { "hurried", 2, 2, { 0, 1 }, 1, 30, 10, 15, true, false };
static const struct world_set spare = { "spare", 3, 2, { 0, 1 }, 2, 0, 0, 15, true, false };

/* All goes well; a spare node comes back while others train, and in a launch that makes the network
 * be measured again.
 */
static const char well[] = "12 forward, SIGQUIT, 2 forward";
static const char comes_back[] =
    "2 forward, network known, 2 forward, ended (agent 2), tick, forward, registered (agent 2), "
    "2 forward, rank signal (rank 0), forward, due, 4 forward";
static const char starts[] = "2 forward, network cached, 3 forward, ended (agent 2), tick, "
                             "mpirun exit 1, three seconds, 6 forward";
static const char is_there[] = "2 forward, network cached, 3 forward, ended (agent 2), tick, "
                               "mpirun exit 1, three seconds, forward, registered (agent 2), "
                               "5 forward";

/* Cells that no honest caller needs; they do something sensible all the same. */
static bool is_spare(enum input_type type, enum state_phase phase)
{
    switch (type) {
    case INPUT_PROFILED: /* before it was ordered */
        return phase == STATE_PHASE_REGISTER;
    case INPUT_UNMEASURED: /* the world's nodes have profiles; scenarios/start.txt has others */
    case INPUT_GPUS:       /* the world's jobs do not wait for GPUs; start.txt has one that does */
        return true;
    case INPUT_NOT_STARTED: /* when all have registered; a node given up that is started again */
        return phase == STATE_PHASE_PROFILE || phase == STATE_PHASE_OVER;
    case INPUT_NETWORK_FAILED: /* before its ranks could tell */
        return phase == STATE_PHASE_NETWORK || phase == STATE_PHASE_PROBE_PREPARE;
    default:
        return false;
    }
}

START_TEST(all_are_met)
{
    int unmet = 0;

    memset(met, 0, sizeof met);
    look_around(&world_sets[0], well);
    look_around(&hurried, well);
    look_around(&spare, comes_back);
    look_around(&spare, starts);
    look_around(&spare, is_there);
    for (int i = 0; i < world_n_sets; i++)
        for (uint64_t seed = 1; seed <= (uint64_t)SUITE_SEEDS(2000); seed++)
            walk(&world_sets[i], seed * 0x9e3779b97f4a7c15u);
    for (int i = 0; i < INPUTS; i++)
        for (int p = 0; p < STATE_PHASES; p++) {
            enum cell_kind kind = state_cell((enum input_type)i, (enum state_phase)p);

            if (kind == CELL_IGNORE || (kind == CELL_HANDLER) == (met[i][p] > 0) ||
                is_spare((enum input_type)i, (enum state_phase)p))
                continue;
            unmet++;
            printf("input %d in %s: %s\n", i, state_phase_name((enum state_phase)p),
                   kind == CELL_HANDLER ? "its handler is never needed" : "is possible");
        }
    (void)fflush(stdout);
    ck_assert_int_eq(unmet, 0);
}
END_TEST

/* ---- what holds wherever the world goes ---- */

enum { WALKS = SUITE_SEEDS(200), WALK_STEPS = 120 };

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Print the inputs of a walk up to where it went wrong. */
static void print_walk(const struct world_set *set, const int *input, int n)
{
    char name[64];

    printf("%s:", set->name);
    for (int i = 0; i <= n; i++) {
        world_input_name(set, input[i], name, sizeof name);
        printf("%s %s", i ? "," : "", name);
    }
    printf("\n");
    (void)fflush(stdout);
}

/* A job that was preempted ends with another code as soon as it is known that it has saved. */
static bool is_resumable_now(const struct state *before, const struct state *after)
{
    return before->outcome == STATE_OUTCOME_PREEMPTED &&
           before->checkpoint != STATE_CHECKPOINT_SEEN &&
           after->checkpoint == STATE_CHECKPOINT_SEEN;
}

/* Return whether the phase ends by some deadline, its own where it has one.  For a network and a
 * plan it waits for its caller, who answers at once.
 */
static bool is_bounded(const struct state *s)
{
    switch (s->phase) {
    case STATE_PHASE_NETWORK:
    case STATE_PHASE_PLAN:
    case STATE_PHASE_OVER:
        return true;
    case STATE_PHASE_PROBE_RUN:
    case STATE_PHASE_RUN:
        return state_deadline(s) < CLOCK_NEVER;
    default:
        return s->deadline_ns < CLOCK_NEVER;
    }
}

/* Return what does not hold in this world, which another was before the last input; NULL: all does.
 */
static const char *broken(const struct world *before, const struct world *w)
{
    const struct state *a = &before->s, *b = &w->s;
    bool final = a->outcome >= STATE_OUTCOME_OK || a->phase >= STATE_PHASE_BYE;
    bool same = b->exit_code == a->exit_code && b->reason == a->reason;

    if (b->impossible)
        return "an input came that the table calls impossible";
    if (w->late_starts)
        return "ranks were started behind the end";
    if (w->double_starts || (b->phase >= STATE_PHASE_BYE && w->start_ordered && !w->stop_ordered))
        return "ranks that were started were not ordered to stop";
    if (final && !same && !is_resumable_now(a, b))
        return "the exit code was set twice";
    if (!is_bounded(b))
        return "nothing bounds the wait";
    return NULL;
}

/* A third of the inputs goes on well, so that walks come far. */
START_TEST(invariants)
{
    const struct world_set *set = &world_sets[_i / WALKS];
    uint64_t seed = ((uint64_t)_i + 1) * 0x9e3779b97f4a7c15u;
    int forward = world_find_input(set, "forward"), n = world_n_inputs(set), input[WALK_STEPS];
    struct world w, before;

    world_init(&w, set);
    for (int k = 0; k < WALK_STEPS; k++) {
        const char *wrong;

        input[k] = next(&seed) % 3 == 0 ? forward : (int)(next(&seed) % (unsigned)n);
        world_copy(&before, &w);
        (void)world_give(&w, input[k]);
        wrong = broken(&before, &w);
        if (wrong)
            print_walk(set, input, k);
        ck_assert_msg(!wrong, "walk %d, step %d, %s: %s", _i, k, state_phase_name(w.s.phase),
                      wrong);
        world_fini(&before);
    }
    world_fini(&w);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, cell, 0, INPUTS * STATE_PHASES);
    tcase_add_test(tc, names);
    tcase_add_test(tc, count);
    tcase_add_test(tc, all_are_met);
    tcase_add_loop_test(tc, invariants, 0, world_n_sets * WALKS);
}

SUITE_MAIN("driver_cells", add_tests)
