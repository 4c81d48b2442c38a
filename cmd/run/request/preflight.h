/* SPDX-License-Identifier: Apache-2.0 */
/* preflight.h - checks what a job names on this machine before anything starts */
#ifndef EDDIS_CMD_RUN_REQUEST_PREFLIGHT_H
#define EDDIS_CMD_RUN_REQUEST_PREFLIGHT_H

#include "lib/base/strlist.h"
#include "lib/model/job.h"

/* Check that the folder of logs can be written and ssh's private keys be read; and, if the job
 * names no hosts, its working folder, the checkpoint to resume from and the folder of checkpoints.
 * No files stay behind. Warn on standard error if other users can write checkpoints. -EINVAL: the
 * error names where the value was given, "train.yaml:3:1: ...".
 */
int preflight_check(const struct job *job, struct eddis_error *err);

/* Check that the job's program and its script exist, if ranks run on this machine. more: variables
 * given beside the job's. Other machines check for themselves; if the job has lines of setup, only
 * a path is checked. -EINVAL as above.
 */
int preflight_program(const struct job *job, const struct strlist *more, struct eddis_error *err);

#endif
