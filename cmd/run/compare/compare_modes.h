/* SPDX-License-Identifier: Apache-2.0 */
/* compare_modes.h - which modes a job can be trained in, and with which options for each */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_MODES_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_MODES_H

#include "lib/base/error.h"
#include "lib/base/strlist.h"
#include "lib/model/algorithm.h"
#include "lib/model/job.h"

/* Set the job's mode, reset its options below `sync` that the mode does not have, and append the
 * same as options of eddis-run, "--set=sync.mode=hybrid", to args. Return 0; -EINVAL: the job
 * cannot be trained in this mode, for the reason in err. job is changed in any case.
 */
int compare_mode_set(struct job *job, enum sync_mode mode, struct strlist *args,
                     struct eddis_error *err);

#endif
