/* SPDX-License-Identifier: Apache-2.0 */
/* run_detach.h - eddis-run --detach: a job that goes on without its terminal
 *
 * The process forks before it has a thread.  The parent waits until the child says that the workers
 * are up, handing signals on; the child has a session of its own, so that no terminal's end reaches
 * it, and its output goes to a file from then on.
 */
#ifndef EDDIS_CMD_RUN_RUN_DETACH_H
#define EDDIS_CMD_RUN_RUN_DETACH_H

#include "lib/base/error.h"

/* Fork.  Returns 1 in the child, with *ret_up the descriptor for run_detach_up, and 0 in the
 * parent, with *ret_code what it shall exit with: 0 when the workers are up, else the job's own
 * code. Blocks in the parent.
 */
int run_detach(int *ret_up, int *ret_code, struct eddis_error *err);

/* In the child, while nobody waits for it: open the file that its output goes to, which is made
 * when it is missing.  Returns a descriptor.
 */
int run_detach_log(const char *path, struct eddis_error *err);

/* In the child: the workers are up.  Standard output and error go to log, which is taken (-1: they
 * stay), and the parent ends.  A failure leaves the output where it is; the parent ends all the
 * same.
 */
int run_detach_up(int *up, int log, struct eddis_error *err);

#endif
