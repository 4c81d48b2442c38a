/* SPDX-License-Identifier: Apache-2.0 */
/* folders.h - the two private folders of a start of an agent on its node
 *
 * `run` (in XDG_RUNTIME_DIR or /tmp) holds Open MPI's session files, the socket for the ranks'
 * wrappers and the rank file. `shm` (in /dev/shm) holds the board and Open MPI's shared memory.
 * Both folders have mode 0700, and contain a subfolder for each generation, "g1". To clean up is to
 * remove both folders.
 *
 * All users may write to /tmp and /dev/shm, and see the arguments of supervisor and agent. So the
 * supervisor draws random names when it makes the folders, and draws again if a name is taken; the
 * agent reads the names from the memory that it shares with the supervisor. A file "mark" in each
 * folder, of mode 0600, contains the boot id of the machine and the start's mark
 * (agents/protocol/node_identity.h). Processes of the same user find the folders by the mark.
 *
 * Supervisor and agent may be killed at the same moment (by hand, for lack of memory). Each holds a
 * lock on the folders, so the next supervisor of the same user finds and removes folders that no
 * process uses, in whatever moment of their making or removal their start was killed. The
 * supervisor keeps the folders of other machines, which may share /tmp but not its locks, and
 * folders from before the machine's last boot, which cannot be distinguished from those of other
 * machines.
 */
#ifndef EDDIS_AGENTS_NODE_KEEP_FOLDERS_H
#define EDDIS_AGENTS_NODE_KEEP_FOLDERS_H

#include "tick.h"

#include "agents/protocol/node_identity.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    FOLDERS_BASE = 40, /* maximum bytes of a runtime_dir: a socket's path has at most 107 bytes */
    FOLDERS_PATH = 64, /* size of a folder's path */
};

struct folders {
    char run[FOLDERS_PATH], shm[FOLDERS_PATH];
    int lock[2]; /* descriptors of both folders, locked; closed when the process ends */
};

/* Remove the folders that dead starts of this user have left in any of these places. Then make both
 * folders with their marks, and enter their paths in the shared memory. If runtime_dir belongs to
 * this user alone and is short enough, `run` is made in it, otherwise, and if it is NULL, in /tmp.
 * Return 0 or a negative errno. After an error folders may remain; their paths are entered.
 */
int folders_make(struct tick_page *page, const struct node_identity *id, const char *runtime_dir,
                 struct folders *ret, struct eddis_error *err);

/* Fill *ret, in the agent, with the folders whose paths the supervisor has entered in the shared
 * memory, and lock them. Return 0 or a negative errno.
 */
int folders_take(const struct tick_page *page, struct folders *ret, struct eddis_error *err);

/* Make missing folders and marks again before a generation: systemd may have emptied /dev/shm and
 * removed XDG_RUNTIME_DIR at the user's last logout (RemoveIPC). A folder gets its old path, or, if
 * that fails, a new name; shared memory and *f are updated. mark and runtime_dir are as for
 * folders_make. Return the number of folders that were made again, or a negative errno.
 */
int folders_renew(struct tick_page *page, const char *mark, const char *runtime_dir,
                  struct folders *f, struct eddis_error *err);

/* Remove the folders whose paths the shared memory contains. Return 0, or a negative errno: those
 * that remain keep their marks.
 */
int folders_remove(const struct tick_page *page, struct eddis_error *err);

/* Remove one folder of a start, its mark last. Return as folders_remove does; 0 also if there is no
 * such folder.
 */
int folders_remove_one(const char *path, struct eddis_error *err);

/* Return the path (*ret_n bytes, borrowed from f) of a folder above `run` or `shm` in which other
 * users may rename files of this user, because they can write to it and it has no sticky bit; NULL:
 * there is none.
 */
const char *folders_unsafe(const struct folders *f, int *ret_n);

/* Find this user's folders with the mark of one of n starts, or of an earlier start on the same
 * node; remove those that were left without a mark, whose start is not known. Return the number of
 * folders found, and in *ret an array of paths that the caller frees; or a
 * negative errno. *ret_late is set if deadline_ns passed before all folders with names of this form
 * were checked, because any user may make any number of such folders.
 */
int folders_find(const struct node_identity *start, int n, int64_t deadline_ns,
                 char (**ret)[FOLDERS_PATH], bool *ret_late, struct eddis_error *err);

/* Make the folders of a generation, which must not exist. Return 0 or a negative errno. */
int folders_begin(const struct folders *f, int64_t generation, struct eddis_error *err);

/* Remove the folders of a generation; ignore failures. */
void folders_end(const struct folders *f, int64_t generation);

#endif
