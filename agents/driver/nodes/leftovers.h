/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.h - end the processes that remain on lost nodes at the job's end */
#ifndef EDDIS_AGENTS_DRIVER_NODES_LEFTOVERS_H
#define EDDIS_AGENTS_DRIVER_NODES_LEFTOVERS_H

#include "agents/driver/core/job_run.h"

/* Log in to the nodes on which processes of the job may remain, and end these processes. Report to
 * the user what was found; for nodes that could not be reached, report the command that ends the
 * processes later. Blocks for at most five seconds, and only until the descriptor `stop` is
 * readable (-1: none). Return the number of nodes where processes may still remain, or a negative
 * errno.
 */
int leftovers_end(struct job_run *r, int stop, struct eddis_error *err);

#endif
