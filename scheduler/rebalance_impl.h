/* SPDX-License-Identifier: Apache-2.0 */
/* rebalance_impl.h - what the two halves of the policy share: when, and how much better */
#ifndef EDDIS_SCHEDULER_REBALANCE_IMPL_H
#define EDDIS_SCHEDULER_REBALANCE_IMPL_H

#include "modes.h"
#include "rebalance.h"
#include "split.h"

#include "lib/model/algorithm.h"

struct rebalance_member {
    struct learner learner;
    int64_t batch, min, max, move; /* move: that led to batch */
    int64_t plan, first, steps;    /* version that it reports; its first step there, steps since */
    double exposed_s;
    double rest_s; /* of a step, beside its own time: for communication and for others */
    struct rebalance_exposed mark,
        last; /* since when, and till when, exposed communication counts */
    bool marked;
    int node, group;
};

/* What is summed up of a group. */
struct rebalance_group {
    double samples, step_s;
    int fastest; /* rank; -1: it has no members */
};

struct rebalance {
    struct rebalance_setup set; /* without its workers */
    const struct algorithm *algorithm;
    struct rebalance_member *member; /* [n] */
    int n;
    int64_t total, period;
    int64_t since; /* the first version with the present batches */
    bool agreed;
    bool fresh;        /* figures have come since it was last asked */
    bool weigh;        /* the period has not been, since the plan or the network changed */
    double in_force_s; /* since when all follow these batches; INFINITY: not yet */
    int backs, doublings;
    double before_s, promised_s; /* longest own time under the plan before, and as predicted for
                                  * this one; 0: it has been looked at what became of it */
    bool worse;                  /* then it was: */
    double worse_s;              /* before_s, which is less than now */
    int64_t *last;               /* [n] batches of the plan before */
    bool of_moment;              /* the plan in force is by speeds of one moment */
    int64_t *held;               /* [n] batches of the last plan that held for long, or the first */
    double *past;                /* [n_past][n] what a sample took of late, the newest last */
    int n_past;
    double past_s; /* when the next of them is due */
    double sure_s; /* when it was last known of all whether their speed has changed; NAN: never */
    /* By what the last steps say that the network is to be scaled, as a logarithm; 0: by nothing.
     */
    double scale;
    int refits;
    int64_t predicted;          /* steps of the plan in force when it was predicted by them */
    int64_t alone_since;        /* steps of it since which a worker alone is faster; 0: none is */
    int in_vain;                /* contradictions in a row that no network explained */
    struct split_worker *split; /* [n], and so are these; scratch */
    struct modes_worker *worker;
    struct modes_time *time;
    int *teller; /* by group, of its exposed communication */
    struct rebalance_group *sum;
    int64_t *best;
    int *group;
};

enum { REBALANCE_PAST = 16 }; /* seconds, or gaps if they are longer */

static inline int64_t at_most(int64_t x, int64_t max)
{
    return x < max ? x : max;
}

/* Workers, or groups of them, train models of their own. */
static inline bool trains_several(const struct rebalance *r)
{
    return r->algorithm->traits & ALGORITHM_SEVERAL;
}

/* A worker's batch, of the plan in force or of the best split. */
typedef int64_t (*batch_fn)(const struct rebalance *r, int i);
int64_t rebalance_present(const struct rebalance *r, int i);
int64_t rebalance_proposed(const struct rebalance *r, int i);

/* Fill split with models and limits as they are now. */
void rebalance_fill(struct rebalance *r);

/* Find the best split, or what lies half of the way to it.  -ERANGE: there is none within the
 * bounds.
 */
int rebalance_solve(struct rebalance *r, bool half);

/* The rest reads split, as filled, and best. */

/* Rank of the worker whose own time is longest, and that time. */
int rebalance_slowest(const struct rebalance *r, batch_fn batch);
double rebalance_longest_s(const struct rebalance *r, batch_fn batch);

/* By how much, relatively, the step's own time must differ to be no noise. */
double rebalance_noise(const struct rebalance *r);

/* Whether no split at all could gain what is wanted: far cheaper to know than the best split. */
bool rebalance_is_hopeless(const struct rebalance *r);

/* Whether the split in best is worth it; fills gain and wanted. */
bool rebalance_is_worth(const struct rebalance *r, struct rebalance_proposal *ret);

/* Whether somebody's speed does not last. */
bool rebalance_is_fickle(const struct rebalance *r);

/* Keep what speeds are now. */
void rebalance_note_past(struct rebalance *r);

/* Whether the split for the mean of these speeds, which best is then, would have been better at
 * them than the present one; fills gain and wanted.
 */
bool rebalance_is_better_by_past(struct rebalance *r, struct rebalance_proposal *ret);

/* Whether the plan that held would have been as good at them as the present one; best is that,
 * then, and gain is filled.
 */
bool rebalance_was_better_by_past(struct rebalance *r, struct rebalance_proposal *ret);

/* Steps under the plan that all have reported; -1: somebody has not reported any. */
int64_t rebalance_steps(const struct rebalance *r);

/* These batches, as modes.h predicts by them, over this network; and the groups for it, NULL:
 * every worker is one.
 */
struct modes_setup rebalance_modes(struct rebalance *r, batch_fn batch,
                                   const struct rebalance_network *n);
const int *rebalance_groups(const struct rebalance *r);

/* The period for these batches, which reads split too; 0: as before. */
int64_t rebalance_better_period(struct rebalance *r, batch_fn batch);

/* Whether the present batches are to have another period, which is weighed once a plan and once a
 * network; fills *ret.
 */
bool rebalance_decide_period(struct rebalance *r, struct rebalance_proposal *ret);

#endif
