/* SPDX-License-Identifier: Apache-2.0 */
/* status_fetch.h - gets a job's status from its driver while that lives, else from its folder */
#ifndef EDDIS_AGENTS_JOB_STATUS_FETCH_H
#define EDDIS_AGENTS_JOB_STATUS_FETCH_H

#include "lib/base/error.h"

#include "job_folder.h"
#include "status_json.h"

/* Read a job's status from its folder: summary.json, or the last complete line of metrics.jsonl. A
 * job that has not ended by these is "lost". The caller frees it with job_status_fini. -EINVAL: the
 * files are damaged.
 */
int status_from_files(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Ask the driver for the job's status, or read the files if it is gone. Block for some seconds at
 * most. Return 1 if the driver answered; 0 if the status is from files; 2 if it is from files
 * although the driver lives, and err says why it did not answer.
 */
int status_fetch(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Read a job's status without asking the driver, for a list: as status_from_files, but a job whose
 * driver lives is not lost.
 */
int status_glance(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Read the last status in the folder of a job whose driver lives but does not answer, with the last
 * row of each worker.
 */
int status_last(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Return the age of a status in seconds, 0 if unknown. */
double status_age_s(const struct job_status *s);

/* Fail with -EAGAIN if the driver's process is stopped, as by Ctrl-Z, so that no caller waits for
 * its answer.
 */
int status_driver_stopped(const struct job_driver *d, struct eddis_error *err);

/* Find the newest job that has started workers, or whose driver lives; if there is none, the newest
 * job. -ENOENT: there are no jobs.
 */
int status_newest(struct job_folder *ret, struct eddis_error *err);

#endif
