/* SPDX-License-Identifier: Apache-2.0 */
/* status_live.h - the view that refreshes itself until the job ends or somebody has seen enough */
#ifndef EDDIS_CMD_STATUS_STATUS_LIVE_H
#define EDDIS_CMD_STATUS_STATUS_LIVE_H

#include "lib/base/error.h"

#include "agents/job/job_folder.h"
#include "agents/job/status_json.h"
#include "cmd/slurm/srun_proxy.h"

#include <stdbool.h>
#include <stdint.h>

struct status_live {
    int64_t interval_ns;
    bool color, ascii;
};

/* Show the job on the terminal.  Returns 0 when it has ended, 1 when 'q' was pressed, 128 + the
 * signal that ended the view, or an error.  The terminal is as before in any case.
 */
int status_live_run(const struct job_folder *f, const struct status_live *o,
                    struct eddis_error *err);

/* The same of a job whose driver is on another node, where word names it: its looks come over
 * there.  When the job has ended, *ret is its last status; other codes are those of the program
 * there, and standard error has been told why.
 */
int status_live_far(const struct slurm_door *door, const char *word, const struct status_live *o,
                    struct job_status *ret, struct eddis_error *err);

#endif
