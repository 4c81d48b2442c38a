/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - one job from its agents' start to their end
 *
 * The driver owns every decision.  It has one thread of its own, the caller's: the server's
 * threads put what they hear into an inbox (request_queue.h), state.h decides, and the loop carries out.
 * People hear of it through a view; the driver prints nothing.
 */
#ifndef EDDIS_AGENTS_DRIVER_DRIVER_H
#define EDDIS_AGENTS_DRIVER_DRIVER_H

#include "agents/driver/core/driver_options.h"

/* Run the job.  Blocks SIGTERM, SIGUSR1, SIGUSR2 and, unless they are ignored, SIGINT, SIGQUIT,
 * SIGHUP and SIGTSTP in this process and takes them as orders.  Returns the job's exit code, and in
 * *ret how it went (for job_status_fini).  Negative: it could not begin.
 */
int driver_run(const struct driver_options *o, struct job_status *ret, struct eddis_error *err);

#endif
