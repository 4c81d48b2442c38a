/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.h - other jobs on this node, which would disturb measurements
 *
 * Detected are eddis jobs that measure or train, by the process names eddis-probe and eddis-rank,
 * and Slurm jobs with a step on this node, by the process slurmstepd of the step. The Slurm job of
 * this process is recognised by Slurm's environment variables and by the slurmstepd that is an
 * ancestor of this process; in a login that was adopted into a job (pam_slurm_adopt), by the
 * control group. Any user can use these process names, so only processes of root and of this user
 * count. If /proc hides other users' processes, they are not found.
 *
 * A process in another network namespace is on another node: several containers of one machine may
 * be nodes.
 */
#ifndef EDDIS_PROFILER_NEIGHBOURS_H
#define EDDIS_PROFILER_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>

/* Check whether a job other than job_id runs on this node. If so, write the name of such a job to
 * ret [size]: "job 12 of Slurm", "job digits-20261127-130341-3872". Otherwise leave ret unchanged.
 */
bool neighbours_find(const char *job_id, char *ret, size_t size);

#endif
