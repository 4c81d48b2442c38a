/* SPDX-License-Identifier: Apache-2.0 */
/* job_file.h - reads a job's file for a program that prints the mistakes in it */
#ifndef EDDIS_CMD_SHARED_JOB_FILE_H
#define EDDIS_CMD_SHARED_JOB_FILE_H

#include "lib/base/error.h"
#include "lib/model/job.h"

/* Read and check a job's file as job_read does. If the file has several mistakes, print all but the
 * last to standard error, prefixed with `program`, and store the last in err. Returns as job_read.
 */
int job_file_read(const char *program, const char *path, struct job **ret, struct eddis_error *err);

/* Return -ENOENT, and write to err that the file `path` does not exist, and what to do. */
int job_file_missing(const char *path, struct eddis_error *err);

#endif
