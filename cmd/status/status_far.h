/* SPDX-License-Identifier: Apache-2.0 */
/* status_far.h - eddis-status, run through Slurm on the node of a job's driver */
#ifndef EDDIS_CMD_STATUS_STATUS_FAR_H
#define EDDIS_CMD_STATUS_STATUS_FAR_H

#include "agents/job/status_json.h"
#include "cmd/slurm/srun_proxy.h"
#include "lib/base/error.h"
#include "lib/base/strlist.h"

#include <stdbool.h>
#include <stdint.h>

/* Run eddis-status with these arguments on the driver's node, for at most most_ns, and print its
 * output. plain: remove control characters, for a terminal. Returns as srun_proxy_run.
 */
int status_far_print(const struct srun_proxy *proxy, const struct strlist *words, bool plain,
                     int64_t most_ns, struct eddis_error *err);

/* Fetch into *ret the status of the job that is named `word` on the driver's node. Return 0; the
 * exit code of eddis-status on that node, if it failed and its error was printed on standard error;
 * or a negative errno.
 */
int status_far_fetch(const struct srun_proxy *proxy, const char *word, struct job_status *ret,
                     struct eddis_error *err);

/* Watch the job that is named `word` on the driver's node, and call show(ctx, s) for each status s,
 * which show frees. If show fails, it is not called again, and its error is returned. Otherwise
 * returns as srun_proxy_run.
 */
int status_far_watch(const struct srun_proxy *proxy, const char *word, int64_t interval_ns,
                     int (*show)(void *ctx, struct job_status *s, struct eddis_error *err),
                     void *ctx, struct eddis_error *err);

/* Ask Slurm, for some seconds, whether the job is over, after Slurm has ended a step (-ECONNRESET).
 * Write to ret [size] how the job ended, "FAILED, exit code 130". Return whether the job is over;
 * true also if Slurm no longer knows it.
 */
bool status_far_ended(const struct srun_proxy *proxy, char *ret, size_t size);

#endif
