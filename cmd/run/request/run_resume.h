/* SPDX-License-Identifier: Apache-2.0 */
/* run_resume.h - --resume: reads the job that it names, and checks whether the checkpoint fits */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_RESUME_H
#define EDDIS_CMD_RUN_REQUEST_RUN_RESUME_H

#include "agents/job/status_json.h"
#include "lib/base/error.h"
#include "lib/base/strlist.h"
#include "lib/model/job.h"

/* Read the job.yaml of the job that --resume names, to continue that job. given: variables of the
 * command line, which must include those whose values job.yaml does not store. -EINVAL: such a
 * value is missing, or `word` is a checkpoint, which does not say which program to run.
 */
int run_resume_job(const char *word, const struct strlist *given, struct job **ret,
                   struct eddis_error *err);

/* Check that no other eddis-run runs the job that --resume names. other: a file or a command
 * describes the job, so that a checkpoint of a running job is only input. -EBUSY: it runs;
 * -EREMOTE: it may run on another machine. If its driver has died, print that and block for about a
 * lease, while workers may still write checkpoints.
 */
int run_resume_alone(const char *word, bool other, struct eddis_error *err);

/* Check that the job has the global batch and the seed of the checkpoint that it continues from.
 * -EINVAL: it has others, or a file of the checkpoint has another size or, with sums, another
 * checksum. With sums, all files are read.
 */
int run_resume_check(const struct job *job, const char *checkpoint, bool sums,
                     struct eddis_error *err);

/* Check whether a folder of checkpoints has one whose files have their sizes. passed: the error of
 * a newer one that is damaged, or code 0.
 */
bool run_resume_any(const char *dir, struct eddis_error *passed);

/* Write for people where the job continues from, "step 279 (/path/step-00000279)", and which newer
 * checkpoint is damaged. Return false if the job begins anew.
 */
bool run_resume_text(const struct job *job, char *ret, size_t size);

/* Check whether the job that --resume names has trained to its end. On true *ret is its final
 * status, and the caller frees it with job_status_fini.
 */
bool run_resume_is_over(const char *word, struct job_status *ret);

#endif
