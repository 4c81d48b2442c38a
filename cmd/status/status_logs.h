/* SPDX-License-Identifier: Apache-2.0 */
/* status_logs.h - what a rank has printed: eddis-status JOB --logs 3 */
#ifndef EDDIS_CMD_STATUS_STATUS_LOGS_H
#define EDDIS_CMD_STATUS_STATUS_LOGS_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct status_logs {
    int rank;
    int64_t lines; /* of its end; those of the last 256 KB at most */
    bool follow;   /* until the job has ended */
    bool plain;    /* for a terminal: no control characters */
    int64_t interval_ns;
};

/* Print the end of a rank's log to standard output: of a running job by its driver, of one that has
 * ended out of its folder.  -ENOENT: there is none.
 */
int status_logs_print(const struct job_folder *f, const struct status_logs *o,
                      struct eddis_error *err);

#endif
