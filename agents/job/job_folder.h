/* SPDX-License-Identifier: Apache-2.0 */
/* job_folder.h - where a job keeps what it did, and how others find it
 *
 *     $XDG_STATE_HOME/eddis/jobs/            (~/.local/state without it), 0700
 *         digits-20261121-140712-3f9a/       one a job, made exclusively, 0700
 *             driver.json driver.sock        while the driver lives: how to ask it, 0600
 *             job.yaml profile.json plan-<g>-<v>.json events.jsonl metrics.jsonl
 *             logs/rank-0003.log  checkpoints/  summary.json
 *
 * The id is name, date, time (UTC) and four random hexadecimal digits.  There is no "last" link:
 * the newest job is the one with the greatest date and time in its id, and of one second the one
 * whose job.yaml was written last.
 */
#ifndef EDDIS_AGENTS_JOB_JOB_FOLDER_H
#define EDDIS_AGENTS_JOB_JOB_FOLDER_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { JOB_FOLDER_MAX_ID = 127, JOB_FOLDER_MAX_PATH = 1024 };

struct job_folder {
    char id[JOB_FOLDER_MAX_ID + 1];
    char path[JOB_FOLDER_MAX_PATH]; /* absolute */
    bool was_there;                 /* job_folder_make has found it, empty */
};

/* Write the folder that holds all jobs' folders to ret [size]; it need not be there.
 * -ENOENT: neither XDG_STATE_HOME (absolute) nor HOME is set.
 */
int job_folder_root(char *ret, size_t size, struct eddis_error *err);

/* Make the folder of a new job of this name (as text_is_name; other characters become '_').
 * dir: --job-dir, the folder itself, which must be missing or empty, and in which an empty job.yaml
 * keeps others out; NULL: below the root.
 */
int job_folder_make(const char *name, const char *dir, struct job_folder *ret,
                    struct eddis_error *err);

/* Whether its driver may be on the way: it has begun to write within the last minute, and has not
 * come to driver.json.
 */
bool job_folder_is_starting(const struct job_folder *f);

/* Whether it is what a worker's node keeps of a job whose driver is on another machine: logs alone.
 */
bool job_folder_is_of_worker(const struct job_folder *f);

/* Remove the folder of a job that came to nothing; one that was there before is emptied. */
int job_folder_drop(const struct job_folder *f, struct eddis_error *err);

/* Find the job whose id begins with prefix (NULL: the newest).  A prefix with a '/' is the path of
 * a job's folder.  -ENOENT: there is none; -EINVAL: more than one, err names the newest;
 * -EREMOTE: only what a worker's node keeps.
 */
int job_folder_find(const char *prefix, struct job_folder *ret, struct eddis_error *err);

/* List all jobs below the root, oldest first.  Returns their number and an array that the caller
 * frees, NULL when there are none.
 */
int job_folder_list(struct job_folder **ret, struct eddis_error *err);

/* Write the name part of an id, everything before "-YYYYMMDD-HHMMSS-xxxx", to ret_name [size] and
 * the time, seconds since 1970, to *ret_s; either may be NULL.  Returns false when it is no id.
 */
bool job_folder_parse_id(const char *id, char *ret_name, size_t size, int64_t *ret_s);

enum { JOB_DOOR_PATH = 108 };

/* How to reach a running driver. */
struct job_driver {
    char url[256];              /* "http://127.0.0.1:41233" */
    char socket[JOB_DOOR_PATH]; /* the same door as a Unix socket; "": there is none */
    char token[65];             /* of who may read */
    char owner[65];             /* of who may stop the job, too */
    char host[256]; /* of the machine, which a folder that several share does not tell */
    pid_t pid;
    int64_t pid_start; /* as in /proc/PID/stat, so that a reused pid is noticed */
};

#define JOB_DRIVER_FILE  "driver.json"
#define JOB_RESERVE_FILE "reserve" /* room on the disk for the summary, while the job runs */

/* Write it (0600) for this process.  Only url, socket and tokens of *d are taken. */
int job_driver_write(const struct job_folder *f, const struct job_driver *d,
                     struct eddis_error *err);

/* Read driver.json.  Returns 1 when its process is still that process, 0 when it is gone.
 * -ENOENT: the job has ended in good order, or never begun; -EPERM: the file is not ours alone;
 * -EREMOTE: it was on another machine, where alone can be told whether it lives; *ret is written.
 */
int job_driver_read(const struct job_folder *f, struct job_driver *ret, struct eddis_error *err);

#endif
