/* SPDX-License-Identifier: Apache-2.0 */
/* run_requeue.h - puts a batch job that was stopped, and has saved, back into Slurm's queue */
#ifndef EDDIS_CMD_RUN_RUN_REQUEUE_H
#define EDDIS_CMD_RUN_RUN_REQUEUE_H

#include "agents/job/status_json.h"
#include "lib/model/slurm_batch.h"

#include <stdbool.h>

/* Whether a job was stopped and has saved, so that it can go on when Slurm starts it again; by what
 * counts: SIGTERM comes with a time limit and a preemption, and from whoever wants the job's end.
 */
enum run_requeue { RUN_REQUEUE_NOT, RUN_REQUEUE_DUE, RUN_REQUEUE_BY_TERM };

enum run_requeue run_requeue_due(const struct job_status *s, int code);

/* Have Slurm start the job's script again, unless Slurm has ended the job itself, or lets it run
 * and SIGTERM has stopped it; nor where this start has not advanced beyond what it went on from,
 * for its time is too short and it would come back for ever, unless Slurm has preempted it, which
 * says nothing about its time.  What came of it is said on standard error.  Slurm ends this process
 * meanwhile: nothing is left to do behind it.  Ignores SIGINT, SIGTERM and SIGHUP from then on.
 */
void run_requeue(const struct slurm_batch *b, enum run_requeue due, bool advanced, bool quiet);

#endif
