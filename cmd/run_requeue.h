/* SPDX-License-Identifier: Apache-2.0 */
/* run_requeue.h - puts a batch job that was stopped, and has saved, back into Slurm's queue */
#ifndef EDDIS_CMD_RUN_REQUEUE_H
#define EDDIS_CMD_RUN_REQUEUE_H

#include "lib/model/slurm_batch.h"

#include <stdbool.h>

/* Have Slurm start the job's script again, unless Slurm has ended the job itself; what came of it
 * is said on standard error.  by_term: what it was stopped by is SIGTERM, by which a time limit and
 * a preemption end a job, and whoever follows it or tells its script to end: for them it is not put
 * back.  Slurm ends this process meanwhile: nothing is left to do behind it.  Ignores SIGINT,
 * SIGTERM and SIGHUP from then on.
 */
void run_requeue(const struct slurm_batch *b, bool by_term, bool quiet);

#endif
