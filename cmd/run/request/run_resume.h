/* SPDX-License-Identifier: Apache-2.0 */
/* run_resume.h - --resume: reads the job that the option names, and checks whether the checkpoint
 * fits the job
 */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_RESUME_H
#define EDDIS_CMD_RUN_REQUEST_RUN_RESUME_H

#include "agents/job/status_json.h"
#include "lib/base/error.h"
#include "lib/base/strlist.h"
#include "lib/model/job.h"

/* Read the job.yaml of the job that --resume names, to continue this job, into *ret. given:
 * variables of the command line, which must include those whose values job.yaml does not store.
 * Return 0; -EINVAL: such a value is missing, or `word` is a checkpoint, which does not say which
 * program to run; or another negative errno.
 */
int run_resume_job(const char *word, const struct strlist *given, struct job **ret,
                   struct eddis_error *err);

/* Check that no other eddis-run runs the job that --resume names. other: the command line names a
 * file or command for a new job, so that a checkpoint of a running job is only its input. Return 0;
 * -EBUSY: the job runs; -EREMOTE: the job may run on another machine. If the job's driver has died,
 * print this, and block for about a lease, during which workers may still write checkpoints.
 */
int run_resume_alone(const char *word, bool other, struct eddis_error *err);

/* Check that the job has the global batch and the seed of the checkpoint from which it continues.
 * sums: also read all files of the checkpoint and compare their checksums. Return 0; -EINVAL: the
 * job has another global batch or seed, or a file of the checkpoint has a wrong size or checksum;
 * or another negative errno.
 */
int run_resume_check(const struct job *job, const char *checkpoint, bool sums,
                     struct eddis_error *err);

/* Check whether a folder has a checkpoint whose files have the right sizes. Store in *passed the
 * error of a newer checkpoint that is damaged, or code 0.
 */
bool run_resume_any(const char *dir, struct eddis_error *passed);

/* Write to ret [size], for the user, from where the job continues, "step 279
 * (/path/step-00000279)", and which newer checkpoint is damaged. Return false if the job starts
 * from the beginning.
 */
bool run_resume_text(const struct job *job, char *ret, size_t size);

/* Check whether the job that --resume names has trained to its end. If true, *ret is its final
 * status, which the caller frees with job_status_fini.
 */
bool run_resume_is_over(const char *word, struct job_status *ret);

#endif
