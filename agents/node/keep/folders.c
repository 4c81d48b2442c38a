/* SPDX-License-Identifier: Apache-2.0 */
/* folders.c - makes a job's folders on a node, and removes those that dead agents have left */
#include "folders.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Between making a folder and locking it there is a moment. */
enum { SWEEP_AGE_S = 60 };

static void sweep(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *e;

    while (dir && (e = readdir(dir))) {
        cleanup_free char *path =
            node_identity_is_folder(e->d_name) ? file_join(base, "%s", e->d_name) : NULL;
        cleanup_fd int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            time(NULL) - st.st_ctime > SWEEP_AGE_S && flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)file_remove_tree(path, NULL);
    }
    if (dir)
        (void)closedir(dir);
}

static int make_one(struct tick_page *page, const char *ret, int *ret_lock, struct eddis_error *err)
{
    int rc = tick_add_folder(page, ret, err);

    if (rc < 0)
        return rc;
    if (mkdir(ret, 0700) < 0)
        return eddis_fail_errno(err, -errno, "cannot make the folder '%s'", ret);
    *ret_lock = open(ret, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret_lock < 0 || flock(*ret_lock, LOCK_SH | LOCK_NB) < 0)
        return eddis_fail_errno(err, -errno, "cannot lock the folder '%s'", ret);
    return 0;
}

static void sweep_beside(const char *path)
{
    char base[NODE_IDENTITY_PATH];

    snprintf(base, sizeof base, "%.*s", (int)(strrchr(path, '/') - path), path);
    sweep(base);
}

int folders_make(struct tick_page *page, const struct node_identity *id, const char *runtime_dir,
                 struct folders *ret, struct eddis_error *err)
{
    int rc;

    node_identity_places(id, runtime_dir, ret->run, ret->shm);
    sweep_beside(ret->run);
    sweep_beside(ret->shm);
    rc = make_one(page, ret->run, &ret->lock[0], err);
    return rc < 0 ? rc : make_one(page, ret->shm, &ret->lock[1], err);
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
