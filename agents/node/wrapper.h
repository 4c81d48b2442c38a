/* SPDX-License-Identifier: Apache-2.0 */
/* wrapper.h - eddis-rank: stands between mpirun and a rank's program
 *
 *     mpirun -> eddis-rank FILE -> the user's program
 *
 * It gives the program its environment, cores and log file, passes signals on, and tells the agent
 * when the program started and how it ended.
 *
 * Three things are not obvious:
 *   - It does not exit at once when the program fails, for mpirun would then kill the other ranks
 *     before the driver knows who was first.  It waits for the stop that the driver orders, at
 *     most HOLD_NS, and then ends as the program did.  Nor does it when the program has closed its
 *     last worker and left with MPI open, as libeddis does here: mpirun would kill the others then,
 *     too.  It stays until all ranks have ended.  A death behind that, of SIGABRT or SIGSEGV for
 *     example, is told to the agent, and mpirun sees an exit with 0.
 *   - When mpirun dies it gets SIGTERM and passes that on, so that a program can still save; after
 *     ORPHAN_NS it kills what is left under it, and removes the job's folders, should agent and
 *     keeper be dead as well.
 *   - The program leads a process group of its own: mpirun signals its child's group, and the
 *     program would hear every signal twice.
 */
#ifndef EDDIS_AGENTS_NODE_WRAPPER_H
#define EDDIS_AGENTS_NODE_WRAPPER_H

#include "lib/base/error.h"

/* Run the program of this rank (-1: OMPI_COMM_WORLD_RANK is missing) as the file says.  Blocks.
 * Returns the exit code, or does not return when the program died by a signal: the same is then
 * raised here.  A negative value: it could not even be tried.
 */
int wrapper_run(const char *file, int rank, struct eddis_error *err);

#endif
