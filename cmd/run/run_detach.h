/* SPDX-License-Identifier: Apache-2.0 */
/* run_detach.h - eddis-run --detach: a job that continues without its terminal
 *
 * The process forks before it has a thread. The parent waits until the child reports that the
 * workers are up, and passes signals on. The child has its own session, so that it survives its
 * terminal; after the report its output goes to a file.
 */
#ifndef EDDIS_CMD_RUN_RUN_DETACH_H
#define EDDIS_CMD_RUN_RUN_DETACH_H

#include "lib/base/error.h"

/* Fork. In the child return 1, with the descriptor for run_detach_up in *ret_up. In the parent
 * block until the workers are up or the job has ended, and return 0, with the parent's exit code in
 * *ret_code: 0 if the workers are up, otherwise the exit code of the job. Return a negative errno
 * if the process cannot fork.
 */
int run_detach(int *ret_up, int *ret_code, struct eddis_error *err);

/* Report to the parent, through the pipe *up, that the workers are up, so that it ends; close *up
 * and set it to -1. Call it in the child. Send standard output and error to log from now on and
 * close it; -1: leave them. Return 0, or a negative errno: the output stays where it is, and the
 * parent ends all the same.
 */
int run_detach_up(int *up, int log, struct eddis_error *err);

#endif
