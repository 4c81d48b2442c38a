/* SPDX-License-Identifier: Apache-2.0 */
/* status_live.h - the view that redraws itself until the job ends or the user quits */
#ifndef EDDIS_CMD_STATUS_STATUS_LIVE_H
#define EDDIS_CMD_STATUS_STATUS_LIVE_H

#include "lib/base/error.h"

#include "agents/job/job_folder.h"
#include "agents/job/status_json.h"
#include "cmd/slurm/srun_proxy.h"

#include <stdbool.h>
#include <stdint.h>

/* How the view is drawn. */
struct status_live {
    int64_t interval_ns;
    bool color, ascii;
};

/* Returned when 'q' was pressed; no exit code is so large. */
enum { STATUS_LIVE_QUIT = 256 };

/* Show the job on the terminal. Return 0 if it has ended, STATUS_LIVE_QUIT if 'q' was pressed, 128
 * + the signal that ended the view, or an error. The terminal is restored in any case.
 */
int status_live_run(const struct job_folder *f, const struct status_live *o,
                    struct eddis_error *err);

/* Show a job whose driver is on another node, where its name is `word`, in the same way: its status
 * comes through srun. If the job has ended return 0, with its last status in *ret. Other positive
 * values are as above, or the exit code of eddis-status there, whose error was printed on standard
 * error.
 */
int status_live_far(const struct srun_proxy *proxy, const char *word, const struct status_live *o,
                    struct job_status *ret, struct eddis_error *err);

#endif
