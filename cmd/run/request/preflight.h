/* SPDX-License-Identifier: Apache-2.0 */
/* preflight.h - what a job names on this machine is looked for before anything starts */
#ifndef EDDIS_CMD_RUN_REQUEST_PREFLIGHT_H
#define EDDIS_CMD_RUN_REQUEST_PREFLIGHT_H

#include "lib/model/job.h"
#include "run_env.h"

/* Look for the working folder and the checkpoint to go on from, and whether the folders of logs and
 * checkpoints are there or can be made.  Nothing stays.  -EINVAL: the sentence tells where the
 * value was given, "train.yaml:3:1: ...".
 */
int preflight_check(const struct job *job, struct eddis_error *err);

/* Look for the job's program and its script where ranks run on this machine, of which a plan says
 * nothing; more: variables that are given beside the job's.  On other machines, and behind the
 * job's own lines of setup, the nodes look alone.  -EINVAL as above.
 */
int preflight_program(const struct job *job, const struct run_env *more, struct eddis_error *err);

#endif
