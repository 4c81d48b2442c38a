/* SPDX-License-Identifier: Apache-2.0 */
/* run_end.h - eddis-run --stop and --cleanup, wherever the job's driver is
 *
 * A driver on this machine is asked directly, and a driver on a node of Slurm by running eddis-run
 * on that node. A job that is still pending in Slurm is cancelled with scancel.
 */
#ifndef EDDIS_CMD_RUN_END_RUN_END_H
#define EDDIS_CMD_RUN_END_RUN_END_H

#include <stdbool.h>

/* End the job that `word` names, wait for its end, and print how it ended. Return the exit code: 0
 * on success; 1 if the driver could not be reached; 2 if there is no such job.
 */
int run_end_stop(const char *word, bool json, bool quiet);

/* End and remove what remains of the job that `word` names. Return the exit code: 0 on success; 1
 * if something may remain on a host; 2 if the job runs or there is no such job.
 */
int run_end_cleanup(const char *word, bool quiet);

#endif
