/* SPDX-License-Identifier: Apache-2.0 */
#include "folders.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/random.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Our own folder, or the sticky one that everybody may write to. */
static const char *usable(const char *dir)
{
    struct stat st;

    if (dir && dir[0] == '/' && strlen(dir) < FOLDERS_BASE && stat(dir, &st) == 0 &&
        S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) &&
        access(dir, W_OK | X_OK) == 0)
        return dir;
    return "/tmp";
}

static int make_one(struct tick_page *page, const char *base, char *ret, struct eddis_error *err)
{
    char random[17];
    int rc = random_hex(random, 16, err);

    if (rc < 0)
        return rc;
    snprintf(ret, FOLDERS_PATH, "%s/eddis-%s", base, random);
    rc = tick_add_folder(page, ret, err);
    if (rc < 0)
        return rc;
    if (mkdir(ret, 0700) < 0)
        return eddis_fail_errno(err, -errno, "cannot make the folder '%s'", ret);
    return 0;
}

int folders_make(struct tick_page *page, const char *runtime_dir, struct folders *ret,
                 struct eddis_error *err)
{
    const char *shm = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    int rc = make_one(page, usable(runtime_dir), ret->run, err);

    return rc < 0 ? rc : make_one(page, shm, ret->shm, err);
}

int folders_begin(const struct folders *f, int64_t generation, struct eddis_error *err)
{
    const char *base[2] = { f->run, f->shm };

    for (int i = 0; i < 2; i++) {
        cleanup_free char *path = file_join(base[i], "g%lld", (long long)generation);

        if (!path)
            return eddis_fail(err, -ENOMEM, "no memory for a path");
        if (mkdir(path, 0700) < 0)
            return eddis_fail_errno(err, -errno, "cannot make the folder '%s'", path);
    }
    return 0;
}

int folders_end(const struct folders *f, int64_t generation, struct eddis_error *err)
{
    const char *base[2] = { f->run, f->shm };
    int rc = 0;

    for (int i = 0; i < 2; i++) {
        cleanup_free char *path = file_join(base[i], "g%lld", (long long)generation);
        int one =
            path ? file_remove_tree(path, err) : eddis_fail(err, -ENOMEM, "no memory for a path");

        if (one < 0)
            rc = one;
    }
    return rc;
}
