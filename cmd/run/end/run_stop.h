/* SPDX-License-Identifier: Apache-2.0 */
/* run_stop.h - eddis-run --stop: end a job that runs, as Ctrl-C would, and wait for its end */
#ifndef EDDIS_CMD_RUN_END_RUN_STOP_H
#define EDDIS_CMD_RUN_END_RUN_STOP_H

#include "agents/job/job_folder.h"
#include "agents/job/status_json.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* dead: the driver is gone, whatever the folder says.  Blocks until the job has ended, at most for
 * what its own times allow.  Writes how it ended to *ret, for job_status_fini.  Returns 1, or 0
 * when it had ended before.  -EREMOTE: its driver is on another machine, which the sentence names;
 * -ETIMEDOUT.
 */
int run_stop(const struct job_folder *f, bool dead, struct job_status *ret,
             struct eddis_error *err);

/* Say what has become of the job: rc is what run_stop returned, *s what it filled. */
const char *run_stop_words(int rc, const struct job_status *s);

#endif
