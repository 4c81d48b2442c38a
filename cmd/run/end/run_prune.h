/* SPDX-License-Identifier: Apache-2.0 */
/* run_prune.h - eddis-run --prune: removes folders of jobs that ended long ago */
#ifndef EDDIS_CMD_RUN_END_RUN_PRUNE_H
#define EDDIS_CMD_RUN_END_RUN_PRUNE_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What to remove, and how to print it. */
struct run_prune {
    int64_t older_ns; /* least age, by the newest of the folder's files */
    int64_t now_ns;   /* wall clock */
    bool only_failed; /* only jobs that failed (job_status_failed) */
    bool only_report; /* print, but remove nothing */
    bool json, quiet; /* print a JSON document for each folder; print nothing */
};

/* Remove the folders of jobs below the default root that ended, or lost their driver, at least
 * older_ns ago. Jobs that run, or may run on another machine, stay; so do checkpoints that a folder
 * only links to. Print each removed folder, and each that stays because its job may be starting or
 * ending. Return the number of folders removed (or found); or the first error, after all others
 * were removed.
 */
int run_prune(const struct run_prune *p, FILE *out, struct eddis_error *err);

#endif
