/* SPDX-License-Identifier: Apache-2.0 */
/* replan_impl.h - state and functions that the files of the re-planning policy share */
#ifndef EDDIS_SCHEDULER_REPLAN_IMPL_H
#define EDDIS_SCHEDULER_REPLAN_IMPL_H

#include "replan.h"
#include "split.h"

#include "lib/model/algorithm.h"

struct replan_member {
    struct learner learner;
    int64_t batch, min, max, move; /* move: last change of batch, in samples */
    int64_t before;                /* batch in the plan before */
    int64_t held;                  /* batch in the last plan that held for long, or in the first */
    int64_t plan, first, steps; /* reported version; first step under these batches, steps since */
    double exposed_s;
    /* time of a step without own time: communication, and waiting for other workers */
    double rest_s;
    /* first and last report between which exposed communication is counted */
    struct replan_exposed mark, last;
    bool marked; /* `mark` is set */
    int node, group;
};

/* Sums over the members of a group; scratch memory */
struct replan_group {
    double samples, step_s;
    int fastest;  /* rank; -1: it has no members */
    int reporter; /* rank, for exposed communication; -1: no member has samples */
};

struct replan {
    struct replan_setup set; /* the setup, without its array of workers */
    const struct algorithm *algorithm;
    struct replan_member *member; /* [n] workers by rank */
    int n;
    int64_t total, period;
    int64_t since; /* the first plan version with the present batches */
    bool agreed;
    bool fresh;           /* measurements have come since the last decision */
    bool weigh;           /* the period is still to be weighed for this plan and network */
    double in_force_s;    /* since when all workers follow these batches; INFINITY: not yet */
    int backs, doublings; /* moves back in a row; doublings of the gap */
    double before_s, promised_s; /* longest own time: under the plan before, and predicted for this
                                  * one; 0: the promise was checked */
    bool worse;                  /* steps are longer than under the plan before */
    double worse_s;              /* longest own time then, if worse */
    bool timed;                  /* a plan was published after every worker had been measured */
    bool of_moment;              /* the plan in force was made from the speeds of one moment */
    double *past;                /* [n_past][n] seconds per sample at past moments, newest last */
    int n_past;
    double past_s; /* time at which the next moment is to be recorded */
    double sure_s; /* last time at which every worker's speed was an accepted one; NAN: never */
    double scale;  /* logarithm of the factor on the network's times that the last steps suggest */
    int refits;
    /* steps of the plan in force when replan_predicts last returned true */
    int64_t predicted;
    /* step of the plan in force since which one worker alone would be faster; 0: none would */
    int64_t alone_since;
    /* number of consecutive contradictions that no scaling of the network explains */
    int in_vain;
    struct efficiency_row *efficiency; /* the setup's measurements */
    struct split_worker *split;        /* scratch memory, like all members below, each [n] */
    struct modes_worker *worker;
    struct modes_time *time;
    struct replan_group *sum;
    int64_t *best;
    int *group;
};

enum {
    REBALANCE_PAST = 16,         /* number of past moments that are kept, gap_s apart */
    REPLAN_WANDERING_STEPS = 25, /* least gap_steps while the speed of a worker wanders */
};

static inline int64_t at_most(int64_t x, int64_t max)
{
    return x < max ? x : max;
}

/* Check whether the workers, or groups of workers, train models of their own. */
static inline bool trains_several(const struct replan *r)
{
    return r->algorithm->traits & ALGORITHM_SEVERAL;
}

/* Check whether the groups wait for each other at the end of each round. */
static inline bool trains_rounds(const struct replan *r)
{
    return r->algorithm->traits & ALGORITHM_ROUNDS;
}

/* Return worker i's batch, in the plan in force or in the best split. */
typedef int64_t (*batch_fn)(const struct replan *r, int i);
int64_t replan_present(const struct replan *r, int i);
int64_t replan_proposed(const struct replan *r, int i);

/* Return the last worker whose batch is outside its bounds; -1: none is. */
int replan_outside(const struct replan *r, batch_fn batch);

/* Fill r->split with the present models and bounds. */
void replan_fill(struct replan *r);

/* Compute the best split into r->best; half: change each batch only half of the way to it. Return
 * 0; -ERANGE: the bounds allow no split; or another error of split_optimal.
 */
int replan_solve(struct replan *r, bool half);

/* The functions below read r->split, as filled, and r->best. */

/* Return the rank of the worker with the longest own time for these batches. */
int replan_slowest(const struct replan *r, batch_fn batch);

/* Return the longest own time of a step with these batches, in seconds. */
double replan_longest_s(const struct replan *r, batch_fn batch);

/* Return the relative change of the step's own time that noise may explain. */
double replan_noise(const struct replan *r);

/* Return the samples, fractions included, that all workers together can do within limit_s. */
double replan_samples_within(const struct replan *r, double limit_s);

/* Check whether no split at all could gain enough; much cheaper than computing the best split. */
bool replan_is_hopeless(const struct replan *r);

/* Check whether the split in r->best is worth a change, and fill ret->gain and ret->wanted. */
bool replan_is_worth(const struct replan *r, struct replan_proposal *ret);

/* Check whether the speeds of some worker do not last (learner_is_unstable). */
bool replan_is_unstable(const struct replan *r);

/* Check whether the speed of some worker wanders (learner_wanders). */
bool replan_wanders(const struct replan *r);

/* Record the workers' present speeds as a past moment. */
void replan_note_past(struct replan *r);

/* Compute into r->best the split that is best for the mean of the past speeds. Check whether it
 * would have been better than the present split over the past moments, and fill ret->gain and
 * ret->wanted.
 */
bool replan_is_better_by_past(struct replan *r, struct replan_proposal *ret);

/* Check whether the last plan that held for long would have been as good as the present plan over
 * the past moments. Copy its batches to r->best, and fill ret->gain.
 */
bool replan_was_better_by_past(struct replan *r, struct replan_proposal *ret);

/* Return the smallest number of steps under the present plan that a worker with samples has
 * reported; -1: a worker has reported none.
 */
int64_t replan_steps(const struct replan *r);

/* Return the input of modes.h for these batches over this network; it borrows r's scratch. */
struct modes_setup replan_modes(struct replan *r, batch_fn batch, const struct modes_setup *n);

/* Borrow the group of each worker, for modes.h; NULL: each worker is a group. */
const int *replan_groups(const struct replan *r);

/* Return the best period for these batches; 0: keep the present period. The function also reads
 * r->split.
 */
int64_t replan_better_period(struct replan *r, batch_fn batch);

/* Check whether the present batches need another period, and fill *ret. The check is done only once
 * for each plan and network; further calls return false.
 */
bool replan_decide_period(struct replan *r, struct replan_proposal *ret);

#endif
