/* SPDX-License-Identifier: Apache-2.0 */
/* run_prune.h - eddis-run --prune: remove folders of jobs that ended long ago */
#ifndef EDDIS_CMD_RUN_PRUNE_H
#define EDDIS_CMD_RUN_PRUNE_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Called for each folder before it is removed; age_s is since the job last wrote to it. */
typedef void (*run_prune_fn)(void *ctx, const struct job_folder *f, double age_s, int64_t bytes);

struct run_prune {
    int64_t older_ns; /* than this, by the newest of the folder's files */
    int64_t now_ns;   /* wall clock */
    bool only_failed; /* as job_status_failed has it */
    bool only_tell;   /* remove nothing */
    run_prune_fn tell;
    void *ctx;
};

/* Remove the folders of jobs below the usual root that have ended, or whose driver is gone, so long
 * ago.  A link to checkpoints elsewhere goes with the folder, the checkpoints stay.  Jobs that run,
 * here or perhaps on another machine, stay.  Returns how many went; a folder that cannot be removed
 * is the error, after all others went.
 */
int run_prune(const struct run_prune *p, struct eddis_error *err);

#endif
