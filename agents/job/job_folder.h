/* SPDX-License-Identifier: Apache-2.0 */
/* job_folder.h - the folder in which a job keeps its results, and how to find it
 *
 *     $XDG_STATE_HOME/eddis/jobs/            (~/.local/state without it), 0700
 *         digits-20261121-140712-3f9a/       one for each job, created exclusively, 0700
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
    char path[JOB_FOLDER_MAX_PATH]; /* absolute path of the folder */
    bool was_there;                 /* the folder existed, empty, before job_folder_make */
};

/* Write the path of the root, the folder that contains all jobs' folders, to ret [size]; it need
 * not exist. Return 0; -ENOENT if neither XDG_STATE_HOME (as an absolute path) nor HOME is set; or
 * -ENAMETOOLONG.
 */
int job_folder_root(char *ret, size_t size, struct eddis_error *err);

/* Create the folder of a new job, and fill *ret. The id contains `name`, in which characters that
 * an id cannot have become '_'. dir: path of the folder (--job-dir), which must be missing or
 * empty; an empty job.yaml is created in it, so that no other job takes it. If dir is NULL, create
 * the folder below the root. Return 0 or a negative errno.
 */
int job_folder_make(const char *name, const char *dir, struct job_folder *ret,
                    struct eddis_error *err);

/* Check whether the job's driver may be starting: job.yaml was written within the last minute, and
 * neither driver.json nor summary.json exists.
 */
bool job_folder_is_starting(const struct job_folder *f);

/* Check whether f is the folder that a node with workers keeps for a job whose driver is on another
 * machine: it contains logs but none of the driver's files.
 */
bool job_folder_is_of_worker(const struct job_folder *f);

/* Remove the folder of a job that did not start. If the folder existed before the job, only empty
 * it. Return 0 or a negative errno.
 */
int job_folder_drop(const struct job_folder *f, struct eddis_error *err);

/* Find the job whose id begins with prefix (NULL: the newest job), and fill *ret. A prefix with a
 * '/' is the path of a job's folder. If several ids match and exactly one of these jobs runs, the
 * running job is found. Return 0; -ENOENT: no job matches; -EINVAL: several jobs match, err names
 * the newest; -EREMOTE: it is the folder that a node keeps for a job whose driver is on another
 * machine.
 */
int job_folder_find(const char *prefix, struct job_folder *ret, struct eddis_error *err);

/* List all jobs below the root, oldest first.  Return their number, and in *ret an array that the
 * caller frees (NULL if there are none), or a negative errno.
 */
int job_folder_list(struct job_folder **ret, struct eddis_error *err);

/* Split a job's id: copy the name, the part before "-YYYYMMDD-HHMMSS-xxxx", to ret_name [size], and
 * store the time in *ret_s, in seconds since 1970. ret_name and ret_s may be NULL. Return false if
 * the text is not an id.
 */
bool job_folder_parse_id(const char *id, char *ret_name, size_t size, int64_t *ret_s);

enum { JOB_DOOR_PATH = 108 }; /* size of a socket's path, with its 0 */

/* How to reach a running driver. */
struct job_driver {
    char url[256];              /* address of the driver's TCP port, "http://127.0.0.1:41233" */
    char socket[JOB_DOOR_PATH]; /* path of the driver's Unix socket (driver_socket.h); "": none */
    char token[65];             /* token that permits reading */
    char owner[65];             /* token that permits reading and stopping the job */
    char host[256]; /* name of the driver's machine; several machines may share the folder */
    pid_t pid;
    int64_t pid_start; /* start time of the process as in /proc/PID/stat, to detect a reused pid */
};

#define JOB_DRIVER_FILE "driver.json"
/* file that reserves disk space for the summary while the job runs */
#define JOB_RESERVE_FILE "reserve"

/* Write driver.json (mode 0600) with url, socket and both tokens of *d, and with the pid and host
 * of the calling process. Return 0 or a negative errno.
 */
int job_driver_write(const struct job_folder *f, const struct job_driver *d,
                     struct eddis_error *err);

/* Read driver.json into *ret. Return 1 if the driver's process still runs, 0 if it does not run.
 * -ENOENT: the job has ended normally or never started. -EPERM: the file does not belong to this
 * user alone. -EREMOTE: the driver is on another machine, and only there one can see whether it
 * runs; *ret is set in that case, too. The caller wipes the tokens in *ret, whatever is returned.
 */
int job_driver_read(const struct job_folder *f, struct job_driver *ret, struct eddis_error *err);

/* Check whether the driver of driver.json runs.  Return as job_driver_read does, which leaves
 * tokens with the caller; this function leaves none.
 */
int job_driver_check(const struct job_folder *f, struct eddis_error *err);

#endif
