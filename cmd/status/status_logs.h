/* SPDX-License-Identifier: Apache-2.0 */
/* status_logs.h - prints what a rank has printed: eddis-status JOB --logs 3 */
#ifndef EDDIS_CMD_STATUS_STATUS_LOGS_H
#define EDDIS_CMD_STATUS_STATUS_LOGS_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What to print, and how. */
struct status_logs {
    int rank;
    int64_t lines; /* last lines, within the last 256 KB */
    bool follow;   /* go on until the job has ended */
    bool plain;    /* for a terminal: without control characters */
    int64_t interval_ns;
};

/* Print the end of a rank's log to standard output: from the driver of a running job, else from the
 * job's folder. -ENOENT: there is no log.
 */
int status_logs_print(const struct job_folder *f, const struct status_logs *o,
                      struct eddis_error *err);

#endif
