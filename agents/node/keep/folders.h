/* SPDX-License-Identifier: Apache-2.0 */
/* folders.h - the two private folders of a job on a node
 *
 * `run` (in XDG_RUNTIME_DIR or /tmp) holds Open MPI's session files, the socket of the ranks'
 * wrappers and their instructions; `shm` (in /dev/shm) the board and Open MPI's shared memory.
 * Both are 0700, made exclusively under names that cannot be guessed, and each generation has a
 * folder of its own in them, "g1".  Cleaning up is removing them.
 *
 * Keeper and agent may be killed in the same moment (by hand, for want of memory).  The agent
 * holds a lock on its folders, so the next agent of the same user can tell which ones nobody
 * cares for any more and removes them.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_FOLDERS_H
#define EDDIS_AGENTS_NODE_KEEP_FOLDERS_H

#include "tick.h"

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdint.h>

struct folders {
    char run[NODE_IDENTITY_PATH], shm[NODE_IDENTITY_PATH];
    int lock[2]; /* descriptors of both, locked; closed with the process */
};

/* Make both where node_identity_places puts them, after removing what dead agents of this user left
 * in the same places.
 */
int folders_make(struct tick_page *page, const struct node_identity *id, const char *runtime_dir,
                 struct folders *ret, struct eddis_error *err);

/* Make the folders of a generation, both new. */
int folders_begin(const struct folders *f, int64_t generation, struct eddis_error *err);

/* Remove them. */
int folders_end(const struct folders *f, int64_t generation, struct eddis_error *err);

#endif
