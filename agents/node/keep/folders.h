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

#include "lib/base/error.h"

#include <stdint.h>

enum { FOLDERS_PATH = 64, FOLDERS_BASE = 40 };

struct folders {
    char run[FOLDERS_PATH], shm[FOLDERS_PATH];
    int lock[2]; /* descriptors of both, locked; closed with the process */
};

/* Make both, after removing what dead agents of this user left in the same places.  digits: the
 * brief's random ones, which are their names.  runtime_dir: where `run` goes if it is usable and
 * short (a socket's path has 107 bytes); else, and when NULL, /tmp.
 */
int folders_make(struct tick_page *page, const char *digits, const char *runtime_dir,
                 struct folders *ret, struct eddis_error *err);

/* Write where folders_make would put them; `lock` is not touched. */
void folders_place(const char *digits, const char *runtime_dir, struct folders *ret);

/* Remove what folders_make made of the same arguments, when the agent is dead and nothing of the
 * job runs here.  Folders that are not there are success.
 */
int folders_remove(const char *digits, const char *runtime_dir, struct eddis_error *err);

/* Make the folders of a generation, both new. */
int folders_begin(const struct folders *f, int64_t generation, struct eddis_error *err);

/* Remove them. */
int folders_end(const struct folders *f, int64_t generation, struct eddis_error *err);

#endif
