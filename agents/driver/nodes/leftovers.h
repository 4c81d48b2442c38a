/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.h - at the job's end: what nodes that were lost may still have of it */
#ifndef EDDIS_AGENTS_DRIVER_NODES_LEFTOVERS_H
#define EDDIS_AGENTS_DRIVER_NODES_LEFTOVERS_H

#include "agents/driver/core/job_run.h"

/* Log in to the nodes of which nobody saw that nothing stayed there, and have that ended; say what
 * there was, and by which command to end it where that could not be done.  Blocks, five seconds at
 * most, and no longer than until `stop` can be read (-1: none).
 */
int left_over_end(struct job_run *r, int stop, struct eddis_error *err);

#endif
