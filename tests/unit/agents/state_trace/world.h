/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a small cluster around the driver's state machine, and all that can happen to it
 *
 * A world is the machine, a clock, and what a driver and honest agents know: an input is *possible*
 * only where they could give it (an agent answers the orders that it had).  What the machine does
 * with one is *felt*: its actions with their fields, and all that the driver reads of it.
 */
#ifndef EDDIS_TESTS_STATE_TRACE_WORLD_H
#define EDDIS_TESTS_STATE_TRACE_WORLD_H

#include "agents/driver/state/state.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The phases as they were numbered at 1a7d9a2, where the network's probe went the job's way. */
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
    WORLD_PHASES,
};

/* What the tests ask of the machine by other names than it had at 1a7d9a2. */
enum world_phase world_phase(const struct state *s);
bool world_checkpointed(const struct state *s);
bool world_network_cached(const struct state *s);
int world_impossible(const struct state *s); /* inputs that no honest caller gives; 0 then */

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
    bool profile_ordered[WORLD_AGENTS]; /* of this start of it */
    bool forgot; /* a network that an earlier job had found, and no other is there yet */
    bool prepare_ordered, check_ordered, start_ordered, stop_ordered;
};

/* Two hashes of what is felt: all of it, and without numbers in texts and exact times. */
struct world_felt {
    uint64_t all, coarse;
    FILE *text; /* also written here for people; NULL: not */
};

void world_init(struct world *w, const struct world_set *set);
void world_fini(struct world *w);
void world_copy(struct world *to, const struct world *from);
bool world_same(const struct world *a, const struct world *b); /* byte for byte */

int world_n_inputs(const struct world_set *set);
void world_input_name(const struct world_set *set, int input, char *ret, size_t size);

/* Take in the actions that wait, and what the driver reads now. */
void world_feel(struct world *w, struct world_felt *f);

/* Whether the machine does otherwise on purpose than at 1a7d9a2, when it is given this kind of
 * input in a world that becomes another one: world_differs.c states every such difference.
 */
bool world_differs(const struct world *before, const char *input, const struct world *after);

/* Give input number i and take in what the machine does.  Returns false, and gives nothing, where
 * it is impossible or world_differs.
 */
bool world_give(struct world *w, int input, struct world_felt *f);

/* The number of an input by its name, "forward". */
int world_find_input(const struct world_set *set, const char *name);

const char *world_phase_name(enum world_phase p);

#endif
