/* SPDX-License-Identifier: Apache-2.0 */
/* round_order.h - that all ranks of a place begin the same round next, and what they weigh together
 * in it, before any of it is sent
 *
 * Ranks that went on with rounds of unlike sets would add up unlike buckets.  So, where there are
 * several sets, each round begins with an all-reduce of 16 bytes, of the smallest and the largest
 * name that a rank has for its round, each with its rank; where they differ all ranks fail alike.
 * It begins with the round's first gradient, so that it is over before the first bucket is full.
 *
 * The sum of the ranks' weights comes with it, for numbers that must not grow when they are
 * weighed: see engine.h.
 */
#ifndef EDDIS_SYNC_ROUND_ORDER_H
#define EDDIS_SYNC_ROUND_ORDER_H

#include "lib/comm/collective.h"

#include <stdint.h>

struct round_order;

/* Which round a rank begins. */
struct round_name {
    int64_t step;
    int round; /* of the step, from 0, of any set */
    int set;
    double weight; /* this rank's in it */
};

int round_order_new(const struct comm_place *p, struct round_order **ret, struct eddis_error *err);

/* Accepts NULL. */
void round_order_free(struct round_order *o);

/* Begin to agree on the round; the one before is agreed on.  Returns 1 when all ranks have the
 * same, else 0.  -EPROTO, on all: they have not.
 */
int round_order_start(struct round_order *o, const struct round_name *name, int tag,
                      struct outbox *out, struct eddis_error *err);
bool round_order_started(const struct round_order *o);

/* Return whether the operation belongs to o; go on after it, if so, returning as round_order_start.
 */
bool round_order_owns(const struct round_order *o, const struct comm_op *op);
int round_order_receive(struct round_order *o, const struct comm_op *op, struct outbox *out,
                        struct eddis_error *err);

/* Return what all ranks weigh in the round that is agreed on: the same bits on each. */
double round_order_weight(const struct round_order *o);

/* Return the rank that agreeing waits for; -1: none. */
int round_order_waits_for(const struct round_order *o);

#endif
