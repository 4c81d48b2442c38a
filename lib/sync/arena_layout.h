/* SPDX-License-Identifier: Apache-2.0 */
/* arena_layout.h - measures steps and makes one layout of buckets for all ranks
 *
 *     step 0          not measured: caches, connections and the program's own start
 *     steps 1 .. 3    each rank records when its gradients are ready; rank 0 also how long
 *                     buckets take
 *     step 4          rank 0 computes the layout (bucket.h) from the time at which the last rank
 *                     has each gradient ready, and broadcasts it before the first bucket leaves
 *
 * So the new layout holds from the same step on every rank.  Steps under a plan that will soon be
 * replaced come before step 0: with other batches gradients are ready at other times.  Each rank
 * measures from its own beginning of the step; a rank that begins late is not noticed.
 *
 * The layout cuts the arena into runs of neighbours and moves nothing, because programs have
 * pointers into it.  Gathering gradients of any order into separate buffers would cost each step a
 * copy of the model in each direction (measured: 11 ms for 85 MB), and the memory.  Predicted
 * exposed time of 60 gradients over links of 1 Gbit/s, with runs and with a free order: 7.4 and 7.4
 * ms if layers are registered in order; 8.1 and 8.0 ms if blocks of ten layers are out of order;
 * 13.4 and 7.2 ms if all layers are.  If buckets are cut by size alone, the three cases take 55,
 * 103 and 120 ms.
 */
#ifndef EDDIS_SYNC_ARENA_LAYOUT_H
#define EDDIS_SYNC_ARENA_LAYOUT_H

#include "bucket.h"

#include "lib/comm/collective.h"

struct arena_layout;

/* Most gradients in a layout: a plan cannot store an order of more, see CHOICE_MAX_ORDER */
enum { ARENA_LAYOUT_MAX_ITEMS = 2048 };

/* Make a measurement of n_items gradients for the ranks of p; the caller frees *ret by
 * arena_layout_free.  Return 0 or -ENOMEM.
 */
int arena_layout_new(const struct comm_place *p, int n_items, struct arena_layout **ret,
                     struct eddis_error *err);

/* Free l.  Accept NULL. */
void arena_layout_free(struct arena_layout *l);

/* Record that a step begins at now_ns.  passing: the plan will soon be replaced, so measuring
 * restarts (struct engine_step).
 */
void arena_layout_begin(struct arena_layout *l, bool passing, int64_t now_ns);

/* Record that gradient `item` (arena order) is ready at now_ns. */
void arena_layout_ready(struct arena_layout *l, int item, int64_t now_ns);

/* Record that a bucket of `bytes` bytes leaves (its all-reduce starts) at now_ns. */
void arena_layout_left(struct arena_layout *l, size_t bytes, int64_t now_ns);

/* Record that a bucket is combined at now_ns. */
void arena_layout_back(struct arena_layout *l, int64_t now_ns);

/* Check whether measuring is over, so that the present step takes the new layout. */
bool arena_layout_due(const struct arena_layout *l);

enum { ARENA_LAYOUT_TAGS = 2 };

/* Begin to agree on the layout, with the ARENA_LAYOUT_TAGS tags `tag`; call it only once.  Rank 0
 * uses item [n_items], where this function writes the ready times, and the measured cost; both are
 * borrowed until the layout is agreed on.  Return 1 if it is agreed on already, else 0.
 */
int arena_layout_start(struct arena_layout *l, struct bucket_item *item,
                       const struct bucket_cost *cost, const int *tag, struct outbox *out,
                       struct eddis_error *err);

/* Check whether agreeing has begun. */
bool arena_layout_started(const struct arena_layout *l);

/* Check whether the operation belongs to l. */
bool arena_layout_owns(const struct arena_layout *l, const struct comm_op *op);

/* Continue to agree after l's completed operation op.  Return like arena_layout_start. */
int arena_layout_receive(struct arena_layout *l, const struct comm_op *op, struct outbox *out,
                         struct eddis_error *err);

/* Return the rank that agreeing waits for; -1: none. */
int arena_layout_waits_for(const struct arena_layout *l);

/* Borrow the agreed layout; if its n is 0, the present layout stays. */
const struct bucket_layout *arena_layout_agreed(const struct arena_layout *l);

#endif
