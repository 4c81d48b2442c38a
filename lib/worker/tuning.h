/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - all-reduces and buckets on the board: as measured, and as a replayed plan gives them
 *
 * A bucket holds neighbours of the arena, in which parameter i of n is number n - 1 - i; the choice
 * lists parameters by their own numbers.
 */
#ifndef EDDIS_WORKER_TUNING_H
#define EDDIS_WORKER_TUNING_H

#include "lib/base/error.h"
#include "lib/board/layout.h"
#include "lib/comm/tuner.h"
#include "lib/sync/bucket.h"

struct eddis;

/* The choice's buckets of n parameters.  Returns 1, or 0 when it leaves them to the size.  -EINVAL:
 * they are of another model.
 */
int tuning_layout(const struct comm_choice *c, int n, struct bucket_layout *ret,
                  struct eddis_error *err);

/* Write the layout of n parameters, at most CHOICE_MAX_ORDER, into the choice. */
void tuning_set_layout(struct comm_choice *c, int n, const struct bucket_layout *l);

/* The kinds of all-reduce, to and from the choice. */
void tuning_set_limits(struct comm_choice *c, const struct tuner_result *r);
struct comm_limits tuning_limits(const struct comm_choice *c);

/* Another clause of the reason. */
void tuning_add_reason(struct comm_choice *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Hook of the engine; arg is the handle: rank 0 publishes the layout. */
void tuning_laid_out(void *arg, const struct bucket_layout *l);

#endif
