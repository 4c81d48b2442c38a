/* SPDX-License-Identifier: Apache-2.0 */
/* status_fetch.h - the status of a job, from its driver while it lives, else from its folder */
#ifndef EDDIS_AGENTS_JOB_STATUS_FETCH_H
#define EDDIS_AGENTS_JOB_STATUS_FETCH_H

#include "lib/base/error.h"

#include "job_folder.h"
#include "status_json.h"

/* What a job's folder alone tells: summary.json, or the last whole line of metrics.jsonl.  A job
 * whose end neither tells is "lost".  Freed by job_status_fini.  -EINVAL: the files are damaged.
 */
int status_from_files(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Ask the driver, or read the files when it is gone.  Blocks for some seconds at most.  Returns 1
 * when the driver answered, 0 when the files did, 2 when they did although the driver lives: err
 * says why it has not answered.
 */
int status_fetch(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* Short form for a list: as status_from_files, but a job whose driver lives is what its last
 * metrics say, without asking it.
 */
int status_glance(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* What the folder of a job says whose driver lives and does not answer: the last figures, with the
 * last row of each worker.
 */
int status_last(const struct job_folder *f, struct job_status *ret, struct eddis_error *err);

/* How old a status is, in seconds. */
double status_age_s(const struct job_status *s);

/* Fail with -EAGAIN when the driver's process is stopped, as by Ctrl-Z: nobody need wait for its
 * answer.
 */
int status_driver_stopped(const struct job_driver *d, struct eddis_error *err);

/* Find the newest job that came so far as to start workers, or that lives; when there is none, the
 * newest.  -ENOENT: there are no jobs.
 */
int status_newest(struct job_folder *ret, struct eddis_error *err);

#endif
