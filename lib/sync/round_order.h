/* SPDX-License-Identifier: Apache-2.0 */
/* round_order.h - checks, before a round is sent, that all ranks of a place begin the same round,
 * and sums the ranks' weights in it
 *
 * Ranks that continued with rounds of different sets would add up different buckets.  So, if there
 * are several sets, each round begins with an all-reduce of 16 bytes: the smallest and the largest
 * name of the ranks' rounds, each with its rank.  If they differ, all ranks fail in the same way.
 * The all-reduce begins with the round's first gradient, so that it is over before the first bucket
 * is full.
 *
 * The all-reduce also sums the ranks' weights, which is needed for numbers that must not grow when
 * they are weighted: see engine.h.
 */
#ifndef EDDIS_SYNC_ROUND_ORDER_H
#define EDDIS_SYNC_ROUND_ORDER_H

#include "lib/comm/collective.h"

#include <stdint.h>

struct round_order;

/* The name of the round that a rank begins. */
struct round_name {
    int64_t step;
    int round; /* number in the step, from 0, over all sets */
    int set;
    double weight; /* this rank's weight in the round */
};

/* Make the agreement on rounds for the ranks of p; the caller frees *ret by round_order_free.
 * Return 0 or -ENOMEM.
 */
int round_order_new(const struct comm_place *p, struct round_order **ret, struct eddis_error *err);

/* Free o.  Accept NULL. */
void round_order_free(struct round_order *o);

/* Begin to agree on the round; the agreement on the previous one must be over.  Return 1 if all
 * ranks have the same name, 0 if not decided yet.  -EPROTO, on all ranks: the names differ.
 */
int round_order_start(struct round_order *o, const struct round_name *name, int tag,
                      struct outbox *out, struct eddis_error *err);

/* Check whether an agreement is under way. */
bool round_order_started(const struct round_order *o);

/* Check whether the operation belongs to o. */
bool round_order_owns(const struct round_order *o, const struct comm_op *op);

/* Continue after o's completed operation op.  Return like round_order_start. */
int round_order_receive(struct round_order *o, const struct comm_op *op, struct outbox *out,
                        struct eddis_error *err);

/* Return the sum of all ranks' weights in the agreed round, with the same bits on each rank. */
double round_order_weight(const struct round_order *o);

/* Return the rank that agreeing waits for; -1: none. */
int round_order_waits_for(const struct round_order *o);

#endif
