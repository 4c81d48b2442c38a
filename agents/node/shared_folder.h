/* SPDX-License-Identifier: Apache-2.0 */
/* shared_folder.h - checks that all nodes see the same checkpoint folder
 *
 * Each node leaves a file whose name has a part unique to this generation, and the node's number.
 * Then each node searches for the files of all others.  A network file system may show a new file
 * seconds late, so the caller repeats the search.
 *
 * The file holds how many bytes of the folder's path existed before.  So the node that removes its
 * file last also removes the folders that another node has made.
 */
#ifndef EDDIS_AGENTS_NODE_SHARED_FOLDER_H
#define EDDIS_AGENTS_NODE_SHARED_FOLDER_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Make dir and write this node's file in it, to the disk. *ret_kept: bytes of dir's path that
 * existed before.
 */
int shared_folder_leave(const char *dir, const char *name, int agent, size_t *ret_kept,
                        struct eddis_error *err);

/* Check whether that agent's file is visible.  If it is, lower *kept to the bytes that the file
 * holds.
 */
bool shared_folder_is_seen(const char *dir, const char *name, int agent, size_t *kept);

/* Remove this node's file, and the folders of dir's path after its first `kept` bytes if they are
 * empty.
 */
void shared_folder_remove(const char *dir, const char *name, int agent, size_t kept);

#endif
