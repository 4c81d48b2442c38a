/* SPDX-License-Identifier: Apache-2.0 */
/* run_find.h - finds the job, checkpoint or plan that an option names */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_FIND_H
#define EDDIS_CMD_RUN_REQUEST_RUN_FIND_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* Size of files from which a message is printed before they are read, since it takes seconds */
#define RUN_FIND_BIG_BYTES 1000000000

/* Print `shared`, a warning from lib/base/trust.h, on standard error: it says which other users can
 * write the checkpoint from which the job continues. If its code is 0, print nothing.
 */
void run_find_warn(const struct eddis_error *shared);

/* Check whether the folder has a file of this name. */
bool run_find_has(const char *folder, const char *name);

/* Find a job by its folder or the beginning of its id, and fill *ret. option: name of the option
 * that names the job, for errors. With "--resume", if several jobs of one name match, find the
 * newest one. Return 0 or a negative errno.
 */
int run_find_job(const char *option, const char *word, struct job_folder *ret,
                 struct eddis_error *err);

/* Find the checkpoint that --resume names: `word` is the folder of a checkpoint, or a folder of
 * checkpoints or a job, whose newest complete checkpoint is found. Print on standard error which
 * newer checkpoints are damaged. Store the checkpoint's path in *ret, which the caller frees.
 * Return 1 if its checksums were compared; 0 if `word` is the checkpoint itself; or a negative
 * errno.
 */
int run_find_checkpoint(const char *word, char **ret, struct eddis_error *err);

/* If this checkpoint, or the newest checkpoint in this folder, is large, print on standard error
 * that its checksums are being compared.
 */
void run_find_report_sums(const char *path);

/* Find the plan that --plan names: a file, or the newest plan of a job. Store the path of the plan
 * in *ret, which the caller frees. Return 0 or a negative errno.
 */
int run_find_plan(const char *word, char **ret, struct eddis_error *err);

#endif
