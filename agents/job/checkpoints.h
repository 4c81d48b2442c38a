/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.h - which checkpoints a folder holds
 *
 * libeddis writes "step-00000500.g1.part" and renames it when it is whole, so a folder "step-<n>"
 * with a manifest is one; see lib/checkpoint.
 */
#ifndef EDDIS_AGENTS_JOB_CHECKPOINTS_H
#define EDDIS_AGENTS_JOB_CHECKPOINTS_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Find the newest complete checkpoint in the folder dir.  Returns its step, -1 when there is none;
 * writes its path to ret [size] when ret is not NULL and the path fits.
 */
int64_t checkpoints_newest(const char *dir, char *ret, size_t size);

/* The same of those before step `below`. */
int64_t checkpoints_newest_below(const char *dir, int64_t below, char *ret, size_t size);

/* As checkpoints_newest of what a job is to resume: a folder of checkpoints, or one itself. */
int64_t checkpoints_resumed(const char *path, char *ret, size_t size);

/* Remove from a job's own folder what is no whole checkpoint and will be none, for the job is over.
 * Whoever was frozen while he wrote one finds it gone.  last: what later generations write stays, a
 * newer start of the job has the folder then.  Returns 0 also when dir is not there.
 */
int checkpoints_drop_parts(const char *dir, int64_t last, struct eddis_error *err);

#endif
