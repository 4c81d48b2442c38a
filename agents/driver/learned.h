/* SPDX-License-Identifier: Apache-2.0 */
/* learned.h - what earlier runs of a program have told of it, and what this one tells the next */
#ifndef EDDIS_AGENTS_DRIVER_LEARNED_H
#define EDDIS_AGENTS_DRIVER_LEARNED_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "scheduler/planner.h"

/* Returns the bytes of the program's model; 0 when they are not known, or when that is older than
 * profiles may be.
 */
int64_t learned_model(const struct job *job);

/* Keep them for the next run of the program. */
int learned_keep_model(const struct job *job, int64_t bytes, struct eddis_error *err);

/* Write what was measured of the network, JSON or NULL, into known as the planner wants it; it
 * stays as it is when nothing can be said.
 */
void learned_wire(const char *measured, struct planner_known *known);

#endif
