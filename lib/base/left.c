/* SPDX-License-Identifier: Apache-2.0 */
/* left.c - remove files that killed processes have left */
#include "left.h"

#include "cleanup.h"
#include "trust.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

/* Check whether `name` in the folder dir is a regular file of this user that is old enough. */
static bool is_left(int dir, const char *name, const struct stat *own)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           trust_is_self(st.st_uid) && (!own || own->st_mtime - st.st_mtime > LEFT_S);
}

void left_remove(const char *dir, const struct stat *own, left_name_fn *fits, const void *ctx)
{
    cleanup_dir DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (fits(e->d_name, ctx) && is_left(dirfd(d), e->d_name, own))
            (void)unlinkat(dirfd(d), e->d_name, 0);
}
