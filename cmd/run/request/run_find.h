/* SPDX-License-Identifier: Apache-2.0 */
/* run_find.h - what an option means that names a job, a checkpoint or a plan */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_FIND_H
#define EDDIS_CMD_RUN_REQUEST_RUN_FIND_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#define RUN_FIND_BIG_BYTES 1000000000 /* a disk reads so much in seconds, not at once */

/* Say on standard error of whom else what is gone on with is trusted, as lib/base/trust.h warns;
 * nothing where the code is 0.
 */
void run_find_warn(const struct eddis_error *shared);

/* A job by its folder or the beginning of its id, as the word of an option. */
int run_find_job(const char *option, const char *word, struct job_folder *ret,
                 struct eddis_error *err);

/* The word of --resume: a checkpoint, or a folder of them or a job whose newest whole one is meant;
 * a newer one that is damaged is told on standard error.  Writes its path.  Returns 1 when the sums
 * of its files have been compared, 0 for a checkpoint that was named itself.
 */
int run_find_checkpoint(const char *word, char **ret, struct eddis_error *err);

/* Say on standard error that the sums of this checkpoint, or of the newest in this folder, are
 * being compared, if that takes its time.
 */
void run_find_tell_sums(const char *path);

/* The word of --plan: a file, or a job whose newest plan is meant.  Returns its path. */
int run_find_plan(const char *word, char **ret, struct eddis_error *err);

#endif
