/* SPDX-License-Identifier: Apache-2.0 */
/* engine_impl.h - what the files of the engine share: engine.c makes it and lays its buckets out,
 * engine_round.c fills, sends and combines them
 */
#ifndef EDDIS_SYNC_ENGINE_IMPL_H
#define EDDIS_SYNC_ENGINE_IMPL_H

#include "engine.h"

#include "arena.h"
#include "arena_layout.h"
#include "round_order.h"

/* What becomes of a parameter's slot in the arena. */
struct slot {
    int set, bucket;
    bool announced; /* in this round, or taken as zero */
    bool waiting;   /* announced, and to be packed when the ranks' weights are known: */
    struct engine_announcement announcement;
    bool placeless; /* in this round it was not announced and has no place ... */
    bool missed;    /* ... but others announced it */
    void *place;    /* of every round's result; NULL: none */
    void *result;   /* where this round's goes; NULL: stays in the slot */
};

struct bucket {
    int set;
    int last, first; /* parameters last, last - 1, ..., first; none: -1, 0 */
    size_t offset;   /* bytes */
    size_t n;        /* elements, with the gaps that align the slots */
    enum comm_type type;
    int missing; /* parameters not announced in this round */
    int64_t done_step, done_round;
    const char *result; /* of the last round combined, and the tail that came with it */
    const struct sync_tail *tail;
};

/* Parameters that are combined together, in rounds of their own. */
struct set {
    int first, n;       /* its buckets are first, first + 1, ..., first + n - 1 */
    int64_t round;      /* begun so far */
    bool open;          /* the last of them is not combined */
    int number;         /* of it among its step's rounds, of any set, from 0 */
    bool leads;         /* it is the first of them */
    int left, finished; /* buckets of the round that left, and that are combined */
    bool unlike;        /* one of these was another round's on another rank: see sync_tail_fail */
    double weight;      /* of the round */
    double whole;       /* what all ranks weigh in it, or about so much: weights are parts of it; 0:
                         * not known yet */
    double next_weight; /* of the next one of this step; below 0: the step's */
};

struct engine {
    struct comm_place place;
    struct engine_hooks hooks;
    struct arena arena;
    struct slot *slot; /* [n_slots], those of the arena */
    int n_slots;
    struct bucket *bucket; /* [n_slots + 1], a set's behind those of the set before */
    int n_buckets;
    struct set *set; /* [n_sets] */
    int n_sets;
    int *queue; /* [n_queue] sets whose rounds have not left, in the order of their beginning */
    int n_queue;
    const struct bucket *filling; /* nothing can leave before it is full; NULL: that is not known */
    int n_open;                   /* rounds that are not combined */
    struct round_order *order;    /* NULL: one set and no weighing, or one rank */
    bool weighs;                  /* nothing is packed before the ranks' weights are known */
    bool ordered;                 /* all ranks have the round that is first in the queue next */
    struct bucket_cost cost;
    struct arena_layout *layout; /* NULL: it stays as it is */
    int layouts;                 /* taken so far */
    struct sync *sync;
    struct engine_step step;
    int64_t begun_ns;                     /* the step */
    int rounds;                           /* begun in it */
    int in_flight;                        /* buckets that left and are not combined */
    unsigned sequence, exchange_sequence; /* of tags */
    int64_t exchanges;                    /* that are over */
    bool exchanging;
};

/* Take the layout that the ranks have agreed on: all have it, and no bucket is under way. */
int engine_take_layout(struct engine *e, struct eddis_error *err);

#endif
