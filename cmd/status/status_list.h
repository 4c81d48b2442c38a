/* SPDX-License-Identifier: Apache-2.0 */
/* status_list.h - eddis-status --list: the jobs of this user, oldest first */
#ifndef EDDIS_CMD_STATUS_STATUS_LIST_H
#define EDDIS_CMD_STATUS_STATUS_LIST_H

#include "lib/base/error.h"

#include <stdbool.h>

/* Print the jobs to standard output as a table JOBID NAME STATE TIME NODES, or as one JSON
 * document. Return 0 or a negative errno.
 */
int status_list(bool json, struct eddis_error *err);

#endif
