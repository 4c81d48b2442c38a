/* SPDX-License-Identifier: Apache-2.0 */
/* run_far.h - eddis-run --stop and --cleanup of jobs that are Slurm's, wherever their driver is */
#ifndef EDDIS_CMD_RUN_FAR_H
#define EDDIS_CMD_RUN_FAR_H

#include "cmd/slurm/job_place.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* The place of the job that the word of an option names. */
int run_far_find(const char *option, const char *word, struct job_place *ret,
                 struct eddis_error *err);

/* Run eddis-run with this option where the driver is.  Blocks.  Returns its exit code. */
int run_far(const struct job_place *p, const char *option, bool json, bool quiet,
            struct eddis_error *err);

/* After -ECONNRESET of --stop, for the job's end ends that, too: wait for Slurm's word that it is
 * over, and say so.  Blocks, for a minute at most.  Returns 1; 0 when its folder here says more.
 */
int run_far_stopped(const struct job_place *p, bool json, bool quiet, struct eddis_error *err);

/* Take a job that waits out of Slurm's queue, and say so.  Blocks.  Returns 1; 0: it waits no more.
 */
int run_far_withdraw(const struct job_place *p, bool json, bool quiet, struct eddis_error *err);

#endif
