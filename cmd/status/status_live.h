/* SPDX-License-Identifier: Apache-2.0 */
/* status_live.h - the live view of a job, which is redrawn until the job ends or the user quits */
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
    bool color, ascii, gpus; /* gpus: as in struct status_page_form */
};

/* Result of a live view if 'q' was pressed; larger than any exit code */
enum { STATUS_LIVE_QUIT = 256 };

/* Show the job on the terminal. Return 0 if the job has ended, STATUS_LIVE_QUIT if 'q' was pressed,
 * 128 + the signal that ended the view, or a negative errno. In all cases the terminal is restored.
 */
int status_live_run(const struct job_folder *f, const struct status_live *o,
                    struct eddis_error *err);

/* Show a job whose driver is on another node, where the job's name is `word`, as status_live_run
 * does: the status is fetched through srun. Return 0 if the job has ended, with its last status in
 * *ret; STATUS_LIVE_QUIT; 128 + the signal that ended the view; the exit code of eddis-status on
 * the other node, if it failed and its error was printed on standard error; or a negative errno.
 */
int status_live_far(const struct srun_proxy *proxy, const char *word, const struct status_live *o,
                    struct job_status *ret, struct eddis_error *err);

#endif
