/* SPDX-License-Identifier: Apache-2.0 */
/* wrapper.h - eddis-rank: a process between mpirun and a rank's program
 *
 *     mpirun -> eddis-rank FILE -> the user's program
 *
 * eddis-rank gives the program its environment, cores and log file, and passes signals on.
 * eddis-rank also reports to the agent when the program started and how it ended.
 *
 * Three things are not obvious:
 *   - If the program fails, eddis-rank does not exit immediately: mpirun would kill the other ranks
 *     before the driver knows which rank failed first.  It waits for the driver's order to stop, at
 *     most HOLD_NS, and then ends as the program did.  If the program has closed its last worker
 *     and exited without MPI_Finalize, eddis-rank stays until all ranks have ended, because
 *     mpirun would kill the other ranks in this case, too.  If such a program then dies of a signal
 *     like SIGABRT or SIGSEGV, this is reported to the agent, and mpirun sees exit code 0.
 *   - When mpirun dies the wrapper gets SIGTERM and passes it on, so that a program can still save.
 *     After ORPHAN_NS the wrapper kills its descendants, and removes the job's folders if agent and
 *     supervisor are dead, too.
 *   - The program leads its own process group: mpirun sends signals to the group of its child,
 *     so that otherwise the program would get every signal twice.
 */
#ifndef EDDIS_AGENTS_NODE_WRAPPER_H
#define EDDIS_AGENTS_NODE_WRAPPER_H

#include "lib/base/error.h"

/* Run the program of this rank (-1: OMPI_COMM_WORLD_RANK is missing) as the rank file `file` says;
 * block until it has ended. Return its exit code; if the program died of a signal, send this
 * process the same signal. Return a negative errno if the program could not be started.
 */
int wrapper_run(const char *file, int rank, struct eddis_error *err);

#endif
