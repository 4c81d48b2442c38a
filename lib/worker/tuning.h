/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - kinds of all-reduce and buckets: measure them, publish them on the board, read them
 * from a plan
 *
 * A bucket holds adjacent elements of the arena, in which parameter i of n has number n - 1 - i.
 * The choice lists parameters by their own numbers.
 *
 * It has no state except the publication of a layout, guarded by the phase's lock.
 */
#ifndef EDDIS_WORKER_TUNING_H
#define EDDIS_WORKER_TUNING_H

#include "collectives.h"
#include "lib/board/layout.h"
#include "lib/comm/tuner.h"
#include "lib/sync/bucket.h"

struct engine;

/* Measure the cost of all-reduces within the groups, in some tens of ms.  The measurement may use
 * arena_bytes of this rank in the shared memory of its node; 0: none.  *ret is the same on all
 * ranks.  Collective.  Return 0 or a negative errno.
 */
int tuning_measure(struct collectives *all, const struct comm_place *group, size_t arena_bytes,
                   struct tuner_result *ret, struct eddis_error *err);

/* Read the choice's buckets of n parameters.  Return 1, or 0 if the choice leaves the buckets to
 * the bucket size.  -EINVAL: its buckets are of another model.
 */
int tuning_layout(const struct comm_choice *c, int n, struct bucket_layout *ret,
                  struct eddis_error *err);

/* Write the layout of n parameters, at most CHOICE_MAX_ORDER, to the choice. */
void tuning_set_layout(struct comm_choice *c, int n, const struct bucket_layout *l);

/* Write the measured kinds of all-reduce to the choice. */
void tuning_set_limits(struct comm_choice *c, const struct tuner_result *r);

/* Return the kinds of all-reduce of the choice, for a group on so many nodes that share memory. */
struct comm_limits tuning_limits(const struct comm_choice *c, int n_nodes);

/* Append a formatted clause to the choice's reason. */
void tuning_add_reason(struct comm_choice *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* What is needed to publish an agreed layout. */
struct tuning {
    struct phase *phase;
    const struct engine *engine;
    int rank, n_parameters;
};

/* Publish the layout on the board, on rank 0.  Called by the engine's hook, in whichever thread
 * drives the engine.
 */
void tuning_laid_out(const struct tuning *t, const struct bucket_layout *l);

#endif
