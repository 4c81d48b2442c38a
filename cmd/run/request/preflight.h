/* SPDX-License-Identifier: Apache-2.0 */
/* preflight.h - checks files, folders and programs that a job names, on this machine, before the
 * job starts
 */
#ifndef EDDIS_CMD_RUN_REQUEST_PREFLIGHT_H
#define EDDIS_CMD_RUN_REQUEST_PREFLIGHT_H

#include "lib/job/host_program.h"
#include "lib/model/job.h"

/* Check that the folder of logs is writable and ssh's private keys are readable. If the job names
 * no hosts, also check its working folder, the checkpoint to resume from and the folder of
 * checkpoints. No files remain. Warn on standard error if other users can write checkpoints. Return
 * 0 or -EINVAL; err begins with the position of the wrong value, "train.yaml:3:1: ...".
 */
int preflight_check(const struct job *job, struct eddis_error *err);

/* Check that the job's program, if it names one, does not start workers itself, as torchrun does: N
 * workers of eddis would each start a training of their own. Return 0 or -EINVAL, as
 * preflight_check; err says what to write instead. With one worker on each node return 0, and warn
 * on standard error unless quiet.
 */
int preflight_launcher(const struct job *job, bool quiet, struct eddis_error *err);

/* If ranks run on this machine, check that the job's program and its script exist (other machines
 * are checked by their agents). If there are setup lines, check the program only if it is given as
 * a path. Return 0 or a negative error, as preflight_check.
 */
int preflight_program(const struct job *job, const struct job_caller *caller,
                      struct eddis_error *err);

/* Warn on standard error if a node's own Python has no effect, because the command does not begin
 * with the name of a Python.
 */
void preflight_python(const struct job *job);

#endif
