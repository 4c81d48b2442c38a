/* SPDX-License-Identifier: Apache-2.0 */
/* shared_folder.h - whether all nodes see the same checkpoint folder
 *
 * Each node leaves a file of a name that only this generation has, and its own number; then each
 * looks for those of all the others.  A network's file system may show a new file seconds late, so
 * looking is repeated by the caller.
 *
 * The file tells how many bytes of the folder's path were there before, so that whoever removes his
 * file last also removes what another has made.
 */
#ifndef EDDIS_AGENTS_NODE_SHARED_FOLDER_H
#define EDDIS_AGENTS_NODE_SHARED_FOLDER_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Make dir and leave this node's file in it, on the disk.  *ret_kept: bytes of dir's path that were
 * there before.
 */
int shared_folder_leave(const char *dir, const char *name, int agent, size_t *ret_kept,
                        struct eddis_error *err);

/* Whether the file of that agent is there.  If it is, and it tells of fewer bytes that were there
 * before, *kept becomes their number.
 */
bool shared_folder_is_seen(const char *dir, const char *name, int agent, size_t *kept);

/* Remove this node's file, and the folders of dir's path behind its first `kept` bytes when nothing
 * else is in them.
 */
void shared_folder_remove(const char *dir, const char *name, int agent, size_t kept);

#endif
