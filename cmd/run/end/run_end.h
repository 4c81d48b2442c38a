/* SPDX-License-Identifier: Apache-2.0 */
/* run_end.h - eddis-run --stop and --cleanup, wherever the job's driver is
 *
 * A driver of this machine is asked from here, and one on a node of Slurm's by the same program
 * there; a job that only waits is Slurm's to cancel.
 */
#ifndef EDDIS_CMD_RUN_END_RUN_END_H
#define EDDIS_CMD_RUN_END_RUN_END_H

#include <stdbool.h>

/* End the job that this word names, wait for its end and print how it went.  Returns the exit code:
 * 0, 1 when nobody could be told to, 2 when there is no such job.
 */
int run_end_stop(const char *word, bool json, bool quiet);

/* End what it has left.  Returns the exit code: 1 when a host may have something left, 2 when the
 * job runs or there is none.
 */
int run_end_cleanup(const char *word, bool quiet);

#endif
