/* SPDX-License-Identifier: Apache-2.0 */
/* job_read.h - read and check what a user asks for: train.yaml, and options over it */
#ifndef EDDIS_JOB_JOB_READ_H
#define EDDIS_JOB_JOB_READ_H

#include "lib/job/tree/job_node.h"

/* Read and check train.yaml; job_free frees *ret.  Return 0 or a negative errno, as -EINVAL or
 * -ENOENT, and then err is "<file>:<line>:<column>: <what is wrong>; <what to do>".
 */
int job_read(const char *path, struct job **ret, struct eddis_error *err);

/* Read as job_read does and return the same, but write all errors to *ret_wrong; err is the first
 * of them.
 */
int job_read_all(const char *path, struct job_mistakes *ret_wrong, struct job **ret,
                 struct eddis_error *err);

/* Read a job as job_read does, if file_read_trusted (lib/base/file.h) accepts the file; that
 * function may set *warning.  Return 0 or a negative errno; -EPERM: others may have written the
 * file or can replace it.
 */
int job_read_trusted(const char *path, struct eddis_error *warning, struct job **ret,
                     struct eddis_error *err);

/* Read a job from n bytes of text as job_read does.  `name` is the file in errors; relative paths
 * are relative to `folder` (absolute).  Return as job_read does; job_free frees *ret.
 */
int job_parse(const char *text, size_t n, const char *name, const char *folder, struct job **ret,
              struct eddis_error *err);

/* Make a job from this NULL-ended command and defaults, without a file, as for `eddis-run -n 4 --
 * python3 train.py`.  The folder is absolute.  Return 0 or a negative errno; job_free frees *ret.
 */
int job_from_command(const char *const *command, const char *folder, struct job **ret,
                     struct eddis_error *err);

/* Override one key by its dotted name ("batch.global") with the text of a command line option.
 * Return 0 or a negative errno, and then the job is unchanged.  Errors name the option `flag`, a
 * static string, instead of file and line.  Lists and maps are YAML: "[a, b]".
 */
int job_set(struct job *job, const char *key, const char *value, const char *flag,
            struct eddis_error *err);

/* Override a key as job_set does, but take the value as one scalar, never as YAML: for "nodes" the
 * value is then the argument of -H, "a:2,c[01-04]".  Return as job_set does.
 */
int job_set_text(struct job *job, const char *key, const char *value, const char *flag,
                 struct eddis_error *err);

/* Check the values against each other (batch.min against batch.max, ...). job_read and job_parse do
 * this for the file; call it again after the last job_set.  Return 0 or -EINVAL: err names the two
 * keys.
 */
int job_check(const struct job *job, struct eddis_error *err);

/* Free the job and all that it owns.  Accept NULL and an incomplete job. */
void job_free(struct job *job);

/* Derive defaults from values that were set: a shorter lease gives faster heartbeats. */
void job_follow(struct job *job);

#endif
