/* SPDX-License-Identifier: Apache-2.0 */
/* job_trusted.h - read a job.yaml that decides which program is run */
#ifndef EDDIS_MODEL_JOB_TRUSTED_H
#define EDDIS_MODEL_JOB_TRUSTED_H

#include "job.h"

/* Read a job as job_read does, if file_read_trusted (lib/base/file.h) accepts the file; *warning is
 * as there.  -EPERM: others may have written the file or can replace it.
 */
int job_read_trusted(const char *path, struct eddis_error *warning, struct job **ret,
                     struct eddis_error *err);

#endif
