/* SPDX-License-Identifier: Apache-2.0 */
/* status_logs.h - prints the log of a rank: eddis-status JOB --logs 3 */
#ifndef EDDIS_CMD_STATUS_STATUS_LOGS_H
#define EDDIS_CMD_STATUS_STATUS_LOGS_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What to print, and how. */
struct status_logs {
    int rank;
    int64_t lines; /* number of last lines to print, within the last 256 KB */
    bool follow;   /* continue to print new lines until the job has ended */
    bool plain;    /* remove control characters, for a terminal */
    int64_t interval_ns;
};

/* Print the end of a rank's log to standard output. The log comes from the driver if the job runs,
 * otherwise from the job's folder. Return 0; -ENOENT: there is no log; or another negative errno.
 */
int status_logs_print(const struct job_folder *f, const struct status_logs *o,
                      struct eddis_error *err);

#endif
