/* SPDX-License-Identifier: Apache-2.0 */
/* run_requeue.h - requeues a batch job in Slurm after it was stopped and has saved a checkpoint */
#ifndef EDDIS_CMD_RUN_RUN_REQUEUE_H
#define EDDIS_CMD_RUN_RUN_REQUEUE_H

#include "agents/job/status_json.h"
#include "lib/slurm/slurm_batch.h"

#include <stdbool.h>

/* Result of run_requeue_due. NOT: the job has not saved because of a signal, so it is not requeued.
 * DUE: a signal has stopped the job, and the job has saved. BY_TERM: the same by SIGTERM, which is
 * sent by Slurm at a time limit or preemption, but also by users who want the job to end.
 */
enum run_requeue { RUN_REQUEUE_NOT, RUN_REQUEUE_DUE, RUN_REQUEUE_BY_TERM };

/* Return, from the job's final status and exit code, whether the job can be requeued. */
enum run_requeue run_requeue_due(const struct job_status *s, int code);

/* Let Slurm requeue the job, and print the result on standard error. The job is not requeued if
 * Slurm has ended the job itself, or lets it run after a SIGTERM. Nor is it requeued if this start
 * has saved no new checkpoint (advanced is false), unless it was preempted: its time is too short,
 * and it would be requeued forever. SIGINT, SIGTERM and SIGHUP are ignored from this call on. To be
 * called last, since Slurm may end this process.
 */
void run_requeue(const struct slurm_batch *b, enum run_requeue due, bool advanced, bool quiet);

#endif
