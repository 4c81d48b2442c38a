/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.h - other jobs on this node, which would disturb measurements
 *
 * Detected are eddis jobs that measure or train, by the process names eddis-probe and eddis-rank,
 * and Slurm jobs with a step here, by its slurmstepd.  The own Slurm job is recognised by Slurm's
 * environment variables and by the slurmstepd above this process.  A login that was adopted into a
 * job (pam_slurm_adopt) is recognised by its control group.  Anyone can use these process names, so
 * only processes of root and this user count.  If /proc hides other users' processes, none are
 * found.
 *
 * A process in another network namespace is on another node: several containers of one machine may
 * be nodes.
 */
#ifndef EDDIS_PROFILER_NEIGHBOURS_H
#define EDDIS_PROFILER_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>

/* Check whether a job other than job_id runs here.  If so, write the name of one to ret: "job 12 of
 * Slurm", "job digits-20261127-130341-3872".  Otherwise ret is unchanged.
 */
bool neighbours_find(const char *job_id, char *ret, size_t size);

#endif
