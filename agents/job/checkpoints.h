/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.h - finds the checkpoints in a folder
 *
 * libeddis writes a checkpoint as "step-00000500.g1.part" and renames it to "step-00000500" when it
 * is complete (lib/checkpoint).  So a folder whose name is "step-" and digits, and which has a
 * manifest, is a complete one.  Its files are not compared with the manifest here.
 */
#ifndef EDDIS_AGENTS_JOB_CHECKPOINTS_H
#define EDDIS_AGENTS_JOB_CHECKPOINTS_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Find the newest complete checkpoint in the folder dir.  Return its step; -1 if there is none.  If
 * ret is not NULL, write the checkpoint's path to ret [size].
 */
int64_t checkpoints_newest(const char *dir, char *ret, size_t size);

/* Find the newest complete checkpoint of a step less than `below`. Otherwise as checkpoints_newest.
 */
int64_t checkpoints_newest_below(const char *dir, int64_t below, char *ret, size_t size);

/* Find the checkpoint from which a job resumes that is given `path`: the newest in that folder, or
 * the folder itself if it is a checkpoint.  Otherwise as checkpoints_newest.
 */
int64_t checkpoints_resumed(const char *path, char *ret, size_t size);

/* Remove the incomplete checkpoints from the folder of a job that has ended.  Those of generations
 * after `last` stay, since a newer start of the job is writing them.  A process that was stopped
 * while writing finds its folder gone.  Return 0, also if dir does not exist, or a negative errno.
 */
int checkpoints_drop_parts(const char *dir, int64_t last, struct eddis_error *err);

#endif
