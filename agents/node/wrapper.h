/* SPDX-License-Identifier: Apache-2.0 */
/* wrapper.h - eddis-rank: a process between mpirun and a rank's program
 *
 *     mpirun -> eddis-rank FILE -> the user's program
 *
 * It gives the program its environment, cores and log file, and passes signals on.  It reports to
 * the agent when the program started and how it ended.
 *
 * Three things are not obvious:
 *   - It does not exit at once if the program fails: mpirun would then kill the other ranks before
 *     the driver knows which failed first.  It waits for the driver's order to stop, at most
 *     HOLD_NS, and then ends as the program did.  It also stays, until all ranks have ended, if the
 *     program has closed its last worker and exited without MPI_Finalize, as libeddis does here:
 *     mpirun would kill the other ranks too.  A death after that, such as by SIGABRT or SIGSEGV, is
 *     reported to the agent, and mpirun sees exit code 0.
 *   - When mpirun dies the wrapper gets SIGTERM and passes it on, so that a program can still save.
 *     After ORPHAN_NS it kills its descendants, and removes the job's folders if agent and
 *     supervisor are dead too.
 *   - The program leads its own process group: mpirun signals its child's group, and otherwise the
 *     program would get every signal twice.
 */
#ifndef EDDIS_AGENTS_NODE_WRAPPER_H
#define EDDIS_AGENTS_NODE_WRAPPER_H

#include "lib/base/error.h"

/* Run the program of this rank (-1: OMPI_COMM_WORLD_RANK is missing) as the rank file says; block.
 * Return the exit code; if the program died of a signal, raise the same here.  Negative: it could
 * not be tried.
 */
int wrapper_run(const char *file, int rank, struct eddis_error *err);

#endif
