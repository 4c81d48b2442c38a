/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.h - finds the checkpoints in a folder
 *
 * libeddis writes a checkpoint as "step-00000500.g1.part" and renames it to "step-00000500" when it
 * is complete (lib/checkpoint). So a folder whose name is "step-" and digits, and which has a
 * manifest, is a complete checkpoint. These functions do not compare the checkpoint's files with
 * the manifest.
 */
#ifndef EDDIS_AGENTS_JOB_CHECKPOINTS_H
#define EDDIS_AGENTS_JOB_CHECKPOINTS_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Find the newest complete checkpoint in the folder dir. Return the checkpoint's step, or -1 if
 * there is no checkpoint. If ret is not NULL, write the checkpoint's path to ret [size].
 */
int64_t checkpoints_newest(const char *dir, char *ret, size_t size);

/* Find the newest complete checkpoint whose step is less than `below`. Returns as
 * checkpoints_newest.
 */
int64_t checkpoints_newest_below(const char *dir, int64_t below, char *ret, size_t size);

/* Find the checkpoint from which a job with --resume `path` resumes: the newest checkpoint in the
 * folder `path`; if there is none, `path` itself if it is a checkpoint. Returns as
 * checkpoints_newest.
 */
int64_t checkpoints_resumed(const char *path, char *ret, size_t size);

/* Remove the incomplete checkpoints from the folder of a job that has ended. Checkpoints of
 * generations after `last` stay, since a newer start of the job is writing them. A process that was
 * stopped (SIGSTOP) while it wrote a checkpoint finds the folder removed. Return 0, also if dir
 * does not exist, or a negative errno.
 */
int checkpoints_drop_parts(const char *dir, int64_t last, struct eddis_error *err);

#endif
