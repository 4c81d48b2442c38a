/* SPDX-License-Identifier: Apache-2.0 */
/* run_end.h - eddis-run --stop and --cleanup, wherever the job's driver is
 *
 * A driver on this machine is asked directly, and one on a node of Slurm's by the same program
 * there. A job that is still pending is cancelled by Slurm.
 */
#ifndef EDDIS_CMD_RUN_END_RUN_END_H
#define EDDIS_CMD_RUN_END_RUN_END_H

#include <stdbool.h>

/* End the job that `word` names, wait for its end and print how it ended. Return the exit code: 0;
 * 1 if the driver could not be reached; 2 if there is no such job.
 */
int run_end_stop(const char *word, bool json, bool quiet);

/* Clean up what the job has left. Return the exit code: 0; 1 if something may be left on a host; 2
 * if the job runs or there is none.
 */
int run_end_cleanup(const char *word, bool quiet);

#endif
