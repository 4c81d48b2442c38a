/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - run one job from the start of its agents to their end
 *
 * The driver makes every decision and runs on one thread, the caller's.  The HTTP server's threads
 * put requests into a queue (request_queue.h), the state machine (state.h) decides, and the loop
 * carries out its actions.  The driver prints nothing itself; it calls a view.
 */
#ifndef EDDIS_AGENTS_DRIVER_DRIVER_H
#define EDDIS_AGENTS_DRIVER_DRIVER_H

#include "agents/driver/core/driver_options.h"

/* Run the job and return its exit code, with its final status in *ret (for job_status_fini).
 * Return a negative error if it could not begin.  Blocks SIGTERM, SIGUSR1, SIGUSR2 and, unless they
 * are ignored, SIGINT, SIGQUIT, SIGHUP, SIGTSTP and SIGCONT in this process, and handles them as
 * requests.
 */
int driver_run(const struct driver_options *o, struct job_status *ret, struct eddis_error *err);

#endif
