/* SPDX-License-Identifier: Apache-2.0 */
/* threads_scenario.h - calls of any thread beside the steps, for tests over the loop and over MPI
 */
#ifndef EDDIS_TESTS_THREADS_SCENARIO_H
#define EDDIS_TESTS_THREADS_SCENARIO_H

#include "lib/eddis.h"

/* A training in which other threads announce, ask for samples, and make collectives of every scope
 * and requests to the box.  n_here: ranks of this one's node.  Returns the number of failures.
 */
int threads_run(struct eddis *e, int n_here);

#endif
