/* SPDX-License-Identifier: Apache-2.0 */
/* learned.h - what one run of a program remembers for the next: the size of its model */
#ifndef EDDIS_AGENTS_DRIVER_LEARNED_H
#define EDDIS_AGENTS_DRIVER_LEARNED_H

#include "lib/base/error.h"
#include "lib/base/file_thread.h"
#include "lib/model/job.h"
#include "scheduler/planner.h"

/* Returns the bytes of the program's model; 0 when they are not known, or when that is older than
 * profiles may be.
 */
int64_t learned_model(struct file_thread *looks, const struct job *job);

/* Keep bytes for the next run of the program. */
int learned_keep_model(struct file_thread *looks, const struct job *job, int64_t bytes,
                       struct eddis_error *err);

/* Fill the wire's figures in *known from what the network's probe has measured, JSON or NULL; leave
 * them alone when it does not tell.
 */
void learned_wire(const char *measured, struct planner_known *known);

#endif
