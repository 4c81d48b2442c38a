/* SPDX-License-Identifier: Apache-2.0 */
/* status_far.h - eddis-status for a job whose driver is on another node, through Slurm */
#ifndef EDDIS_CMD_STATUS_STATUS_FAR_H
#define EDDIS_CMD_STATUS_STATUS_FAR_H

#include "agents/job/status_json.h"
#include "cmd/slurm/srun_proxy.h"
#include "lib/base/error.h"
#include "lib/base/strlist.h"

#include <stdbool.h>
#include <stdint.h>

/* Run eddis-status with these arguments there, for most_ns at most, and print its output. plain:
 * remove control characters, for a terminal. Return its exit code.
 */
int status_far_print(const struct srun_proxy *proxy, const struct strlist *words, bool plain,
                     int64_t most_ns, struct eddis_error *err);

/* Fetch the status of the job that is named `word` there. Return 0; or the exit code of
 * eddis-status there, whose error was printed on standard error.
 */
int status_far_fetch(const struct srun_proxy *proxy, const char *word, struct job_status *ret,
                     struct eddis_error *err);

/* Watch the job there, and call show(ctx, s) for each status; show frees s. After show has failed
 * it is not called again, and its error is returned. Otherwise return as srun_proxy_run does.
 */
int status_far_watch(const struct srun_proxy *proxy, const char *word, int64_t interval_ns,
                     int (*show)(void *ctx, struct job_status *s, struct eddis_error *err),
                     void *ctx, struct eddis_error *err);

/* Ask Slurm, for some seconds, whether the job is over, after a step was cut off (-ECONNRESET).
 * Write how it ended to ret [size], "FAILED, exit code 130".
 */
bool status_far_ended(const struct srun_proxy *proxy, char *ret, size_t size);

#endif
