/* SPDX-License-Identifier: Apache-2.0 */
/* world_differs.c - the inputs that the state machine answers otherwise on purpose than at 1a7d9a2
 *
 * Each is known by what both machines know: what happened before, and the input.
 */
#include "tests/unit/agents/state_trace/world.h"

#include "lib/base/clock.h"

#include <string.h>

static bool all_zero(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (!s->rank[r].exited || s->rank[r].code || s->rank[r].signal || s->rank[r].by_us)
            return false;
    return s->n_ranks > 0;
}

static bool all_up(const struct state *s)
{
    for (int r = 0; r < s->n_ranks; r++)
        if (!s->rank[r].started)
            return false;
    return s->n_ranks > 0;
}

static bool begins(const char *input, const char *word)
{
    return strncmp(input, word, strlen(word)) == 0;
}

/* A job whose ranks have all exited 0 has ended well, whatever mpirun says or a node does then, and
 * also when that was heard of before their ends.
 */
static bool is_done(const struct world *before, const char *input, const struct world *after)
{
    enum world_phase p = world_phase(&before->s);
    bool asked = strcmp(input, "mpirun exit 0") == 0 || begins(input, "a second") ||
                 begins(input, "tick") || begins(input, "forward") || begins(input, "step");

    if (p < WORLD_START || p > WORLD_STOP || before->s.generation == 0 || !all_zero(&after->s))
        return false;
    if (p == WORLD_STOP || (after->s.mpirun_over && after->s.mpirun_code != 0))
        return true;
    return all_zero(&before->s) && !asked;
}

/* No network is to blame once all ranks were up. */
static bool is_blamed(const struct world *before, const struct world *after)
{
    const struct state *s = &before->s;

    return world_network_cached(s) && s->generation == 1 && all_up(&after->s) &&
           world_phase(s) >= WORLD_START && world_phase(s) <= WORLD_STOP && after->s.failure.set &&
           after->s.failure.rank < 0;
}

/* The launch that a network was to blame for is forgotten with it, so that a node lost then counts.
 */
static bool is_forgotten(const struct world *before, const char *input)
{
    return before->forgot && before->s.generation == 0 &&
           (begins(input, "ended") || begins(input, "silent") || begins(input, "due") ||
            begins(input, "a minute") || begins(input, "an hour"));
}

/* What all ranks have done, and nobody has asked for the job's end. */
static bool is_saveable(const struct state *s)
{
    bool stepped = s->generation <= 1, done = s->n_ranks > 0;

    for (int r = 0; r < s->n_ranks; r++) {
        stepped = stepped || s->rank[r].stepped;
        done = done && s->rank[r].steps > 0;
    }
    return world_phase(s) == WORLD_RUN && s->generation > 0 && stepped && done;
}

/* An interrupt saves that first, and so does the end of the job's time. */
static bool is_saved(const struct world *before, const char *input, const struct world *after)
{
    const struct state *s = &before->s;
    bool over = s->o.job_ns < CLOCK_NEVER && after->now_ns - s->begun_ns >= s->o.job_ns;

    return is_saveable(s) && (over || strcmp(input, "SIGINT") == 0 || strcmp(input, "--stop") == 0);
}

bool world_differs(const struct world *before, const char *input, const struct world *after)
{
    return is_done(before, input, after) || is_blamed(before, after) ||
           is_forgotten(before, input) || is_saved(before, input, after);
}
