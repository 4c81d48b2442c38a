/* SPDX-License-Identifier: Apache-2.0 */
/* folders.h - the two private folders of a start of an agent on its node
 *
 * `run` (in XDG_RUNTIME_DIR or /tmp) holds Open MPI's session files, the socket of the ranks'
 * wrappers and their instructions; `shm` (in /dev/shm) the board and Open MPI's shared memory.
 * Both are 0700, and each generation has a folder of its own in them, "g1".  Cleaning up is
 * removing them.
 *
 * /tmp and /dev/shm are everybody's, and everybody sees the arguments of keeper and agent.  So the
 * keeper draws the names when it makes the folders, and draws again when one is taken; the agent
 * reads them from the page that both share.  A file "mark" in each, 0600, holds the start's mark
 * (agents/protocol/node_identity.h), by which others of the same user find the folders, and the
 * boot id of its machine.
 *
 * Keeper and agent may be killed in the same moment (by hand, for want of memory).  Both hold a
 * lock on the folders, so the next keeper of the same user can tell which ones nobody cares for any
 * more and removes them; but not those of other machines, with which /tmp may be shared while locks
 * are not, nor those from before its machine was booted, which look the same.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_FOLDERS_H
#define EDDIS_AGENTS_NODE_KEEP_FOLDERS_H

#include "tick.h"

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    FOLDERS_BASE = 40, /* room for a runtime_dir that is taken: a socket's path has 107 bytes */
    FOLDERS_PATH = 64, /* room for the path of a folder */
};

struct folders {
    char run[FOLDERS_PATH], shm[FOLDERS_PATH];
    int lock[2]; /* descriptors of both, locked; closed with the process */
};

/* Make both, mark them and enter them in the page, after removing what dead agents of this user
 * have left, wherever that is.  runtime_dir: where the run folder goes if it is this user's alone
 * and short; else, and when NULL, it goes to /tmp.  A failed call may leave folders, which are in
 * the page.
 */
int folders_make(struct tick_page *page, const struct node_identity *id, const char *runtime_dir,
                 struct folders *ret, struct eddis_error *err);

/* Take those that the keeper has entered in the page, for the agent. */
int folders_take(const struct tick_page *page, struct folders *ret, struct eddis_error *err);

/* Before a generation: make those again that are no longer there, as when systemd has emptied
 * /dev/shm and removed XDG_RUNTIME_DIR at the user's last logout (RemoveIPC), and write a mark
 * again that is not there.  One is made where it was, or with a new name where that cannot be, and
 * entered in the page; f then has its path and lock.  mark, runtime_dir: as for folders_make.
 * Returns how many were made again.
 */
int folders_renew(struct tick_page *page, const char *mark, const char *runtime_dir,
                  struct folders *f, struct eddis_error *err);

/* Where other users may rename our folders, for what they lie in is writable to them and has no
 * sticky bit; NULL: nowhere.  Borrows from f.  *ret_n is the length.
 */
const char *folders_unsafe(const struct folders *f, int *ret_n);

/* Find this user's folders that bear the mark of one of these starts [n], or of an earlier one of
 * its node, wherever a keeper of his may have made them.  Returns their number and an array that
 * the caller frees; *ret_late: not all that are called like ours were looked at before deadline_ns,
 * for anybody may make as many as he likes.
 */
int folders_find(const struct node_identity *start, int n, int64_t deadline_ns,
                 char (**ret)[FOLDERS_PATH], bool *ret_late, struct eddis_error *err);

/* Make the folders of a generation, both new. */
int folders_begin(const struct folders *f, int64_t generation, struct eddis_error *err);

/* Remove them. */
int folders_end(const struct folders *f, int64_t generation, struct eddis_error *err);

#endif
