/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a small cluster around the driver's state machine, and all that can happen to it
 *
 * A world is the machine, a clock, and what a driver and honest agents know: an input is *possible*
 * only where they could give it (an agent answers the orders that it had).
 */
#ifndef EDDIS_TESTS_WORLD_H
#define EDDIS_TESTS_WORLD_H

#include "agents/driver/state/state.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The phases of a job; those of the network's probe are the ones of a start of ranks. */
enum world_phase {
    WORLD_REGISTER,
    WORLD_PROFILE,
    WORLD_NETWORK,
    WORLD_PLAN,
    WORLD_PREPARE,
    WORLD_CHECK,
    WORLD_START,
    WORLD_RUN,
    WORLD_STOP,
    WORLD_REGROUP,
    WORLD_BYE,
    WORLD_OVER,
};

enum world_phase world_phase(const struct state *s);

enum { WORLD_AGENTS = 3, WORLD_RANKS = 4 };

struct world_set {
    const char *name;
    int n_agents, n_ranks;
    int node[WORLD_RANKS]; /* of each rank */
    int64_t restarts, hang_s, job_s, node_lost_s;
    bool share, check_only;
};

extern const struct world_set world_sets[];
extern const int world_n_sets;

struct world {
    const struct world_set *set;
    struct state s;
    int64_t now_ns;
    bool profile_ordered[WORLD_AGENTS]; /* since the agent was started */
    bool prepare_ordered, check_ordered, start_ordered, stop_ordered; /* since the last prepare */
    int starts;        /* of ranks that were ordered */
    int late_starts;   /* of these, where the job's end was decided */
    int double_starts; /* of these, where the ranks before were not ordered to stop */
};

void world_init(struct world *w, const struct world_set *set);
void world_fini(struct world *w);
void world_copy(struct world *to, const struct world *from);

/* Compare the machines and clocks of two worlds byte for byte. */
bool world_same(const struct world *a, const struct world *b);

int world_n_inputs(const struct world_set *set);
void world_input_name(const struct world_set *set, int input, char *ret, size_t size);

/* Return the number of an input by its name, "forward"; -1: there is none. */
int world_find_input(const struct world_set *set, const char *name);

/* Take all actions that wait in the machine, and note what they order. */
void world_act(struct world *w);

/* Give an input by its number and act.  Returns false, and changes nothing, where it is impossible.
 */
bool world_give(struct world *w, int input);

#endif
