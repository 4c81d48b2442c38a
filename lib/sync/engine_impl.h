/* SPDX-License-Identifier: Apache-2.0 */
/* engine_impl.h - what the files of the engine share: engine.c makes it and lays its buckets out,
 * engine_round.c fills, sends and combines them
 */
#ifndef EDDIS_SYNC_ENGINE_IMPL_H
#define EDDIS_SYNC_ENGINE_IMPL_H

#include "engine.h"

#include "arena.h"
#include "arena_layout.h"

/* What becomes of a parameter's slot in the arena. */
struct slot {
    int bucket;
    bool announced; /* in this step, or taken as zero */
    bool placeless; /* in this step it was not announced and has no place ... */
    bool missed;    /* ... but others announced it */
    void *place;    /* of every step's result; NULL: none */
    void *result;   /* where this step's goes; NULL: stays in the slot */
};

struct bucket {
    int last, first; /* parameters last, last - 1, ..., first; none: -1, 0 */
    size_t offset;   /* bytes */
    size_t n;        /* elements, with the gaps that align the slots */
    enum comm_type type;
    int missing; /* parameters not announced in this step */
    int64_t done_step;
    const char *result; /* of the last step combined, and the tail that came with it */
    const struct sync_tail *tail;
};

struct engine {
    struct comm_place place;
    struct engine_hooks hooks;
    struct arena arena;
    struct slot *slot; /* [n_slots], those of the arena */
    int n_slots;
    struct bucket *bucket; /* [n_slots + 1] */
    int n_buckets;
    struct bucket_cost cost;
    struct arena_layout *layout; /* NULL: it stays as it is */
    int layouts;                 /* taken so far */
    struct sync *sync;
    struct engine_step step;
    int next;      /* bucket to leave next */
    int in_flight; /* buckets that left and are not combined */
    int finished;  /* buckets combined in this step */
    unsigned sequence;
    int64_t exchanges; /* that are over */
    bool exchanging;
};

/* Take the layout that the ranks have agreed on: all have it, and none has let a bucket of this
 * step leave.
 */
int engine_take_layout(struct engine *e, struct eddis_error *err);

#endif
