/* SPDX-License-Identifier: Apache-2.0 */
/* run_resume.h - --resume: the job of its own that it may name, and whether the checkpoint fits */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_RESUME_H
#define EDDIS_CMD_RUN_REQUEST_RUN_RESUME_H

#include "agents/job/status_json.h"
#include "lib/base/error.h"
#include "lib/model/job.h"
#include "run_env.h"

/* Read the job.yaml of the job that --resume names, to go on with that.  given: variables of the
 * command line, which must have those whose values job.yaml does not keep.
 * -EINVAL: such a value is missing, or the word is a checkpoint, which says nothing of a program.
 */
int run_resume_job(const char *word, const struct run_env *given, struct job **ret,
                   struct eddis_error *err);

/* Check that no other eddis-run has the job that --resume names.  other: a file or a command says
 * what to run, so a checkpoint of a running job is no second start of it.  -EBUSY: it is running;
 * -EREMOTE: elsewhere, perhaps.  Blocks for about a lease, with a word on standard error, where its
 * driver has died and workers may still write checkpoints.
 */
int run_resume_alone(const char *word, bool other, struct eddis_error *err);

/* Check that the job has the batch and the seed of the checkpoint that it is to go on from.
 * -EINVAL also: a file of it has another size or, with sums, another sum, for which all are read.
 */
int run_resume_check(const struct job *job, const char *checkpoint, bool sums,
                     struct eddis_error *err);

/* Whether a folder of checkpoints has one whose files have their sizes.  passed: the first newer
 * one that is damaged, or code 0.
 */
bool run_resume_any(const char *dir, struct eddis_error *passed);

/* Write for people where the job goes on from, "step 279 (/path/step-00000279)", and which newer
 * one is damaged; false: it begins anew.
 */
bool run_resume_text(const struct job *job, char *ret, size_t size);

/* Return whether the job that --resume names has trained to its end, and how it went; the caller
 * frees *ret with job_status_fini then.
 */
bool run_resume_is_over(const char *word, struct job_status *ret);

#endif
