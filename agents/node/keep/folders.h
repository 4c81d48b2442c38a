/* SPDX-License-Identifier: Apache-2.0 */
/* folders.h - the two private folders of a start of an agent on its node
 *
 * `run` (in XDG_RUNTIME_DIR or /tmp) holds Open MPI's session files, the socket for the ranks'
 * wrappers and the rank file.  `shm` (in /dev/shm) holds the board and Open MPI's shared memory.
 * Both have mode 0700, and each generation has a folder of its own in them, "g1".  Cleaning up is
 * removing them.
 *
 * All users may write to /tmp and /dev/shm, and see the arguments of supervisor and agent.  So the
 * supervisor draws random names when it makes the folders, and draws again if one is taken; the
 * agent reads the names from memory shared by both.  A file "mark" in each, mode 0600, holds the
 * boot id of the machine and the start's mark (agents/protocol/node_identity.h).  Processes of the
 * same user find the folders by the mark.
 *
 * Supervisor and agent may be killed at the same moment (by hand, for lack of memory).  Both hold a
 * lock on the folders, so the next supervisor of the same user finds and removes folders that no
 * process uses.  It keeps those of other machines, which may share /tmp but not its locks.  It also
 * keeps those from before the machine's last boot, which look the same.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_FOLDERS_H
#define EDDIS_AGENTS_NODE_KEEP_FOLDERS_H

#include "tick.h"

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    FOLDERS_BASE = 40, /* most bytes of a runtime_dir: a socket's path has 107 bytes */
    FOLDERS_PATH = 64, /* most bytes of a folder's path */
};

struct folders {
    char run[FOLDERS_PATH], shm[FOLDERS_PATH];
    int lock[2]; /* descriptors of both, locked; closed when the process ends */
};

/* Remove what dead agents of this user have left anywhere; then make both folders, mark them and
 * enter them in the shared memory. runtime_dir is used for `run` if it is this user's alone and
 * short; else, or if NULL, /tmp.  After an error folders may be left, which are entered.
 */
int folders_make(struct tick_page *page, const struct node_identity *id, const char *runtime_dir,
                 struct folders *ret, struct eddis_error *err);

/* Take over the folders that the supervisor has entered in the shared memory, for the agent. */
int folders_take(const struct tick_page *page, struct folders *ret, struct eddis_error *err);

/* Make missing folders again before a generation: systemd may have emptied /dev/shm and removed
 * XDG_RUNTIME_DIR at the user's last logout (RemoveIPC).  Also write missing marks.  A folder gets
 * its old path, or a new name if that fails; shared memory and f are updated. mark, runtime_dir: as
 * for folders_make.  Return how many were made again.
 */
int folders_renew(struct tick_page *page, const char *mark, const char *runtime_dir,
                  struct folders *f, struct eddis_error *err);

/* Return the path, *ret_n bytes and borrowed from f, of a folder in which other users may rename
 * ours; NULL: none.  They may if they can write there and it has no sticky bit.
 */
const char *folders_unsafe(const struct folders *f, int *ret_n);

/* Find this user's folders with the mark of one of n starts, or of an earlier one on its node,
 * anywhere.  Return their number and an array that the caller frees. *ret_late: deadline_ns came
 * before all folders with such names were checked; any user may make any number of them.
 */
int folders_find(const struct node_identity *start, int n, int64_t deadline_ns,
                 char (**ret)[FOLDERS_PATH], bool *ret_late, struct eddis_error *err);

/* Make the folders of a generation; both must be new. */
int folders_begin(const struct folders *f, int64_t generation, struct eddis_error *err);

/* Remove the folders of a generation. */
void folders_end(const struct folders *f, int64_t generation);

#endif
