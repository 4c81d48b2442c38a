/* SPDX-License-Identifier: Apache-2.0 */
/* run_prune.h - eddis-run --prune: removes folders of jobs that ended long ago */
#ifndef EDDIS_CMD_RUN_END_RUN_PRUNE_H
#define EDDIS_CMD_RUN_END_RUN_PRUNE_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Which folders to remove, and what to print */
struct run_prune {
    int64_t older_ns; /* minimum age of a folder, which is that of its newest file */
    int64_t now_ns;   /* present time of the wall clock */
    bool only_failed; /* remove only folders of jobs that failed (job_status_failed) */
    bool only_report; /* print which folders would be removed, but remove none */
    bool json, quiet; /* json: print a JSON document for each folder; quiet: print nothing */
};

/* Remove the folders below the default root of jobs that ended, or lost their driver, at least
 * older_ns ago. Keep folders of jobs that run, or may run on another machine, and checkpoints to
 * which a folder only has a link. Print each removed folder, and each folder that is kept because
 * its job may be starting or ending. Return the number of folders removed (only_report: found). If
 * a folder cannot be removed, continue, and then return the first error.
 */
int run_prune(const struct run_prune *p, FILE *out, struct eddis_error *err);

#endif
