/* SPDX-License-Identifier: Apache-2.0 */
/* job_text.h - a job as text: a whole train.yaml, single values, and where they come from */
#ifndef EDDIS_JOB_JOB_TEXT_H
#define EDDIS_JOB_JOB_TEXT_H

#include "lib/model/job.h"

#include <stddef.h>

/* Beginning of the text of job_text.  A reader that finds this line takes origins from the
 * comments.
 */
#define JOB_TEXT_HEAD "# the job as eddis "

/* Return the job as the text of a train.yaml (job.yaml in the job's folder): every key with its
 * value and origin.  If the text is read again, defaults stay defaults.  Values of secret variables
 * are masked; hosts of a hostfile become nodes.  NULL without memory.
 */
char *job_text(const struct job *job);

/* Return the origin of a key's value by dotted name; JOB_DEFAULT for an unknown name. */
struct job_origin job_origin(const struct job *job, const char *key);

/* Write a key's origin for people: "train.yaml:7", "--seed", "default". */
void job_origin_text(const struct job *job, const char *key, char *ret, size_t size);

/* Prefix the error in err with a key's origin, as in "train.yaml:7: ". Return rc. */
int job_fail_origin(const struct job *job, const char *key, int rc, struct eddis_error *err);

/* Write a key's value for people: "256", "10s", "auto". */
void job_value_text(const struct job *job, const char *key, char *ret, size_t size);

#endif
