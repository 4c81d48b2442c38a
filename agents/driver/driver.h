/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - run one job from the start of its agents to their end
 *
 * The driver makes every decision and runs on one thread, the caller's. The HTTP server's threads
 * put requests into a queue (request_queue.h), the state machine (state.h) decides, and the loop
 * carries out its actions. The driver prints nothing itself, but calls functions of a view
 * (driver_options.h).
 */
#ifndef EDDIS_AGENTS_DRIVER_DRIVER_H
#define EDDIS_AGENTS_DRIVER_DRIVER_H

#include "agents/driver/core/driver_options.h"

/* Run the job to its end, and return its exit code, with its final status in *ret, which the caller
 * frees with job_status_fini. Return a negative errno if the job could not begin. Blocks SIGTERM,
 * SIGUSR1, SIGUSR2 and, unless they are ignored, SIGINT, SIGQUIT, SIGHUP, SIGTSTP and SIGCONT in
 * this process, and handles them as requests.
 */
int driver_run(const struct driver_options *o, struct job_status *ret, struct eddis_error *err);

#endif
