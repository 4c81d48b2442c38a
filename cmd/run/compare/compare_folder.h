/* SPDX-License-Identifier: Apache-2.0 */
/* compare_folder.h - the folder of a comparison, beside the folders of jobs
 *
 *     $XDG_STATE_HOME/eddis/jobs/digits-compare-1a2b3c4d/
 *         compare.json     the runs and the result, replaced after each run
 *         sync-1/          the folder of a run's job: mode and round
 *         sync-1.log       what its eddis-run wrote to standard error
 *
 * The digits are a checksum of what is compared, so that the same command finds the same folder and
 * no comparison overwrites another one. The folder is locked while eddis-run compares in it.
 */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_FOLDER_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_FOLDER_H

#include "cmd/run/compare/compare_json.h"
#include "cmd/run/request/run_job.h"

/* The open folder of a comparison. */
struct compare_folder {
    char path[4096]; /* absolute */
    int lock;        /* descriptor that holds the lock */
    bool anew; /* it is new, although comparisons of jobs of this name exist: something differs */
};

/* Make or find the folder of the comparison that the user asks for, lock it, and read or begin the
 * comparison in a new *ret, for the caller to free: its runs are in the order in which to train
 * them. Return 0 or a negative errno; -EBUSY: another eddis-run compares in it; -EEXIST: the folder
 * of --job-dir contains something else.
 */
int compare_folder_open(const struct run_request *q, struct compare_folder *f, struct compare **ret,
                        struct eddis_error *err);

/* Write compare.json. Return 0 or a negative errno. */
int compare_folder_write(const struct compare_folder *f, const struct compare *c,
                         struct eddis_error *err);

/* Unlock the folder. */
void compare_folder_close(struct compare_folder *f);

/* Remove what a run that was not finished has left, after waiting for the end of its job. Return 0
 * or a negative errno; -EBUSY: the job still runs.
 */
int compare_folder_clear(const char *dir, struct eddis_error *err);

#endif
