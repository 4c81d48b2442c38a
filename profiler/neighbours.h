/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.h - other jobs on this node, which take their part of what is measured
 *
 * Seen are jobs of eddis that measure or train, by their eddis-probe and eddis-rank, and jobs of
 * Slurm that have a step here, by the slurmstepd over it.  Slurm's own job is told by what Slurm
 * has put into the environment, by the slurmstepd above this process, and by the control group of a
 * login that was taken into a job (pam_slurm_adopt).  Everybody can give a process these names:
 * only those of root and of this user are believed.  Where /proc hides others' processes there are
 * none.
 *
 * What has a network of its own is a node of its own: hosts that are containers of one machine.
 */
#ifndef EDDIS_PROFILER_NEIGHBOURS_H
#define EDDIS_PROFILER_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether another job than this one, of eddis, is here; ret says which, of several one of them:
 * "job 12 of Slurm", "job digits-20261127-130341-3872".  Nothing is written when there is none.
 */
bool neighbours_find(const char *job_id, char *ret, size_t size);

#endif
