/* SPDX-License-Identifier: Apache-2.0 */
/* shared_folder.h - checks that all nodes see the same checkpoint folder
 *
 * Each node writes a file in the folder, whose name has a part unique to this generation, and the
 * node's number. Then each node searches for the files of all nodes. A network file system may show
 * a new file seconds late, so the caller repeats the search.
 *
 * Other jobs that live may use the same folder: --check uses checkpoint.dir itself, and all jobs of
 * one batch script use one subfolder of it. So may an earlier or later generation of this job.
 *
 * The file contains the number of bytes of the folder's path that existed before. So the node that
 * is the last to remove its file can also remove the folders that another node has made.
 */
#ifndef EDDIS_AGENTS_NODE_SHARED_FOLDER_H
#define EDDIS_AGENTS_NODE_SHARED_FOLDER_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Make dir, and write this node's file in it and to the disk. Remove the files of this user's nodes
 * there that are more than an hour older: those nodes were killed. name: hexadecimal digits. Store
 * in *ret_kept how many bytes of dir's path existed before. Return 0 or a negative errno.
 */
int shared_folder_leave(const char *dir, const char *name, int agent, size_t *ret_kept,
                        struct eddis_error *err);

/* Check whether the file of the node of `agent` is visible. If the file contains a number smaller
 * than *kept, set *kept to this number.
 */
bool shared_folder_is_seen(const char *dir, const char *name, int agent, size_t *kept);

/* Remove this node's file alone, once all nodes have seen it: it would stay if this node were
 * killed later.
 */
void shared_folder_take_back(const char *dir, const char *name, int agent);

/* Remove this node's file, unless it was taken back, and, if they are empty, the folders of dir's
 * path after its first `kept` bytes.
 */
void shared_folder_remove(const char *dir, const char *name, int agent, size_t kept);

#endif
