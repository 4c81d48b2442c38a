/* SPDX-License-Identifier: Apache-2.0 */
/* run_requeue.h - requeues a batch job in Slurm that was stopped and has saved */
#ifndef EDDIS_CMD_RUN_RUN_REQUEUE_H
#define EDDIS_CMD_RUN_RUN_REQUEUE_H

#include "agents/job/status_json.h"
#include "lib/slurm/slurm_batch.h"

#include <stdbool.h>

/* Result of run_requeue_due: the job has not saved, so it cannot be requeued; it was stopped and
 * has saved; or the same by SIGTERM, which Slurm sends at a time limit or preemption, but also a
 * user who wants the job to end.
 */
enum run_requeue { RUN_REQUEUE_NOT, RUN_REQUEUE_DUE, RUN_REQUEUE_BY_TERM };

/* Find out from the job's summary and exit code whether it can be requeued. */
enum run_requeue run_requeue_due(const struct job_status *s, int code);

/* Have Slurm requeue the job, and print the result on standard error. Do not if Slurm has ended the
 * job itself, or lets it run after a SIGTERM; or if this start has saved nothing new: its time is
 * too short, and it would be requeued forever. A preempted job is requeued in any case. Call it
 * last, since Slurm may end this process. Ignore SIGINT, SIGTERM and SIGHUP from then on.
 */
void run_requeue(const struct slurm_batch *b, enum run_requeue due, bool advanced, bool quiet);

#endif
