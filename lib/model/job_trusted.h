/* SPDX-License-Identifier: Apache-2.0 */
/* job_trusted.h - reads a job.yaml that says what to run */
#ifndef EDDIS_MODEL_JOB_TRUSTED_H
#define EDDIS_MODEL_JOB_TRUSTED_H

#include "job.h"

/* As job_read; -EPERM: others can have written the file, or can replace it.  As file_read_trusted
 * (lib/base/file.h), also the warning.
 */
int job_read_trusted(const char *path, struct eddis_error *warning, struct job **ret,
                     struct eddis_error *err);

#endif
