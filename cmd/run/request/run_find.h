/* SPDX-License-Identifier: Apache-2.0 */
/* run_find.h - finds the job, checkpoint or plan that an option names */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_FIND_H
#define EDDIS_CMD_RUN_REQUEST_RUN_FIND_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* Print a message before such a file is read: it takes seconds. */
#define RUN_FIND_BIG_BYTES 1000000000

/* Print a warning of lib/base/trust.h on standard error: which other users can write what the job
 * continues from. Print nothing if its code is 0.
 */
void run_find_warn(const struct eddis_error *shared);

/* Check whether the folder has a file of this name. */
bool run_find_has(const char *folder, const char *name);

/* Find a job by its folder or the beginning of its id. option: its name, for the error. --resume
 * also takes the newest of several jobs of one name.
 */
int run_find_job(const char *option, const char *word, struct job_folder *ret,
                 struct eddis_error *err);

/* Find the checkpoint that --resume names: a checkpoint itself, or the newest complete one of a
 * folder or job. Print on standard error which newer ones are damaged. Write its path to *ret,
 * which the caller frees. Return 1 if its checksums were compared, 0 for a checkpoint itself.
 */
int run_find_checkpoint(const char *word, char **ret, struct eddis_error *err);

/* Print on standard error that the checksums of this checkpoint, or of the newest in this folder,
 * are being compared, if it is large.
 */
void run_find_report_sums(const char *path);

/* Find the plan that --plan names: a file, or the newest plan of a job. Write its path to *ret,
 * which the caller frees.
 */
int run_find_plan(const char *word, char **ret, struct eddis_error *err);

#endif
