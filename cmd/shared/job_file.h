/* SPDX-License-Identifier: Apache-2.0 */
/* job_file.h - a job's file, for a program that tells its user what is wrong in it */
#ifndef EDDIS_CMD_SHARED_JOB_FILE_H
#define EDDIS_CMD_SHARED_JOB_FILE_H

#include "lib/base/error.h"
#include "lib/model/job.h"

/* As job_read; of several mistakes all but the last are printed on standard error, as `program`
 * says things, and the last one is err.
 */
int job_file_read(const char *program, const char *path, struct job **ret, struct eddis_error *err);

/* -ENOENT, there is no such file, with what to do about it. */
int job_file_missing(const char *path, struct eddis_error *err);

#endif
