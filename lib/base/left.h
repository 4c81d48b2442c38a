/* SPDX-License-Identifier: Apache-2.0 */
/* left.h - removes files that killed processes have left in a folder which living ones use, too */
#ifndef EDDIS_BASE_LEFT_H
#define EDDIS_BASE_LEFT_H

#include <stdbool.h>
#include <sys/stat.h>

/* Age up to which a file is kept: the process that made it may be alive. */
enum { LEFT_S = 3600 };

/* Check whether a process of eddis makes files of this name, without folder. */
typedef bool left_name_fn(const char *name, const void *ctx);

/* Remove regular files of this user in the folder dir whose names fit, and that were last written
 * more than LEFT_S before *own, the state of a file that this process has just written there: the
 * file server's clock sets both times.  own NULL: remove files of any age, since no process of
 * theirs is alive.  Errors are ignored.
 */
void left_remove(const char *dir, const struct stat *own, left_name_fn *fits, const void *ctx);

#endif
