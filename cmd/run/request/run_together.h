/* SPDX-License-Identifier: Apache-2.0 */
/* run_together.h - checks which options of a run exclude each other */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_TOGETHER_H
#define EDDIS_CMD_RUN_REQUEST_RUN_TOGETHER_H

#include "lib/base/error.h"
#include "run_job.h"

/* Check options of a run that exclude each other, or --failed without --prune. resume, plan:
 * arguments of --resume and --plan; NULL: not given. Return 0 or -EINVAL.
 */
int run_together_check(const struct run_request *r, const char *resume, const char *plan,
                       struct eddis_error *err);

#endif
