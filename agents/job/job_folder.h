/* SPDX-License-Identifier: Apache-2.0 */
/* job_folder.h - the folder in which a job keeps its results, and how to find it
 *
 *     $XDG_STATE_HOME/eddis/jobs/            (~/.local/state without it), 0700
 *         digits-20261121-140712-3f9a/       one per job, created exclusively, 0700
 *             driver.json driver.sock        while the driver runs: how to connect to it, 0600
 *             job.yaml profile.json plan-<g>-<v>.json events.jsonl metrics.jsonl
 *             logs/rank-0003.log  checkpoints/  summary.json
 *
 * The id is name, date, time (UTC) and four random hexadecimal digits.  There is no "last" link.
 * The newest job is the one with the latest date and time in its id; among jobs of the same second,
 * the one whose job.yaml was written last.
 */
#ifndef EDDIS_AGENTS_JOB_JOB_FOLDER_H
#define EDDIS_AGENTS_JOB_JOB_FOLDER_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { JOB_FOLDER_MAX_ID = 127, JOB_FOLDER_MAX_PATH = 1024 };

/* Id and path of a job's folder. */
struct job_folder {
    char id[JOB_FOLDER_MAX_ID + 1];
    char path[JOB_FOLDER_MAX_PATH]; /* absolute */
    bool was_there;                 /* it existed, empty, before job_folder_make */
};

/* Write the path of the folder that contains all jobs' folders to ret [size]; it need not exist.
 * Return 0, -ENOENT if neither XDG_STATE_HOME (absolute) nor HOME is set, or -ENAMETOOLONG.
 */
int job_folder_root(char *ret, size_t size, struct eddis_error *err);

/* Create the folder of a new job of this name; characters that an id cannot have become '_'. dir is
 * the folder itself (--job-dir): it must be missing or empty, and an empty job.yaml in it keeps
 * other jobs out.  If dir is NULL, create it below the root.  Return 0 or a negative errno.
 */
int job_folder_make(const char *name, const char *dir, struct job_folder *ret,
                    struct eddis_error *err);

/* Check whether the job's driver may be starting: job.yaml was written within the last minute, and
 * there is neither driver.json nor summary.json.
 */
bool job_folder_is_starting(const struct job_folder *f);

/* Check whether this is the folder that a worker's node keeps for a job whose driver is on another
 * machine: it contains logs and none of the driver's files.
 */
bool job_folder_is_of_worker(const struct job_folder *f);

/* Remove the folder of a job that did not start.  A folder that existed before is only emptied.
 * Return 0 or a negative errno.
 */
int job_folder_drop(const struct job_folder *f, struct eddis_error *err);

/* Find the job whose id begins with prefix (NULL: the newest job).  A prefix with a '/' is the path
 * of a job's folder.  If several ids match, take the only running job among them.  Return 0;
 * -ENOENT: no job; -EINVAL: several, err names the newest; -EREMOTE: the folder is one of a
 * worker's node.
 */
int job_folder_find(const char *prefix, struct job_folder *ret, struct eddis_error *err);

/* List all jobs below the root, oldest first.  Return their number, and in *ret an array that the
 * caller frees (NULL if there are none), or a negative errno.
 */
int job_folder_list(struct job_folder **ret, struct eddis_error *err);

/* Split an id into its name, the part before "-YYYYMMDD-HHMMSS-xxxx", in ret_name [size], and its
 * time in *ret_s, seconds since 1970.  Either may be NULL. Return false if id is not one.
 */
bool job_folder_parse_id(const char *id, char *ret_name, size_t size, int64_t *ret_s);

enum { JOB_DOOR_PATH = 108 }; /* size of a socket's path, with its 0 */

/* How to reach a running driver. */
struct job_driver {
    char url[256];              /* "http://127.0.0.1:41233" */
    char socket[JOB_DOOR_PATH]; /* path of its Unix socket (driver_socket.h); "": none */
    char token[65];             /* grants reading */
    char owner[65];             /* grants stopping the job, too */
    char host[256];             /* the driver's machine; several machines may share the folder */
    pid_t pid;
    int64_t pid_start; /* start time as in /proc/PID/stat, to detect a reused pid */
};

#define JOB_DRIVER_FILE  "driver.json"
#define JOB_RESERVE_FILE "reserve" /* keeps disk space for the summary while the job runs */

/* Write driver.json (0600) for this process.  Only url, socket and both tokens of *d are used.
 * Return 0 or a negative errno.
 */
int job_driver_write(const struct job_folder *f, const struct job_driver *d,
                     struct eddis_error *err);

/* Read driver.json.  Return 1 if its process still runs, 0 if not. -ENOENT: the job has ended
 * normally or never started; -EPERM: the file is not this user's alone; -EREMOTE: the driver is on
 * another machine, so only there can one see if it runs; *ret is set in that case, too.
 */
int job_driver_read(const struct job_folder *f, struct job_driver *ret, struct eddis_error *err);

#endif
