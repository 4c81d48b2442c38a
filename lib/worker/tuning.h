/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - kinds of all-reduce and buckets: measured, told on the board, read from a plan
 *
 * A bucket holds neighbours of the arena, in which parameter i of n is number n - 1 - i; the choice
 * lists parameters by their own numbers.
 *
 * No state of its own but where the layout is published, which only the phase's lock guards.
 */
#ifndef EDDIS_WORKER_TUNING_H
#define EDDIS_WORKER_TUNING_H

#include "collectives.h"
#include "lib/board/layout.h"
#include "lib/comm/tuner.h"
#include "lib/sync/bucket.h"

struct engine;

/* Measure what all-reduces of the groups cost, in some tens of ms.  arena_bytes of this rank in the
 * memory of its node are free to be used; 0: none.  The same result on all ranks.  Collective.
 */
int tuning_measure(struct collectives *all, const struct comm_place *group, size_t arena_bytes,
                   struct tuner_result *ret, struct eddis_error *err);

/* Read the choice's buckets of n parameters.  Returns 1, or 0 when it leaves them to the size.
 * -EINVAL: they are of another model.
 */
int tuning_layout(const struct comm_choice *c, int n, struct bucket_layout *ret,
                  struct eddis_error *err);

/* Write the layout of n parameters, at most CHOICE_MAX_ORDER, into the choice. */
void tuning_set_layout(struct comm_choice *c, int n, const struct bucket_layout *l);

/* Write the kinds of all-reduce into the choice, and read them, as they hold for a group on so many
 * nodes that share memory.
 */
void tuning_set_limits(struct comm_choice *c, const struct tuner_result *r);
struct comm_limits tuning_limits(const struct comm_choice *c, int n_nodes);

/* Add a clause to the reason. */
void tuning_add_reason(struct comm_choice *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Where a layout that was agreed on is published. */
struct tuning {
    struct phase *phase;
    const struct engine *engine;
    int rank, n_parameters;
};

/* Rank 0 publishes the layout.  Called by the engine's hook, in whichever thread drives it. */
void tuning_laid_out(const struct tuning *t, const struct bucket_layout *l);

#endif
