/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_cells.c - every cell of the state machine's table, phase by input */
#include "agents/driver/state/state_input.h"
#include "tests/unit/agents/state_trace/world.h"

#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* From one phase to the next, in the order of the phases. */
static const struct {
    enum state_phase phase;
    const char *input[3];
} way[] = {
    { STATE_PHASE_REGISTER, { NULL } },
    { STATE_PHASE_PROFILE, { "forward" } },
    { STATE_PHASE_NETWORK, { "forward" } },
    { STATE_PHASE_PROBE_PREPARE, { "forward" } },
    { STATE_PHASE_PROBE_START, { "forward" } },
    { STATE_PHASE_PROBE_RUN, { "forward" } },
    { STATE_PHASE_PROBE_STOP, { "forward" } },
    { STATE_PHASE_PLAN, { "forward" } },
    { STATE_PHASE_PREPARE, { "forward" } },
    { STATE_PHASE_CHECK, { "forward" } },
    { STATE_PHASE_START, { "forward" } },
    { STATE_PHASE_RUN, { "forward" } },
    { STATE_PHASE_STOP, { "all step", "ended (agent 1)" } },
    { STATE_PHASE_REGROUP, { "forward" } },
    { STATE_PHASE_BYE, { "SIGINT" } },
    { STATE_PHASE_OVER, { "forward" } },
};

static void reach(struct world *w, enum state_phase phase)
{
    world_init(w, &world_sets[0]);
    for (int p = 0; p <= (int)phase; p++) {
        for (int i = 0; i < 3 && way[p].input[i]; i++) {
            struct world_felt f = { 0 };

            ck_assert(world_give(w, world_find_input(w->set, way[p].input[i]), &f));
        }
        ck_assert_int_eq(w->s.phase, way[p].phase);
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
                                 .from_ns = w->now_ns };
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

START_TEST(cell)
{
    enum input_type type = (enum input_type)(_i / STATE_PHASES);
    enum state_phase phase = (enum state_phase)(_i % STATE_PHASES);

    ck_assert_msg(state_cell_is_whole(type, phase), "%s in %s has no handler",
                  state_input_name(type), state_phase_name(phase));
    if (state_cell(type, phase) == CELL_HANDLER)
        (void)changes(type, phase);
    else
        ck_assert_msg(!changes(type, phase), "%s in %s is not ignored", state_input_name(type),
                      state_phase_name(phase));
}
END_TEST

/* Names are there and differ, so that no row is missing. */
START_TEST(names)
{
    for (int i = 0; i < INPUTS; i++) {
        ck_assert_ptr_nonnull(state_input_name((enum input_type)i));
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(state_input_name((enum input_type)i),
                             state_input_name((enum input_type)k));
    }
    for (int i = 0; i < STATE_PHASES; i++)
        ck_assert_ptr_nonnull(state_phase_name((enum state_phase)i));
}
END_TEST

START_TEST(count)
{
    int n[CELL_HANDLER + 1] = { 0 };

    for (int i = 0; i < INPUTS; i++)
        for (int p = 0; p < STATE_PHASES; p++)
            n[state_cell((enum input_type)i, (enum state_phase)p)]++;
    printf("%d inputs x %d phases: %d cells with a handler, %d ignored, %d impossible\n", INPUTS,
           STATE_PHASES, n[CELL_HANDLER], n[CELL_IGNORE], n[CELL_IMPOSSIBLE]);
    (void)fflush(stdout);
    ck_assert_int_eq(n[CELL_HANDLER] + n[CELL_IGNORE] + n[CELL_IMPOSSIBLE], INPUTS * STATE_PHASES);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, cell, 0, INPUTS * STATE_PHASES);
    tcase_add_test(tc, names);
    tcase_add_test(tc, count);
}

SUITE_MAIN("driver_cells", add_tests)
