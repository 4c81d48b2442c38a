/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.h - end processes left on lost nodes at the job's end */
#ifndef EDDIS_AGENTS_DRIVER_NODES_LEFTOVERS_H
#define EDDIS_AGENTS_DRIVER_NODES_LEFTOVERS_H

#include "agents/driver/core/job_run.h"

/* Log in to the nodes on which processes of the job may remain, and end them.  Report what was
 * found and, for nodes that could not be reached, the command that ends it later.  Blocks for five
 * seconds at most, and only until the descriptor `stop` is readable (-1: none).
 */
int leftovers_end(struct job_run *r, int stop, struct eddis_error *err);

#endif
