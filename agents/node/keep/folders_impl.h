/* SPDX-License-Identifier: Apache-2.0 */
/* folders_impl.h - what folders.c and folders_left.c share: places, names and marks of folders */
#ifndef EDDIS_AGENTS_NODE_KEEP_FOLDERS_IMPL_H
#define EDDIS_AGENTS_NODE_KEEP_FOLDERS_IMPL_H

#include "folders.h"

#include "lib/base/boot_id.h"

#include <stdbool.h>

#define FOLDER_MARK "mark" /* name of the mark file */

/* List of the folders in which folders of this user's starts may be. */
struct folder_bases {
    const char *dir[4]; /* [n], all different; borrowed */
    int n;
    char user[FOLDERS_BASE]; /* memory for one of the paths */
};

/* The content of a mark file: in its first line the mark, in its second the boot id of the machine;
 * machine "": unknown.
 */
struct folder_mark {
    char digits[NODE_IDENTITY_DIGITS + 1], machine[BOOT_ID_CHARS];
};

/* Fill *ret with the folders in which folders of this user's starts may be. runtime_dir, borrowed,
 * may differ from that of the supervisor that made them, or be NULL.
 */
void folder_bases_list(const char *runtime_dir, struct folder_bases *ret);

/* Check whether a name has the form of eddis's folders, whoever made it. */
bool folder_has_form(const char *name);

/* Open the folder base/name if its name has the form of eddis's folders, it belongs to this user
 * and is no link; write its path to ret_path.  Return the descriptor, which the caller closes;
 * negative: it is no such folder.
 */
int folder_open(const char *base, const char *name, char ret_path[FOLDERS_PATH]);

/* Read the mark file of a folder, given by its descriptor, into *ret and return true; return false
 * if the folder has none.
 */
bool folder_read_mark(int folder, struct folder_mark *ret);

/* Remove a folder, given by its descriptor and path, if it has no mark and was left by a start that
 * was killed while it made or removed it.  A start that makes it now makes another one.  Return
 * whether the folder has a mark and no lock; if so, it is locked until the descriptor is closed.
 */
bool folder_remove_unmarked(int folder, const char *path);

/* Remove the folders that dead starts of this user have left in runtime_dir (may be NULL) and the
 * other places.  Another user may have made any number of folders with such names: only the first
 * many are examined, and after about 15 seconds no more than a few hundred.
 */
void folders_sweep(const char *runtime_dir);

#endif
