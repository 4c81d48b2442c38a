/* SPDX-License-Identifier: Apache-2.0 */
/* status_far.h - eddis-status of a job whose driver is on another node, over Slurm */
#ifndef EDDIS_CMD_STATUS_STATUS_FAR_H
#define EDDIS_CMD_STATUS_STATUS_FAR_H

#include "agents/job/status_json.h"
#include "cmd/slurm/srun_proxy.h"
#include "lib/base/error.h"
#include "lib/base/strlist.h"

#include <stdbool.h>
#include <stdint.h>

/* Run these words of eddis-status there and print what they print.  plain: for a terminal, without
 * control characters.  Returns the exit code.
 */
int status_far_print(const struct slurm_door *door, const struct strlist *words, bool plain,
                     int64_t most_ns, struct eddis_error *err);

/* Ask for the status of the job that word names there.  Returns 0, or the exit code, when standard
 * error has been told why.
 */
int status_far_fetch(const struct slurm_door *door, const char *word, struct job_status *ret,
                     struct eddis_error *err);

/* Watch it there, and give each look to show(ctx, s), which takes it.  After a look that it fails
 * to show there is none any more.  Returns as slurm_door_run.
 */
int status_far_watch(const struct slurm_door *door, const char *word, int64_t interval_ns,
                     int (*show)(void *ctx, struct job_status *s, struct eddis_error *err),
                     void *ctx, struct eddis_error *err);

/* After -ECONNRESET: whether Slurm says, within seconds, that the job is over; and how, "FAILED,
 * exit code 130".
 */
bool status_far_ended(const struct slurm_door *door, char *ret, size_t size);

#endif
