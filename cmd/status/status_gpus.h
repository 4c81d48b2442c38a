/* SPDX-License-Identifier: Apache-2.0 */
/* status_gpus.h - the table of the workers' GPUs, for eddis-status --gpus */
#ifndef EDDIS_CMD_STATUS_STATUS_GPUS_H
#define EDDIS_CMD_STATUS_STATUS_GPUS_H

#include "agents/job/status_json.h"
#include "lib/base/strbuf.h"

/* Append a row for each GPU of a worker, with titles: what it does, and why its clock is low.
 * columns: width of the window, for which columns are left out; 0: no limit.
 */
void status_gpus_add(struct strbuf *b, const struct job_status *s, int columns);

#endif
