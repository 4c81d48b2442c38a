/* SPDX-License-Identifier: Apache-2.0 */
/* arena_layout.h - one layout of buckets for all ranks, made of what they have measured
 *
 *     step 0          nothing counts: caches, connections and the program's own start
 *     steps 1 .. 3    each rank notes when its gradients are ready, rank 0 what buckets take
 *     step 4          rank 0 lays the buckets out (bucket.h) by when the last rank has each
 *                     gradient ready, and broadcasts how, before the first of them leaves
 *
 * So the layout holds from the same step on every rank.  Steps under a plan that is soon to be
 * replaced come before step 0: with other batches gradients are ready at other times.  Each rank
 * counts from its own begin of the step; that one begins later than the others is not seen.
 *
 * The layout is cut from the arena as it lies, in runs of neighbours, because programs have
 * pointers into it.  Gathering any order into buffers of their own would cost each step a copy of
 * the model each way, 11 ms for 85 MB here, beside its memory; predicted for 60 gradients over
 * links of 1 Gbit/s, runs leave 7.4 ms exposed against 7.4 of a free order when layers are
 * registered in order, 8.1 against 8.0 when blocks of ten are not, and 13.4 against 7.2 when
 * nothing is (cut by size alone: 55, 103, 120).
 */
#ifndef EDDIS_SYNC_ARENA_LAYOUT_H
#define EDDIS_SYNC_ARENA_LAYOUT_H

#include "bucket.h"

#include "lib/comm/collective.h"

struct arena_layout;

enum {
    ARENA_LAYOUT_MAX_ITEMS = 2048
}; /* as many as a plan can keep in an order, see CHOICE_MAX_ORDER */

int arena_layout_new(const struct comm_place *p, int n_items, struct arena_layout **ret,
                     struct eddis_error *err);

/* Accepts NULL. */
void arena_layout_free(struct arena_layout *l);

/* Note that a step begins, and then that an item of it is ready.  passing: as in struct
 * engine_step.
 */
void arena_layout_begin(struct arena_layout *l, bool passing, int64_t now_ns);
void arena_layout_ready(struct arena_layout *l, int item, int64_t now_ns);

/* Note that a bucket of the step leaves, and that one is combined. */
void arena_layout_left(struct arena_layout *l, size_t bytes, int64_t now_ns);
void arena_layout_back(struct arena_layout *l, int64_t now_ns);

/* Return whether the present step takes the new layout. */
bool arena_layout_due(const struct arena_layout *l);

enum { ARENA_LAYOUT_TAGS = 2 };

/* Begin to agree, once, with ARENA_LAYOUT_TAGS tags; rank 0 reads the items [n_items], whose times
 * it fills in, and what is known of the cost: both are borrowed until agreed.  Returns 1 when
 * agreed, else 0.
 */
int arena_layout_start(struct arena_layout *l, struct bucket_item *item,
                       const struct bucket_cost *cost, const int *tag, struct outbox *out,
                       struct eddis_error *err);
bool arena_layout_started(const struct arena_layout *l);

/* Return whether the operation belongs to l; go on after it, if so, returning as
 * arena_layout_start.
 */
bool arena_layout_owns(const struct arena_layout *l, const struct comm_op *op);
int arena_layout_receive(struct arena_layout *l, const struct comm_op *op, struct outbox *out,
                         struct eddis_error *err);

/* Return the rank that agreeing waits for; -1: none. */
int arena_layout_waits_for(const struct arena_layout *l);

/* Return the layout agreed on, borrowed; one without buckets: leave all as it is. */
const struct bucket_layout *arena_layout_agreed(const struct arena_layout *l);

#endif
