/* SPDX-License-Identifier: Apache-2.0 */
/* run_cleanup.h - eddis-run --cleanup: one line for each host that a job has been on */
#ifndef EDDIS_CMD_RUN_CLEANUP_H
#define EDDIS_CMD_RUN_CLEANUP_H

#include "lib/base/error.h"

#include <stdbool.h>

/* Returns the number of hosts where something may be left, each of which was said.  quiet: say only
 * those.
 */
int run_cleanup(const char *job, bool quiet, struct eddis_error *err);

#endif
