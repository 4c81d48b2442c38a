/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.h - which checkpoints a folder holds
 *
 * libeddis writes "step-00000500.part" and renames it when it is whole, so a folder "step-<n>"
 * with a manifest is one.
 */
#ifndef EDDIS_AGENTS_JOB_CHECKPOINTS_H
#define EDDIS_AGENTS_JOB_CHECKPOINTS_H

#include <stddef.h>
#include <stdint.h>

/* Find the newest complete checkpoint in the folder dir.  Returns its step, -1 when there is none;
 * writes its path to ret [size] when ret is not NULL and the path fits.
 */
int64_t checkpoints_newest(const char *dir, char *ret, size_t size);

#endif
