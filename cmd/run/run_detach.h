/* SPDX-License-Identifier: Apache-2.0 */
/* run_detach.h - eddis-run --detach: a job that goes on without its terminal
 *
 * The process forks before it has a thread. The parent waits until the child reports that the
 * workers are up, and passes signals on. The child has its own session, so that it survives its
 * terminal; from then on its output goes to a file.
 */
#ifndef EDDIS_CMD_RUN_RUN_DETACH_H
#define EDDIS_CMD_RUN_RUN_DETACH_H

#include "lib/base/error.h"

/* Fork. Return 1 in the child, with the descriptor for run_detach_up in *ret_up; and 0 in the
 * parent, with its exit code in *ret_code: 0 once the workers are up, else the job's own code.
 * Block in the parent.
 */
int run_detach(int *ret_up, int *ret_code, struct eddis_error *err);

/* Report to the parent that the workers are up, so that it ends. Call it in the child. Send
 * standard output and error to log from now on and close it; -1: leave them. On failure the output
 * stays where it is, and the parent ends all the same.
 */
int run_detach_up(int *up, int log, struct eddis_error *err);

#endif
