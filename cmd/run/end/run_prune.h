/* SPDX-License-Identifier: Apache-2.0 */
/* run_prune.h - eddis-run --prune: remove folders of jobs that ended long ago */
#ifndef EDDIS_CMD_RUN_END_RUN_PRUNE_H
#define EDDIS_CMD_RUN_END_RUN_PRUNE_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct run_prune {
    int64_t older_ns; /* than this, by the newest of the folder's files */
    int64_t now_ns;   /* wall clock */
    bool only_failed; /* as job_status_failed has it */
    bool only_tell;   /* remove nothing */
    bool json, quiet; /* what is printed: a document a folder that goes; nothing */
};

/* Remove the folders of jobs below the usual root that have ended, or whose driver is gone, so long
 * ago.  A link to checkpoints elsewhere goes with the folder, the checkpoints stay.  Jobs that run,
 * here or perhaps on another machine, stay.  Each is printed, also one that may be starting or
 * ending and stays for that.  Returns how many went; a folder that cannot be removed is the error,
 * after all others went.
 */
int run_prune(const struct run_prune *p, FILE *out, struct eddis_error *err);

#endif
