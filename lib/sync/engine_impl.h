/* SPDX-License-Identifier: Apache-2.0 */
/* engine_impl.h - the engine's state, shared by engine.c (makes it and lays out buckets) and
 * engine_round.c (fills, sends and combines buckets)
 */
#ifndef EDDIS_SYNC_ENGINE_IMPL_H
#define EDDIS_SYNC_ENGINE_IMPL_H

#include "engine.h"

#include "arena.h"
#include "arena_layout.h"
#include "round_order.h"

/* The state of a parameter's slot in the arena. */
struct slot {
    int set, bucket;
    bool announced; /* announced in this round, or packed as zeros */
    bool waiting;   /* announced, but not packed before the ranks' weights are known */
    struct engine_announcement announcement;
    bool placeless; /* not announced in this round, and its result has no destination */
    bool missed;    /* placeless, but other ranks announced it */
    void *place;    /* default destination of results; NULL: none */
    void *result;   /* destination of this round's result; NULL: the slot */
};

/* A bucket: a run of slots that is combined as one buffer. */
struct bucket {
    int set;
    int last, first; /* the bucket's parameters are last, last - 1, ..., first; -1, 0: none */
    size_t offset;   /* bytes from the arena's start */
    size_t n;        /* elements, including the gaps between slots */
    enum comm_type type;
    int missing; /* parameters not announced in this round */
    int64_t done_step, done_round;
    const char *result; /* result of the newest combined round, followed by its trailer */
    const struct sync_trailer *tail;
};

/* Parameters that are combined together, in rounds of their own. */
struct set {
    int first, n;       /* the set's buckets are first .. first + n - 1 */
    int64_t round;      /* number of rounds begun so far */
    bool open;          /* the set's newest round is not combined yet */
    int number;         /* number of the newest round in its step, over all sets, from 0 */
    bool leads;         /* the newest round is the first of its step */
    int left, finished; /* number of buckets of the newest round that have left, and that are
                         * combined */
    /* a bucket of the newest round belonged to another round on another rank: see sync_trailer_fail
     */
    bool unlike;
    double weight; /* weight of this rank in the newest round */
    /* sum of all ranks' weights in the newest round, or an estimate, the batch: gradients are
     * packed times weight / whole; 0: not known yet
     */
    double whole;
    double next_weight; /* weight of the set's next round in this step; below 0: the step's
                         * weight */
};

/* The state of an engine. */
struct engine {
    struct comm_place place;
    struct engine_hooks hooks;
    struct arena arena;
    struct slot *slot; /* [n_slots], in the arena's order of parameters */
    int n_slots;
    struct bucket *bucket; /* [n_slots + 1], set after set */
    int n_buckets;
    struct set *set; /* [n_sets] */
    int n_sets;
    /* [n_queue] sets whose rounds have not fully left, in the order in which these began */
    int *queue;
    int n_queue;
    /* bucket that must be full before any other can leave; NULL: unknown */
    const struct bucket *filling;
    int n_open; /* number of rounds under way */
    /* NULL: not needed, with one rank, or with one set and no weighing */
    struct round_order *order;
    bool weighs;  /* gradients are packed only once the ranks' weights are known */
    bool ordered; /* the ranks have agreed on the round that is first in the queue */
    struct bucket_cost cost;
    struct arena_layout *layout; /* NULL: the layout does not change any more */
    int layouts;                 /* number of layouts so far */
    struct sync *sync;
    struct engine_step step;
    int64_t begun_ns;                     /* time when the step began */
    int rounds;                           /* number of rounds begun in the step */
    int in_flight;                        /* number of buckets that have left and are not yet
                                           * combined */
    unsigned sequence, exchange_sequence; /* counters for the tags of rounds and of exchanges */
    int64_t exchanges;                    /* number of exchanges that are over */
    bool exchanging;
    bool rounds_of_all; /* ALGORITHM_ROUNDS: all groups agree in an exchange, not in each step */
    bool combines;      /* the exchange under way is such a one */
};

/* Replace the layout by the one that the ranks have agreed on.  No bucket may be under way.  Return
 * 0 or a negative errno; -EPROTO: the layout does not fit this rank's parameters.
 */
int engine_take_layout(struct engine *e, struct eddis_error *err);

#endif
