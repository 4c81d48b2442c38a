/* SPDX-License-Identifier: Apache-2.0 */
/* run_stop.h - eddis-run --stop: ends a running job as Ctrl-C would, and waits for its end */
#ifndef EDDIS_CMD_RUN_END_RUN_STOP_H
#define EDDIS_CMD_RUN_END_RUN_STOP_H

#include "agents/job/job_folder.h"
#include "agents/job/status_json.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* Ask the driver to end the job, and wait until the driver has ended, at most as long as the job's
 * timeouts allow. dead: the driver has ended, even if the folder says otherwise. Write the final
 * status to *ret, which the caller frees with job_status_fini. Return 1; 0 if the driver had ended
 * before; -EREMOTE: the driver is on another machine; -ETIMEDOUT: the job still runs; or another
 * negative errno.
 */
int run_stop(const struct job_folder *f, bool dead, struct job_status *ret,
             struct eddis_error *err);

/* Return a phrase, a string constant, for what happened to the job. rc: the result of run_stop; s:
 * the status that run_stop has stored.
 */
const char *run_stop_words(int rc, const struct job_status *s);

#endif
