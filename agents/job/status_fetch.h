/* SPDX-License-Identifier: Apache-2.0 */
/* status_fetch.h - gets a job's status from its driver while the driver runs, otherwise from its
 * folder
 */
#ifndef EDDIS_AGENTS_JOB_STATUS_FETCH_H
#define EDDIS_AGENTS_JOB_STATUS_FETCH_H

#include "lib/base/error.h"

#include "job_folder.h"
#include "status_json.h"

/* Read a job's status from its folder into *ret: from summary.json, or from the last complete line
 * of metrics.jsonl. If these files do not say that the job has ended, its state is "lost". Return
 * 0; the caller then frees *ret with job_status_fini. -EINVAL: the files are damaged; other
 * negative errno values: they, or the folder, cannot be read.
 */
int status_from_files(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Ask the driver for the job's status, or read the status from files if the driver has ended, into
 * *ret, which the caller frees with job_status_fini. The call blocks for at most some seconds.
 * Return 1 if the driver answered; 0 if the status is from files; 2 if it is from files although
 * the driver runs, and err says why the driver did not answer; or a negative errno: there is no
 * status.
 */
int status_fetch(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Read a job's status from its folder without asking the driver, for a list of jobs: as
 * status_from_files, but a job whose driver runs is not "lost". Returns as status_from_files.
 */
int status_glance(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Read the last status from the folder of a job whose driver runs but does not answer. The status
 * includes the latest known row of each worker. Returns as status_from_files.
 */
int status_last(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Return the age of a status in seconds, 0 if the age is unknown. */
double status_age_s(const struct job_status *s);

/* Return -EAGAIN, with err, if the driver's process is stopped, as by Ctrl-Z, so that no caller
 * waits for its answer; otherwise 0.
 */
int status_driver_stopped(const struct job_driver *d, struct eddis_error *err);

/* Find the newest job that has started workers or whose driver runs, and fill *ret; if no job is of
 * this kind, find the newest job. Return 0; -ENOENT: there are no jobs; or another negative errno.
 */
int status_newest(struct job_folder *ret, struct eddis_error *err);

#endif
